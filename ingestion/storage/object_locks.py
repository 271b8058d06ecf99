"""Adjusts the object locks in the archive's bucket to the retention in the ledger (R14).

A document is stored with a lock of ARCHIVE_S3_YEARS, because the end of its study is not known
then. This module makes locks longer, and never shorter. A legal hold of a study is S3's legal hold,
too. A hold in S3 is not changed if no study of the document ever had a legal hold here, because
another party has set it.

A change of a study or a hold writes a message of the outbox, in the transaction of its ledger
entry. After the commit, a job adjusts the locks of the study; the message is delivered when the
bucket has confirmed them. A message that failed is due again after a wait, and is never given up:
its error is shown by an alarm until then. Each night, a job also checks a part of the archive and
the recently settled documents, because a new document gets the same lock as every other, whatever
the ledger says of its study. If an object is refused there, a message is written for its studies.

A folder has no locks that end: its files are always read-only, and this module deletes nothing.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from django.utils import timezone

from audit import background_jobs, job_moves, outbox
from audit.background_jobs import AuditJob
from audit.outbox import (
    ChannelUnavailable,
    Delivery,
    DeliveryFailed,
    DeliveryPolicy,
    MessageKind,
    OutboxMessage,
)
from ingestion.models import Document, DocumentRendition
from ingestion.storage.archive import LockingArchive, ObjectLock, get_archive
from sites import retention
from sites.models import Study
from sites.models.legal_holds import LegalHold

_Term = TypeVar("_Term", datetime, bool)  # the terms of an ObjectLock

logger = logging.getLogger(__name__)

JOB_KIND = "follow_locks"
DOCUMENTS_PER_PAGE = 100  # whose required locks are read from the ledger at a time
SETTLED_WITHIN = timedelta(days=2)  # checked each night; more than a day, because a night may fail
MAX_CONSECUTIVE_ERRORS = 5  # more errors in a row are a fault of the bucket, not of its objects
MAX_NAMED_OBJECTS = 100

# The fields of Study and LegalHold that affect locks.
_TERM_FIELDS = {"ended_on", "retention_years", "lifted_at"}


class ObjectLockRefused(Exception):
    """The bucket refuses to change locks in general, so no further object is tried."""


@dataclass(slots=True)
class LockUpdateResult:
    """The result of an update. At most MAX_NAMED_OBJECTS of the refused objects are named."""

    checked: int = 0  # documents
    changed: int = 0  # locks that were made longer, and legal holds that were set or removed
    refused: int = 0
    consecutive_errors: int = 0
    named: dict[str, str] = field(default_factory=dict)  # the error by SHA-256
    last_error: str = ""

    def add_error(self, sha256: str, error: OSError) -> None:
        """Count a refused object.

        Raises ObjectLockRefused after MAX_CONSECUTIVE_ERRORS without a success between them.
        """
        logger.warning("the lock of %s could not be changed: %s", sha256, error)
        if len(self.named) < MAX_NAMED_OBJECTS:
            self.named[sha256] = str(error)
        self.refused += 1
        self.last_error = str(error)
        self.consecutive_errors += 1
        if self.consecutive_errors >= MAX_CONSECUTIVE_ERRORS:
            raise ObjectLockRefused(self.last_error)

    def as_json(self) -> dict[str, Any]:
        """Return the result of a job. Its keys are stored, so they keep their old names."""
        counts = {"looked_at": self.checked, "locked": self.changed, "refused": self.refused}
        return counts | {"named": self.named}


def get_required_locks(hashes: Collection[str]) -> dict[str, ObjectLock]:
    """Return by SHA-256 the locks that the ledger requires.

    If several studies have the same bytes, the latest end counts, and a hold of any of them. An end
    is None if it has passed, because S3 refuses a date in the past. A hold is None if no study ever
    had one.
    """
    rows = Document.objects.filter(sha256__in=hashes).order_by()
    renditions = DocumentRendition.objects.filter(sha256__in=hashes).order_by()
    # A rendition is locked like the documents from which it was made.
    pairs = {
        *rows.values_list("sha256", "site__study"),
        *renditions.values_list("sha256", "document__site__study"),
    }
    studies = Study.objects.in_bulk({study for _, study in pairs})
    is_held = LegalHold.objects.in_force_by_study(studies)
    now = timezone.now()
    locks: dict[str, ObjectLock] = {}
    for sha256, key in pairs:
        until = datetime.combine(
            retention.compute_retention_end(studies[key], now.date()), time(), UTC
        )
        other = locks.get(sha256, ObjectLock(None, None))
        locks[sha256] = ObjectLock(
            _max_or_none(other.until, until if until > now else None),
            _max_or_none(other.is_held, is_held.get(key)),
        )
    return locks


def record_study_change(instance: Study, **options: Any) -> None:
    """Receive `post_save`, in the transaction of the change and its entry."""
    _record_change(instance.pk, options.get("update_fields"))


def record_hold_change(instance: LegalHold, **options: Any) -> None:
    """Receive `post_save`, in the transaction of the change and its entry."""
    _record_change(instance.study_id, options.get("update_fields"))


def queue_nightly_update(parts: Iterable[str]) -> None:
    """Start a job that checks these parts of the archive, which are first bytes of SHA-256s."""
    if isinstance(get_archive(), LockingArchive):
        background_jobs.schedule_job(JOB_KIND, {"parts": list(parts)})
    else:
        _delete_changes()


def queue_due_changes() -> None:
    """Start a job if changes of locks are due: after a failure, or because their process died."""
    now = timezone.now()
    outbox.release_expired([KIND.name], now)
    if _find_changes().filter(state=OutboxMessage.State.WAITING, due_at__lte=now).exists():
        background_jobs.schedule_job(JOB_KIND, {"parts": []})


def update_locks(studies: Iterable[int], *, dry_run: bool = False) -> LockUpdateResult:
    """Adjust the locks of all documents of these studies.

    Errors of S3 are in the result. The function is idempotent. It may be interrupted, and may run
    several times at once.
    """
    result, store = LockUpdateResult(), get_archive()
    if not isinstance(store, LockingArchive):
        if not dry_run:
            _delete_changes()
        return result
    update = _LockUpdate(store, result, dry_run)
    try:
        for study in studies:
            update.update_study(study)
    except ObjectLockRefused:
        logger.warning("the bucket refuses: no further lock is tried")
    return result


def run_lock_job(job: AuditJob) -> Mapping[str, Any]:
    """Adjust the locks in the parts of the archive that the job names, and of changed studies.

    A nightly job, which names parts, also checks the recently settled documents. The studies that
    changed first are updated first.
    """
    result, store = LockUpdateResult(), get_archive()
    if not isinstance(store, LockingArchive):
        _delete_changes()
        return result.as_json()
    update, parts = _LockUpdate(store, result), job.arguments["parts"]
    documents = [Document.objects.filter(sha256__startswith=part) for part in parts]
    if parts:
        since = timezone.now() - SETTLED_WITHIN
        documents.append(Document.objects.filter(settled_at__gte=since))
    try:
        for each in documents:
            update.update_documents(each)
    except ObjectLockRefused:
        logger.warning("the bucket refuses: the rest of the archive is not checked")
    outbox.release_expired([KIND.name], timezone.now())
    while change := outbox.claim_next([KIND.name]):
        failure = outbox.deliver(change, partial(_deliver_change, update=update))
        if isinstance(failure, ChannelUnavailable):
            logger.warning("the bucket refuses: no further study is tried")
            break
    return result.as_json()


@dataclass(frozen=True, slots=True)
class _LockUpdate:
    store: LockingArchive
    result: LockUpdateResult
    dry_run: bool = False

    def update_study(self, study: int, beat: Callable[[], object] = lambda: None) -> None:
        """Adjust the locks of the documents of a study. Raises ObjectLockRefused.

        If no object is refused, the changes of the study that waited before are delivered.
        """
        # A change that is saved from here on has a message of its own.
        waiting = _find_changes(study).filter(state=OutboxMessage.State.WAITING)
        before, refused_before = list(waiting.values_list("pk", flat=True)), self.result.refused
        self.update_documents(Document.objects.filter(site__study=study), beat)
        if not self.dry_run and self.result.refused == refused_before:
            waiting.filter(pk__in=before).delete()

    def update_documents(
        self, documents: "QuerySet[Document]", beat: Callable[[], object] = lambda: None
    ) -> None:
        """Adjust the locks of these documents. Raises ObjectLockRefused.

        `beat` is called after each page of documents and after each error, which may be a time-out.
        """
        for hashes in _iterate_pages(documents):
            applied: Mapping[str, ObjectLock] = {}
            # The ledger is read again after each page, until it requires what was applied. So of
            # two updates at once, the one that writes last applies the newest state.
            while (required := get_required_locks(hashes)) != applied:
                for sha256, lock in sorted(required.items()):
                    if not self._update_object(sha256, lock):
                        beat()
                applied = required
            self.result.checked += len(hashes)
            beat()

    def _update_object(self, sha256: str, lock: ObjectLock) -> bool:
        """Adjust the lock of an object. Returns False if the bucket refused."""
        try:
            self.result.changed += self.store.apply_lock(sha256, lock, dry_run=self.dry_run)
        except FileNotFoundError:
            # The document was rejected without its bytes, is not stored yet, or is missing, which
            # `verify_archive` reports.
            return True
        except OSError as error:
            if not self.dry_run:
                has_hash = Q(sites__documents__sha256=sha256) | Q(
                    sites__documents__renditions__sha256=sha256
                )
                for study in Study.objects.filter(has_hash).distinct():
                    if not _find_changes(study.pk).exists():
                        outbox.post(KIND.name, {"study": study.pk})
            self.result.add_error(sha256, error)
            return False
        self.result.consecutive_errors = 0
        return True


def _deliver_change(delivery: Delivery, update: _LockUpdate) -> None:
    """Adjust the locks of a study that changed, as a part of an update."""
    refused_before = update.result.refused
    try:
        update.update_study(delivery.payload["study"], delivery.extend)
    except ObjectLockRefused as error:
        raise ChannelUnavailable(str(error)) from error
    if update.result.refused > refused_before:
        raise DeliveryFailed(update.result.last_error)


KIND = MessageKind(
    "lock_change",
    None,
    DeliveryPolicy(initial_wait=timedelta(minutes=1), max_wait=timedelta(hours=1)),
    lease=timedelta(minutes=10),
)


def find_refused_changes() -> "QuerySet[OutboxMessage]":
    """Return the changes of locks whose last attempt failed. The payload has the `study`."""
    return _find_changes().exclude(error="")


def _record_change(study: int, update_fields: Collection[str] | None) -> None:
    """Write a message and request a job, if the saved fields affect locks in a bucket."""
    if update_fields is not None and not _TERM_FIELDS.intersection(update_fields):
        return
    if not isinstance(get_archive(), LockingArchive):
        return
    if Document.objects.filter(site__study=study).exists():
        outbox.post(KIND.name, {"study": study})
        # Each change needs its own job: one that waits already could end before this is committed.
        background_jobs.request_job(JOB_KIND, {"parts": []}, job_moves.SYSTEM_WORKER)


def _find_changes(study: int | None = None) -> "QuerySet[OutboxMessage]":
    changes = OutboxMessage.objects.filter(kind=KIND.name)
    return changes if study is None else changes.filter(payload__study=study)


def _delete_changes() -> None:
    """Delete the changes of a former bucket, whose alarm would never end otherwise.

    The archive was moved into a folder, which has no locks.
    """
    _find_changes().delete()


def _iterate_pages(documents: "QuerySet[Document]") -> Iterator[list[str]]:
    """Yield pages of the SHA-256s, by key, so that no cursor is open during requests to S3.

    The renditions of the documents follow them.
    """
    renditions = DocumentRendition.objects.filter(document__in=documents.order_by().values("pk"))
    for rows in (documents, renditions):
        hashes = rows.order_by("sha256").values_list("sha256", flat=True).distinct()
        last = ""
        while page := list(hashes.filter(sha256__gt=last)[:DOCUMENTS_PER_PAGE]):
            yield page
            last = page[-1]


def _max_or_none(one: _Term | None, other: _Term | None) -> _Term | None:
    """Return the larger of the two that are not None."""
    return max((each for each in (one, other) if each is not None), default=None)
