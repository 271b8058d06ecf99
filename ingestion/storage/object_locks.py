"""What a bucket locks follows what the ledger says of how long documents are kept (R14).

A document is put with a lock of ARCHIVE_S3_YEARS, for the end of its trial is not known then. Here
locks become longer, and never shorter, and a legal hold of ours is S3's legal hold, too. A hold in
S3 that no study here ever had is somebody else's, and left alone.

A change of a study or a hold leaves a `LockChange`, in the transaction of its entry. A job follows
once that is committed, and removes the row when the bucket says that it is so; whatever died in
between, the row is there, and the next run goes on. Each night another part of the archive is
looked at besides, with what was settled of late: a document is put as any other is, whatever is
said of its study.

A folder has no locks that end: its files are read-only for good, and nothing here deletes.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from audit import background_jobs
from audit.background_jobs import AuditJob
from ingestion.models import Document, LockChange
from ingestion.storage.archive import ObjectLock, get_archive
from ingestion.storage.buckets import BucketArchive
from sites import retention
from sites.models import Study
from sites.models.legal_holds import LegalHold

_Term = TypeVar("_Term", datetime, bool)

logger = logging.getLogger(__name__)

KIND = "follow_locks"
DOCUMENTS_PER_PAGE = 100  # documents between two looks at the ledger
LATELY = timedelta(days=2)  # more than a night, for one may be missed
MAX_CONSECUTIVE_ERRORS = 5  # refusals that say that it is the bucket, and no single object
MAX_NAMED_OBJECTS = 100

_TERMS = {"ended_on", "retention_years", "lifted_at"}  # what is saved without them changes no lock


class ObjectLockRefused(Exception):
    """The bucket does not do it: no single object is at fault, and no further one is tried."""


@dataclass(slots=True)
class LockUpdateResult:
    """What was done. At most NAMED objects are named, of those that were refused."""

    looked_at: int = 0
    locked: int = 0  # for longer than before, or the hold put on or taken off
    refused: int = 0
    in_a_row: int = 0
    named: dict[str, str] = field(default_factory=dict)  # hash: why

    @property
    def error(self) -> str:
        return next(iter(self.named.values()), "")

    def refuse(self, sha256: str, error: OSError) -> None:
        logger.warning("the lock of %s could not be changed: %s", sha256, error)
        if len(self.named) < MAX_NAMED_OBJECTS:
            self.named[sha256] = str(error)
        self.refused += 1
        self.in_a_row += 1
        if self.in_a_row == MAX_CONSECUTIVE_ERRORS:
            raise ObjectLockRefused(self.error)

    def as_json(self) -> dict[str, Any]:
        """The result of a job."""
        counts = {"looked_at": self.looked_at, "locked": self.locked, "refused": self.refused}
        return counts | {"named": self.named}


def get_required_locks(hashes: Collection[str]) -> dict[str, ObjectLock]:
    """What the ledger says of these bytes: of all the studies that have them, the most."""
    rows = Document.objects.filter(sha256__in=hashes).order_by()
    pairs = list(rows.values_list("sha256", "site__study").distinct())
    studies = Study.objects.in_bulk({study for _, study in pairs})
    held = LegalHold.objects.standing(studies)
    now = timezone.now()
    locks: dict[str, ObjectLock] = {}
    for sha256, key in pairs:
        before = locks.get(sha256, ObjectLock(None, None))
        until = _midnight(studies[key], now)
        locks[sha256] = ObjectLock(_most(before.until, until), _most(before.is_held, held.get(key)))
    return locks


def study_changed(instance: Study, **options: Any) -> None:
    """Receives `post_save`: inside the transaction of the change and its entry."""
    _note(instance.pk, options.get("update_fields"))


def hold_changed(instance: LegalHold, **options: Any) -> None:
    """The same."""
    _note(instance.study_id, options.get("update_fields"))


def queue_nightly_update(parts: Iterable[str]) -> None:
    """Have these parts followed, by a worker that has time."""
    if isinstance(get_archive(), BucketArchive):
        background_jobs.schedule_job(KIND, {"parts": list(parts)})
    else:
        update_locks(())  # what a bucket that is no longer ours has to follow rings for ever, else


def update_locks(
    studies: Iterable[int], rest: "Iterable[QuerySet[Document]]" = (), *, dry_run: bool = False
) -> LockUpdateResult:
    """Look at all documents of these studies, and at the rest. What S3 refuses is answered.

    Idempotent; may be interrupted, and run twice at a time.
    """
    followed, store = LockUpdateResult(), get_archive()
    if not isinstance(store, BucketArchive):
        if not dry_run:
            LockChange.objects.all().delete()  # the archive was moved into a folder
        return followed
    turn = _Round(store, followed, dry_run)
    try:
        for study in studies:
            turn.of_study(study)
        for documents in rest:
            turn.of(documents)
    except ObjectLockRefused:
        logger.warning("the bucket refuses: no further lock is tried")
    return followed


@dataclass(frozen=True, slots=True)
class _Round:
    store: BucketArchive
    followed: LockUpdateResult
    dry_run: bool

    def of_study(self, study: int) -> None:
        changes = list(LockChange.objects.filter(study=study).values_list("pk", flat=True))
        before = self.followed.refused
        self.of(Document.objects.filter(site__study=study))
        # A change that came meanwhile has a row and a job of its own.
        if not self.dry_run and self.followed.refused == before:
            LockChange.objects.filter(pk__in=changes).delete()

    def of(self, documents: "QuerySet[Document]") -> None:
        for hashes in _pages(documents):
            said: Mapping[str, ObjectLock] = {}
            # Asked again after each page was locked: whoever writes last has seen the last word.
            while (now := get_required_locks(hashes)) != said:
                for sha256, lock in now.items():
                    self._keep(sha256, lock)
                said = now
            self.followed.looked_at += len(hashes)

    def _keep(self, sha256: str, lock: ObjectLock) -> None:
        try:
            self.followed.locked += self.store.keep(sha256, lock, dry_run=self.dry_run)
        except FileNotFoundError:
            return  # rejected without its bytes, not put yet, or missing: `verify_archive` says so
        except OSError as error:
            if not self.dry_run:
                _note_error(sha256, str(error))
            self.followed.refuse(sha256, error)
        else:
            self.followed.in_a_row = 0


def run_lock_job(job: AuditJob) -> Mapping[str, Any]:
    """Have the bucket's locks follow the ledger for the parts that the job names."""
    return update_locks(_changed(), _of_the_night(job.arguments["parts"])).as_json()


