"""Applies single steps of a worker, for tests that move one document step by step."""

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from ingestion.core.ports import EarlyDecision, Fetched, FiledVersion, NotModified
from ingestion.core.states import DocumentState
from ingestion.dispatch import worker_steps
from ingestion.reading.provenance import describe_provenance
from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
)
from ingestion.rules.checks.verdict import CheckedDocument, DocumentVerdict
from ingestion.rules.segmentation.parts import ProposedCut


def start_attempt(document: int, lease: UUID, *, max_attempts: int) -> bool:
    step = worker_steps.StartAttempt(document=document, lease=lease, max_attempts=max_attempts)
    return worker_steps.apply_step(step)


def start_checking(
    document: int,
    lease: UUID,
    *,
    sha256: str,
    size: int,
    portal: Mapping[str, str | int] | None = None,
    etag: str = "",
) -> bool:
    fetched = Fetched(Path(), sha256, size, facts=portal or {}, etag=etag)
    step = worker_steps.StartChecking(document=document, lease=lease, fetched=fetched)
    return worker_steps.apply_step(step)


def unchanged(document: int, lease: UUID, *, sha256: str, portal: Mapping[str, str | int]) -> bool:
    step = worker_steps.RecordUnchanged(
        document=document,
        lease=lease,
        filed=FiledVersion("", sha256),
        answer=NotModified(portal),
    )
    return worker_steps.apply_step(step)


def conclude(
    document: int,
    lease: UUID,
    verdict: DocumentVerdict,
    *,
    pages: int | None = None,
    reading: DocumentReading | None = None,
    cut: ProposedCut | None = None,
) -> DocumentState:
    """Record the decision of the checks. `pages` creates a reading with so many empty pages."""
    if pages:
        typed = (
            PageReading(number, 612, 792, "", TextSource.NATIVE) for number in range(1, pages + 1)
        )
        reading = DocumentReading(MediaType.PDF, tuple(typed))
    read = describe_provenance(reading) if reading else None
    step = worker_steps.Conclude(
        document=document, lease=lease, checked=CheckedDocument(verdict, read, cut)
    )
    return worker_steps.apply_step(step)


def give_up(
    document: int, lease: UUID, code: str, facts: Mapping[str, str | int], *, held: bool
) -> None:
    decision = EarlyDecision(code=code, facts=facts, is_held=held)
    worker_steps.apply_step(
        worker_steps.RecordEarlyDecision(document=document, lease=lease, decision=decision)
    )
