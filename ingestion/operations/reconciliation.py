"""Compares documents and batches with the ledger. `audit.verification.verify` runs this check.

The state of each row has to be that of its last entry, the row of each entry has to exist, and a
filed document has to have the hash with which it was filed. (Packets have no state of their own.)
Rows are read in pages, so that memory does not grow with their number. Work continues during the
check, so that rows that seem to differ are compared again.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from django.db.models import F, Value
from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.ledger.queries import LastState
from ingestion.core.states import DocumentState
from ingestion.models import Batch, Document

ROWS_PER_PAGE = 2_000  # rows compared at a time
MAX_COMPARISONS = 3  # of a row that differs and keeps changing

_Model = type[Document] | type[Batch]
_Row = tuple[str, str]  # state and hash


def check_document_rows_against_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each document or batch whose row and last entry differ.

    Only those with entries after number `since` are compared. 0: all.
    """
    models: Mapping[str, _Model] = {"document": Document, "batch": Batch}
    for kind, model in models.items():
        if since == 0:
            keys = model._default_manager.order_by("pk").values_list("pk", flat=True)
            all_subjects = (f"{kind}:{key}" for key in keys.iterator(ROWS_PER_PAGE))
            while page := list(islice(all_subjects, ROWS_PER_PAGE)):
                yield from _find_differences(kind, model, _read_rows(kind, model, page))
        subjects = queries.iter_subjects(f"{kind}:", since=since)
        while page := list(islice(subjects, ROWS_PER_PAGE)):
            rows = _read_rows(kind, model, page)
            for subject in dict.fromkeys(page):
                if subject not in rows:
                    sentence = _("{subject} is in the ledger, but its row is missing.")
                    yield sentence.format(subject=subject)
            if since:
                yield from _find_differences(kind, model, rows)


def _find_differences(kind: str, model: _Model, rows: Mapping[str, _Row]) -> Iterator[str]:
    """Yield a sentence for each row that differs and has no new entry while it is compared."""
    suspects = [
        subject for subject, _sentence in _compare(rows, queries.get_last_states(list(rows)))
    ]
    for _attempt in range(MAX_COMPARISONS):
        if not suspects:
            return
        before = queries.get_last_states(suspects)
        rows = _read_rows(kind, model, suspects)
        recorded = queries.get_last_states(suspects)
        unchanged = {
            subject: row
            for subject, row in rows.items()
            if before.get(subject) == recorded.get(subject)
        }
        for _subject, sentence in _compare(unchanged, recorded):
            yield sentence
        suspects = [subject for subject in rows if subject not in unchanged]


def _compare(
    rows: Mapping[str, _Row], recorded: Mapping[str, LastState]
) -> Iterator[tuple[str, str]]:
    """Yield subject and sentence for each row that differs from its last entry."""
    for subject, (state, sha256) in rows.items():
        last = recorded.get(subject)
        if last is None:
            sentence = _("{subject} is {state}, but no entry records its state.")
            yield subject, sentence.format(subject=subject, state=state)
        elif last.state != state:
            sentence = _("{subject} is {state}, but its last entry records {recorded}.")
            yield subject, sentence.format(subject=subject, state=state, recorded=last.state)
        elif state == DocumentState.ARCHIVED and last.sha256 != sha256:
            sentence = _("{subject} was filed with SHA-256 {recorded}, but its row has {stored}.")
            yield subject, sentence.format(subject=subject, recorded=last.sha256, stored=sha256)


def _read_rows(kind: str, model: _Model, subjects: Iterable[str]) -> dict[str, _Row]:
    """Return state and hash by subject. The hash of a batch is ""."""
    keys = [int(subject.partition(":")[2]) for subject in subjects]
    own = F("sha256") if model is Document else Value("")
    rows = model._default_manager.filter(pk__in=keys).values_list("pk", "state", own)
    return {f"{kind}:{key}": (state, sha256) for key, state, sha256 in rows}