def _note(study: int, update_fields: Collection[str] | None) -> None:
    if update_fields is not None and not _TERMS.intersection(update_fields):
        return
    if not isinstance(get_archive(), BucketArchive):
        return
    if Document.objects.filter(site__study=study).exists():
        LockChange.objects.create(study_id=study)
        # A job of its own: one that waits already could be over before this is committed.
        background_jobs.request_job(KIND, {"parts": []}, background_jobs.SYSTEM_ACTOR)


def _note_error(sha256: str, error: str) -> None:
    for study in Study.objects.filter(sites__documents__sha256=sha256).distinct():
        if not LockChange.objects.filter(study=study).update(error=error):
            LockChange.objects.create(study=study, error=error)


def _changed() -> list[int]:
    """Studies, the longest wait first."""
    rows = LockChange.objects.order_by("pk").values_list("study", flat=True)
    return list(dict.fromkeys(rows))


def _of_the_night(parts: list[str]) -> "Iterator[QuerySet[Document]]":
    for part in parts:
        yield Document.objects.filter(sha256__startswith=part)
    if parts:
        yield Document.objects.filter(settled_at__gte=timezone.now() - LATELY)


def _pages(documents: "QuerySet[Document]") -> Iterator[list[str]]:
    """Their hashes. By key: no cursor is open while the bucket is asked."""
    hashes = documents.order_by("sha256").values_list("sha256", flat=True).distinct()
    last = ""
    while page := list(hashes.filter(sha256__gt=last)[:DOCUMENTS_PER_PAGE]):
        yield page
        last = page[-1]


def _midnight(study: Study, now: datetime) -> datetime | None:
    """None: its time is over, and S3 locks nothing until a day that has passed."""
    until = datetime.combine(retention.locked_until(study, now.date()), time(), UTC)
    return until if until > now else None


def _most(one: _Term | None, other: _Term | None) -> _Term | None:
    return max((each for each in (one, other) if each is not None), default=None)
