"""Creates backups as background jobs, in the folder BACKUP_DIR."""

from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error
from django.utils.translation import gettext as _

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.job_runs import ExplainedFailure
from ingestion.backup.contents import BackupError
from ingestion.backup.creation import create_backup
from ingestion.core.errors import StorageUnavailable

KIND = "backup"


def run_backup_job(job: AuditJob) -> dict[str, Any]:
    """Create a backup, and return its folder, the SHA-256 of its manifest and its numbers.

    Raises ExplainedFailure if no backup was created.
    """
    if settings.BACKUP_DIR is None:
        raise ExplainedFailure(_("BACKUP_DIR is not set on this host."))
    try:
        made = create_backup(
            settings.BACKUP_DIR,
            by=background_jobs.get_requester(job),
            progress=partial(job_runs.report_progress, job),
        )
    except (BackupError, StorageUnavailable, OSError, Error) as error:
        message = _("No backup was created: {error}").format(error=str(error).strip())
        raise ExplainedFailure(message) from error
    return {
        "folder": made.folder.name,
        "sha256": made.sha256,
        "files": made.manifest.files,
        "bytes": made.manifest.bytes,
        "entries": made.manifest.entries,
        "missing": made.manifest.missing_count,
    }


def can_back_up_here() -> bool:
    """Return whether this host can create backups. A host without BACKUP_DIR leaves them."""
    return settings.BACKUP_DIR is not None
