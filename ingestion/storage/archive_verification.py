"""Are the bytes in the archive those that we filed? Every file is read and hashed again.

A file's name is its hash, so that a changed one shows by itself; the documents say which files have
to be there. In parts, by the first two digits of the hash, and in pages: memory does not grow with
the archive. A night's part is one of `NIGHTS`, so that each file is read once a month.

A missing or changed file is entered in the ledger when it is found, and not again every night. A
file that belongs to no document is told and breaks nothing: bytes are stored before their document
is settled, and a worker that died in between leaves them. So is an object of a bucket whose lock is
not what the ledger says, which `locks` puts right by itself.
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

from django.utils import timezone

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from ingestion.core.errors import StorageUnavailable
from ingestion.core.states import DocumentState
from ingestion.models import Document
from ingestion.storage import object_locks
from ingestion.storage.archive import Archive, StoredFile, get_archive

KIND = "verify_archive"
PARTS = tuple(f"{number:02x}" for number in range(256))
NIGHTS_PER_CYCLE = 30
FILES_PER_PAGE = 500  # files or documents at a time
MAX_NAMED_FILES = 100  # files of each kind that are named and entered; the rest is counted

# Settled, with their bytes stored before. A rejected document may never have had any.
STORED = (
    DocumentState.ARCHIVED,
    DocumentState.WITHDRAWN,
    DocumentState.IN_REVIEW,
    DocumentState.RETURNED,
    DocumentState.DEDUPED,
)

Progress = Callable[[int, int], object]  # parts that are done, of how many


class ArchiveFault(StrEnum):
    MISSING = "missing"  #: a document says that it was stored
    CHANGED = "changed"  #: its bytes have another hash than its name
    UNREADABLE = "unreadable"  #: the file system gives an error
    WRITABLE = "writable"  #: its permissions let somebody write to it
    ORPHANED = "orphaned"  #: no document has this hash
    SHORT = "short"  #: S3 locks it for a shorter time than its study is kept
    UNHELD = "unheld"  #: S3 has no legal hold on it, and its study has one
    STILL_HELD = "still_held"  #: S3 has one still, and its study's was lifted

    @property
    def breaks(self) -> bool:
        """The rest is told: no byte is another for it, and nobody could have written any."""
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
    """What was found. At most NAMED files of each kind are named."""

    files: int = 0
    seconds: float = 0.0
    counts: dict[ArchiveFault, int] = field(default_factory=lambda: dict.fromkeys(ArchiveFault, 0))
    named: dict[ArchiveFault, list[str]] = field(
        default_factory=lambda: {fault: [] for fault in ArchiveFault}
    )

    @property
    def intact(self) -> bool:
        return not any(n for fault, n in self.counts.items() if fault.breaks)

    def add(self, fault: ArchiveFault, sha256: str) -> None:
        self.counts[fault] += 1
        if len(self.named[fault]) < MAX_NAMED_FILES:
            self.named[fault].append(sha256)

    def as_json(self) -> dict[str, Any]:
        """The object that `verify_archive --json` prints."""
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
    """Read these parts of the archive. Raises StorageUnavailable when it is not there at all."""
    began, stock, store = time.monotonic(), VerificationResult(), get_archive()
    _refuse_an_empty_one(store)
    parts = list(parts)
    for done, part in enumerate(parts, start=1):
        for fault, sha256 in _faults(store, part, stock):
            stock.add(fault, sha256)
        progress(done, len(parts))
    for fault, event in EVENTS.items():
        for sha256 in stock.named[fault]:
            _enter(event, sha256, asked_by)
    stock.seconds = time.monotonic() - began
    return stock


def verify_stored_file(sha256: str, *, asked_by: str) -> ArchiveFault | None:
    """One file, now. None: its bytes are those of its name. What is wrong is entered as ever."""
    store = get_archive()
    fault = _fault_of(store, sha256) if store.has(sha256) else ArchiveFault.MISSING
    if fault in EVENTS:
        _enter(EVENTS[fault], sha256, asked_by)
    return fault


def list_parts_of_day(day: date | None = None) -> list[str]:
    """The parts of that day: all of them within NIGHTS days."""
    number = (day or timezone.now().date()).toordinal()
    return [part for part in PARTS if int(part, 16) % NIGHTS_PER_CYCLE == number % NIGHTS_PER_CYCLE]


def queue_nightly_verification() -> None:
    """Have a night's part read, by a worker that has time."""
    background_jobs.schedule_job(KIND, {"parts": list_parts_of_day()})


