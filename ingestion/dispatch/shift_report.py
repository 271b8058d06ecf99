"""Counts what a shift did, for the result of its django-q2 task."""

from collections import Counter
from collections.abc import Iterable

from ingestion.core.ports import WorkItem
from ingestion.core.states import DocumentState

NOTHING_DUE = "No chunk was due."


class ShiftReport:
    """Counts the documents of a shift by batch, and those that it settled by their state.

    As text, it is for example "BAT-2026-0007: 120 documents, 105 filed, 15 not finished".
    """

    def __init__(self) -> None:
        self._documents: dict[str, set[int]] = {}  # primary keys by the reference of the batch
        self._states: dict[int, DocumentState] = {}  # of the settled ones

    def add_documents(self, items: Iterable[WorkItem]) -> None:
        """Add the documents of a chunk that the shift has leased."""
        for item in items:
            self._documents.setdefault(item.batch, set()).add(item.document)

    def settle(self, item: WorkItem, state: DocumentState) -> None:
        """Record the state in which the shift settled a document."""
        self._states[item.document] = state

    def __str__(self) -> str:
        batches = sorted(self._documents.items())
        return "; ".join(self._describe(*batch) for batch in batches) or NOTHING_DUE

    def _describe(self, batch: str, documents: set[int]) -> str:
        counts = Counter(self._states[key] for key in documents if key in self._states)
        parts = [
            f"{counts[state]} {state.word.lower()}" for state in DocumentState if counts[state]
        ]
        if unfinished := len(documents) - counts.total():
            parts.append(f"{unfinished} not finished")
        noun = "document" if len(documents) == 1 else "documents"
        return ", ".join([f"{batch}: {len(documents)} {noun}", *parts])
