"""Compares the rows with the ledger, as a check that `audit.verification.verify` runs.

Audit knows nothing of documents and batches; this is where it learns. Both directions: each row's
state is that of its last entry, each entry's row is still there, and what is on file has the hash
that it was filed with. (Packets have no state of their own.) In pages: memory does not grow with
the register. Work goes on meanwhile: what seems to differ is looked at once more.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from django.db.models import F, Value

from audit.ledger import queries
from audit.ledger.queries import LastState
from ingestion.core.states import DocumentState
from ingestion.models import Batch, Document

ROWS_PER_PAGE = 2_000  # rows compared at a time
MAX_COMPARISONS = 3  # at what seems to differ, before it does

_Model = type[Document] | type[Batch]
_Row = tuple[str, str]  # state and hash


def rows_agree_with_the_ledger(since: int = 0) -> Iterator[str]:
    """A sentence for each document or batch whose row and last entry differ.

    Of all, or of those with entries after number `since`.
    """
    models: Mapping[str, _Model] = {"document": Document, "batch": Batch}
    for kind, model in models.items():
        if since == 0:
            yield from _rows_that_differ(kind, model)
        subjects = queries.iter_subjects(f"{kind}:", since=since)
        while page := list(islice(subjects, ROWS_PER_PAGE)):
            there = _rows(kind, model, page)
            for subject in dict.fromkeys(page):
                if subject not in there:
                    yield f"{subject} is in the ledger, but its row is gone."
            if since:
                yield from _differing(kind, model, there)


def _rows_that_differ(kind: str, model: _Model) -> Iterator[str]:
    keys = (
        model._default_manager.order_by("pk").values_list("pk", flat=True).iterator(ROWS_PER_PAGE)
    )
    while page := [f"{kind}:{key}" for key in islice(keys, ROWS_PER_PAGE)]:
        yield from _differing(kind, model, _rows(kind, model, page))


def _differing(kind: str, model: _Model, rows: Mapping[str, _Row]) -> Iterator[str]:
    """Rows and entries are read one after the other: what moves in between does not differ."""
    suspects = [subject for subject, _ in _faults(rows, queries.last_states(list(rows)))]
    for _ in range(MAX_COMPARISONS):
        if not suspects:
            return
        before = queries.last_states(suspects)
        rows = _rows(kind, model, suspects)
        recorded = queries.last_states(suspects)
        at_rest = {
            subject: row
            for subject, row in rows.items()
            if before.get(subject) == recorded.get(subject)
        }
        for _, sentence in _faults(at_rest, recorded):
            yield sentence
        suspects = [subject for subject in rows if subject not in at_rest]


def _faults(
    rows: Mapping[str, _Row], recorded: Mapping[str, LastState]
) -> Iterator[tuple[str, str]]:
    for subject, (state, sha256) in rows.items():
        last = recorded.get(subject)
        if last is None or last.state != state:
            says = last.state if last else "nothing"
            yield subject, f"{subject} is {state}, but its last entry says {says}."
        elif state == DocumentState.ARCHIVED and last.sha256 != sha256:
            yield subject, f"{subject} was filed as {last.sha256}, but its row says {sha256}."


def _rows(kind: str, model: _Model, subjects: Iterable[str]) -> dict[str, _Row]:
    """State and hash of these, by subject; a batch has no hash."""
    keys = [int(subject.partition(":")[2]) for subject in subjects]
    own = F("sha256") if model is Document else Value("")
    rows = model._default_manager.filter(pk__in=keys).values_list("pk", "state", own)
    return {f"{kind}:{key}": (state, sha256) for key, state, sha256 in rows}