def run_verification_job(job: AuditJob) -> Mapping[str, Any]:
    """Read the parts of the archive that the job names, and return what was found."""
    told = partial(background_jobs.report_progress, job)
    return verify_parts(job.arguments["parts"], asked_by=job.asked_by, progress=told).as_json()


def _refuse_an_empty_one(store: Archive) -> None:
    """A disk that is not mounted has lost nothing."""
    if store.is_empty() and Document.objects.filter(state__in=STORED).exclude(sha256="").exists():
        raise StorageUnavailable("the archive holds not one file: is its disk mounted?")


def _faults(
    store: Archive, part: str, stock: VerificationResult
) -> Iterator[tuple[ArchiveFault, str]]:
    files = iter(store.contents(part))
    while page := list(islice(files, FILES_PER_PAGE)):
        stock.files += len(page)
        for file in page:
            yield from _faults_of(store, file)
        names = [file.name for file in page]
        known = set(Document.objects.filter(sha256__in=names).values_list("sha256", flat=True))
        for name in names:
            if name not in known:
                yield ArchiveFault.ORPHANED, name
        yield from _lock_faults(page)
    for sha256 in _on_record(part):
        if not store.has(sha256):
            yield ArchiveFault.MISSING, sha256


def _faults_of(store: Archive, file: StoredFile) -> Iterator[tuple[ArchiveFault, str]]:
    if not file.is_sealed:
        yield ArchiveFault.WRITABLE, file.name
    if fault := _fault_of(store, file.name):
        yield fault, file.name


def _lock_faults(page: list[StoredFile]) -> Iterator[tuple[ArchiveFault, str]]:
    """Of those that are locked: what is not is WRITABLE."""
    found = {file.name: file.lock for file in page if file.lock and file.is_sealed}
    for name, lock in object_locks.get_required_locks(found).items() if found else ():
        if found[name].is_shorter_than(lock):
            yield ArchiveFault.SHORT, name
        if found[name].is_held_unlike(lock):
            yield ArchiveFault.UNHELD if lock.is_held else ArchiveFault.STILL_HELD, name


def _fault_of(store: Archive, sha256: str) -> ArchiveFault | None:
    try:
        with store.open(sha256) as opened:
            found = hashlib.file_digest(opened, "sha256")  # type: ignore[arg-type] # IO has it
    except OSError:
        return ArchiveFault.UNREADABLE
    return None if found.hexdigest() == sha256 else ArchiveFault.CHANGED


def _on_record(part: str) -> Iterator[str]:
    """The hashes of what has to be there."""
    stored = Document.objects.filter(state__in=STORED, sha256__startswith=part).order_by()
    return stored.values_list("sha256", flat=True).distinct().iterator(FILES_PER_PAGE)


def _enter(event: str, sha256: str, asked_by: str) -> None:
    """Once: what is on record is not entered again every night."""
    subject = f"file:{sha256}"
    if queries.entries_of_events([event], [subject]):
        return
    documents = Document.objects.filter(sha256=sha256).select_related("site").order_by("pk")
    whose = [f"{each.site.site_id}/{each.doc_id}" for each in documents[:MAX_NAMED_FILES]]
    with ledger():
        record(
            event,
            subject=subject,
            by=Actor(asked_by),
            sha256=sha256,
            detail={"documents": whose},
        )
