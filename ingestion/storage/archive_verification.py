"""Verifies the archive: reads every file, hashes it, and compares it with the documents.

The name of a file is its SHA-256, so a changed file is found without other data. The documents
determine which files have to exist. The archive is read in parts, which are the first bytes of the
hashes, and in pages, so that memory use does not grow with the archive. Each night reads the parts
of one of NIGHTS_PER_CYCLE nights, so that every file is read once a month.

A missing or changed file is recorded in the ledger when it is first found, and not again every
night. A file without a document is reported, but is not damage: a file is stored before its
document is settled, and a worker that dies in between leaves it. The same holds for an object in a
bucket whose lock differs from what the ledger requires. `object_locks` corrects such a lock.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import Q
from django.utils import timezone

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from ingestion.core.errors import StorageUnavailable
from ingestion.core.states import DocumentState
from ingestion.models import Assessment, Document, DocumentRendition
from ingestion.storage import object_locks
from ingestion.storage.archive import Archive, StoredFile, get_archive

KIND = "verify_archive"
PARTS = tuple(f"{number:02x}" for number in range(256))
NIGHTS_PER_CYCLE = 30
FILES_PER_PAGE = 500  # files or documents that are in memory at a time
MAX_NAMED_FILES = 100  # of each kind of fault; more are counted, but not named or recorded

# The states of documents that are settled, and whose file was stored before. A rejected document
# may have no file, for example if it was never downloaded.
STORED = (
    DocumentState.ARCHIVED,
    DocumentState.WITHDRAWN,
    DocumentState.IN_REVIEW,
    DocumentState.RETURNED,
    DocumentState.DEDUPED,
    DocumentState.DIVIDED,
)

Progress = Callable[[int, int], object]  # is called with the number of finished and of all parts


class ArchiveFault(StrEnum):
    """Lists the faults of files in the archive."""

    MISSING = "missing"  #: a document has been stored, and its file does not exist
    CHANGED = "changed"  #: the bytes of the file do not have the hash in its name
    UNREADABLE = "unreadable"  #: the storage reports an error when the file is read
    WRITABLE = "writable"  #: the file is not read-only, or its object is not locked
    ORPHANED = "orphaned"  #: no document, rendition or assessment has this hash
    SHORT = "short"  #: the lock in S3 ends before the retention of the study
    UNHELD = "unheld"  #: the study has a legal hold, and the object in S3 has none
    STILL_HELD = "still_held"  #: the object in S3 has a legal hold, and the study's was lifted

    @property
    def is_damage(self) -> bool:
        """Return whether the archive is not intact. Other faults cannot have changed any bytes."""
        return self not in {
            ArchiveFault.ORPHANED,
            ArchiveFault.SHORT,
            ArchiveFault.UNHELD,
            ArchiveFault.STILL_HELD,
        }


EVENTS = {
    ArchiveFault.MISSING: "archive.file_missing",
    ArchiveFault.CHANGED: "archive.file_changed",
}


@dataclass(slots=True)
class VerificationResult:
    """The faults that were found. At most MAX_NAMED_FILES files of each kind are named."""

    files: int = 0  # that were read
    seconds: float = 0.0  # duration of the verification
    counts: dict[ArchiveFault, int] = field(default_factory=lambda: dict.fromkeys(ArchiveFault, 0))
    named: dict[ArchiveFault, list[str]] = field(
        default_factory=lambda: {fault: [] for fault in ArchiveFault}
    )

    @property
    def intact(self) -> bool:
        """Return whether no file has a fault that is damage."""
        return not any(n for fault, n in self.counts.items() if fault.is_damage)

    def add(self, fault: ArchiveFault, sha256: str) -> None:
        """Count a fault, and name its file unless MAX_NAMED_FILES are named already."""
        self.counts[fault] += 1
        if len(self.named[fault]) < MAX_NAMED_FILES:
            self.named[fault].append(sha256)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `verify_archive --json` prints."""
        found = {str(fault): n for fault, n in self.counts.items()}
        named = {str(fault): names for fault, names in self.named.items() if names}
        seconds = round(self.seconds, 3)
        return {"intact": self.intact, "files": self.files} | found | {
            "named": named, "seconds": seconds,
        }  # fmt: skip


def verify_parts(
    parts: Iterable[str] = PARTS,
    *,
    asked_by: str,
    progress: Progress = lambda _done, _total: None,
) -> VerificationResult:
    """Verify these parts of the archive, and record missing and changed files in the ledger.

    `asked_by` is the name of the actor in the entries. Raises StorageUnavailable if the archive is
    empty although files have to exist, which is an unmounted disk and not a loss. Raises OSError if
    the storage fails.
    """
    began, result, archive = time.monotonic(), VerificationResult(), get_archive()
    stored = Document.objects.filter(state__in=STORED).exclude(sha256="")
    if archive.is_empty() and stored.exists():
        raise StorageUnavailable("the archive holds not one file: is its disk mounted?")
    parts = list(parts)
    try:
        for done, part in enumerate(parts, start=1):
            for fault, sha256 in _find_faults(archive, part, result):
                result.add(fault, sha256)
            progress(done, len(parts))
    finally:  # Faults are recorded even if the verification is cancelled.
        for fault, event in EVENTS.items():
            for sha256 in result.named[fault]:
                _record_fault(event, sha256, asked_by)
    result.seconds = time.monotonic() - began
    return result


