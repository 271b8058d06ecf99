"""Do the rows and the ledger tell the same? Registered with `audit.verify` when the app starts.

Audit knows nothing of documents and batches; this is where it learns. Both directions: each row's
state is that of its last entry, and each entry's row is still there. In pages: memory does not
grow with the register.
"""

from collections.abc import Iterator
from itertools import islice

from audit import history
from ingestion.models import Batch, Document

PAGE = 2_000  # rows compared at a time


def rows_agree_with_the_ledger() -> Iterator[str]:
    """A sentence for each document or batch whose row and last entry differ."""
    for model in (Document, Batch):
        kind = model.__name__.lower()
        yield from _rows_without_their_entry(kind, model)
        yield from _entries_without_their_row(kind, model)


def _rows_without_their_entry(kind: str, model: type[Document] | type[Batch]) -> Iterator[str]:
    rows = model._default_manager.order_by("pk").values_list("pk", "state").iterator(PAGE)
    while page := {f"{kind}:{key}": state for key, state in islice(rows, PAGE)}:
        recorded = history.states_of(list(page))
        for subject, state in page.items():
            last = recorded.get(subject, "nothing")
            if last != state:
                yield f"{subject} is {state}, but its last entry says {last}."


def _entries_without_their_row(kind: str, model: type[Document] | type[Batch]) -> Iterator[str]:
    subjects = (subject for subject, _ in history.last_states(f"{kind}:"))
    while page := {int(subject.split(":")[1]): subject for subject in islice(subjects, PAGE)}:
        there = set(model._default_manager.filter(pk__in=page).values_list("pk", flat=True))
        for key in page.keys() - there:
            yield f"{page[key]} is in the ledger, but its row is gone."
