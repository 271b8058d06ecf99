"""Describes in labels and values what a finished background job found."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.background_jobs import AuditJob
from ingestion.assessment import job as assessment_job
from ingestion.backup import job as backup_job
from ingestion.storage import archive_verification
from ingestion.storage.archive_verification import ArchiveFault
from web.trail.jobs import is_job_done

Facts = Iterator[tuple[str, object]]

FAULTS = {
    ArchiveFault.MISSING: gettext_lazy("Missing files"),
    ArchiveFault.CHANGED: gettext_lazy("Changed files"),
    ArchiveFault.UNREADABLE: gettext_lazy("Files that cannot be read"),
    ArchiveFault.WRITABLE: gettext_lazy("Files that are not protected from changes"),
    ArchiveFault.ORPHANED: gettext_lazy("Files that belong to no document"),
    ArchiveFault.SHORT: gettext_lazy("Files with a lock shorter than the retention"),
    ArchiveFault.UNHELD: gettext_lazy("Files without the legal hold of their study"),
    ArchiveFault.STILL_HELD: gettext_lazy("Files with a legal hold that was lifted"),
}


def describe_result(job: AuditJob) -> list[tuple[str, object]]:
    """Return labels and values of the result, or nothing if the job has no result."""
    describe = _DESCRIBED.get(job.kind)
    return list(describe(job.result)) if describe and is_job_done(job) else []


def _describe_verification(result: Mapping[str, Any]) -> Facts:
    yield _("Result"), _("The archive is intact.") if result["intact"] else _("Damage was found.")
    yield _("Files read"), result["files"]
    for fault, label in FAULTS.items():
        if count := result.get(str(fault)):
            names = result["named"][fault]
            rest = " …" if count > len(names) else ""
            yield str(label), f"{count}: {' '.join(names)}{rest}"


def _describe_backup(result: Mapping[str, Any]) -> Facts:
    yield _("Folder in BACKUP_DIR"), result["folder"]
    yield _("SHA-256 of the manifest"), result["sha256"]
    yield _("Files"), result["files"]
    yield _("Ledger entries"), result["entries"]
    yield _("Missing files"), result["missing"]


def _describe_assessment(result: Mapping[str, Any]) -> Facts:
    missed = result["missed"]
    yield _("Result"), " ".join(missed) if missed else _("No criterion was missed.")
    yield _("Files assessed"), result["files"]
    yield _("Rules"), result["rules"]


_DESCRIBED: Mapping[str, Callable[[Mapping[str, Any]], Facts]] = {
    archive_verification.KIND: _describe_verification,
    backup_job.KIND: _describe_backup,
    assessment_job.KIND: _describe_assessment,
}