def verify_stored_file(sha256: str, *, asked_by: str) -> ArchiveFault | None:
    """Verify one file now, and record a missing or changed one. Returns None if it is intact.

    Raises OSError if the storage cannot say whether the file exists.
    """
    archive = get_archive()
    fault = _verify_bytes(archive, sha256) if archive.has(sha256) else ArchiveFault.MISSING
    if fault in EVENTS:
        _record_fault(EVENTS[fault], sha256, asked_by)
    return fault


def list_parts_of_day(day: date | None = None) -> list[str]:
    """Return the parts to read on a day, by default today.

    NIGHTS_PER_CYCLE days in succession have all parts, each once.
    """
    number = (day or timezone.now().date()).toordinal()
    return [part for part in PARTS if int(part, 16) % NIGHTS_PER_CYCLE == number % NIGHTS_PER_CYCLE]


def queue_nightly_verification() -> None:
    """Start a job that verifies the parts of today."""
    background_jobs.schedule_job(KIND, {"parts": list_parts_of_day()})


def run_verification_job(job: AuditJob) -> Mapping[str, Any]:
    """Verify the parts of the archive that the job names, and return the result."""
    progress = partial(job_runs.report_progress, job)
    return verify_parts(job.arguments["parts"], asked_by=job.asked_by, progress=progress).as_json()


def measure_verification(arguments: Mapping[str, Any]) -> int:
    """Return how many parts a verification with these arguments reads."""
    return len(arguments["parts"])


def _find_faults(
    archive: Archive, part: str, result: VerificationResult
) -> Iterator[tuple[ArchiveFault, str]]:
    """Yield each fault of a part with the hash of its file, and count the files in the result."""
    files = iter(archive.contents(part))
    while page := list(islice(files, FILES_PER_PAGE)):
        result.files += len(page)
        for file in page:
            if not file.is_sealed:
                yield ArchiveFault.WRITABLE, file.name
            if fault := _verify_bytes(archive, file.name):
                yield fault, file.name
        yield from _compare_with_documents(page)
    stored = Document.objects.filter(state__in=STORED, sha256__startswith=part).order_by()
    # A rendition is stored before its row is written, so each row has its file.
    renditions = DocumentRendition.objects.filter(sha256__startswith=part).order_by()
    for rows in (stored, renditions):
        for sha256 in rows.values_list("sha256", flat=True).distinct().iterator(FILES_PER_PAGE):
            if not archive.has(sha256):
                yield ArchiveFault.MISSING, sha256


def _verify_bytes(archive: Archive, sha256: str) -> ArchiveFault | None:
    try:
        with archive.open(sha256) as opened:
            found = hashlib.file_digest(opened, "sha256")  # type: ignore[arg-type] # IO has it
    except OSError:
        return ArchiveFault.UNREADABLE
    return None if found.hexdigest() == sha256 else ArchiveFault.CHANGED


def _compare_with_documents(page: list[StoredFile]) -> Iterator[tuple[ArchiveFault, str]]:
    """Yield the files that belong to nothing, and those whose lock differs from the required one.

    A file belongs to a document, is a rendition of one, or is the result of an assessment. Objects
    without any lock are left out, because they are reported as WRITABLE.
    """
    names = [file.name for file in page]
    known = set(Document.objects.filter(sha256__in=names).values_list("sha256", flat=True))
    known |= set(Assessment.objects.filter(sha256__in=names).values_list("sha256", flat=True))
    known |= set(
        DocumentRendition.objects.filter(sha256__in=names).values_list("sha256", flat=True)
    )
    for name in names:
        if name not in known:
            yield ArchiveFault.ORPHANED, name
    locks = {file.name: file.lock for file in page if file.lock and file.is_sealed}
    for name, required in object_locks.get_required_locks(locks).items() if locks else ():
        if locks[name].is_shorter_than(required):
            yield ArchiveFault.SHORT, name
        if locks[name].is_held_unlike(required):
            yield ArchiveFault.UNHELD if required.is_held else ArchiveFault.STILL_HELD, name


def _record_fault(event: str, sha256: str, asked_by: str) -> None:
    """Record a missing or changed file, unless an earlier entry has recorded it."""
    subject = f"file:{sha256}"
    if queries.list_entries_of_events([event], [subject]):
        return
    has_hash = Q(sha256=sha256) | Q(renditions__sha256=sha256)
    documents = Document.objects.filter(has_hash).select_related("site").order_by("pk").distinct()
    names = [f"{each.site.site_id}/{each.doc_id}" for each in documents[:MAX_NAMED_FILES]]
    with ledger():
        record(
            event,
            subject=subject,
            by=Actor(asked_by),
            sha256=sha256,
            detail={"documents": names},
        )
