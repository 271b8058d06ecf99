"""A worker's single steps with one document, for tests that walk it by hand."""

from collections.abc import Mapping
from uuid import UUID

from ingestion.core.states import DocumentState
from ingestion.dispatch import worker_steps
from ingestion.reading.provenance import provenance
from ingestion.reading.results import (
    MediaType,
    Page,
    Reading,
    TextSource,
)
from ingestion.rules.checks.verdict import Verdict


def take_up(document: int, lease: UUID, *, budget: int) -> bool:
    return worker_steps.take_alone(
        worker_steps.TakeUp(document=document, lease=lease, budget=budget)
    )


def start_checking(
    document: int,
    lease: UUID,
    *,
    sha256: str,
    size: int,
    portal: Mapping[str, str | int] | None = None,
    etag: str = "",
) -> bool:
    step = worker_steps.StartChecking(
        document=document, lease=lease, sha256=sha256, size=size, portal=portal, etag=etag
    )
    return worker_steps.take_alone(step)


def unchanged(document: int, lease: UUID, *, sha256: str, portal: Mapping[str, str | int]) -> bool:
    step = worker_steps.Unchanged(document=document, lease=lease, sha256=sha256, portal=portal)
    return worker_steps.take_alone(step)


def conclude(
    document: int,
    lease: UUID,
    verdict: Verdict,
    *,
    pages: int | None = None,
    reading: Reading | None = None,
) -> DocumentState:
    """`pages`: of a text file that stands for any reading."""
    if pages:
        typed = (Page(number, 612, 792, "", TextSource.NATIVE) for number in range(1, pages + 1))
        reading = Reading(MediaType.PDF, tuple(typed))
    read = provenance(reading) if reading else None
    step = worker_steps.Conclude(document=document, lease=lease, verdict=verdict, read=read)
    return worker_steps.take_alone(step)


def give_up(
    document: int, lease: UUID, code: str, facts: Mapping[str, str | int], *, held: bool
) -> None:
    worker_steps.take_alone(
        worker_steps.GiveUp(document=document, lease=lease, code=code, facts=facts, held=held)
    )
