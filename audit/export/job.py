"""Exports that nobody waits for: the package as a zip file in EXPORT_DIR."""

from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from audit import background_jobs
from audit.export.package import make_package
from audit.export.selection import Selection
from audit.ledger.actors import Actor
from audit.models import AuditJob
from audit.signing import keys
from audit.signing.keys import KeyProblem

KIND = "export"


def run_export_job(job: AuditJob) -> dict[str, Any]:
    """Make the export that the job asks for, and return where it is and its manifest's SHA-256."""
    given = dict(job.arguments)
    by = Actor(job.asked_by, given.pop("role", ""))
    # What a worker that died had made is on record: the next one makes another.
    target = Path(settings.EXPORT_DIR) / f"audit-{job.pk}-{job.attempts}.zip"
    made = make_package(
        target,
        Selection(**given),
        by=by,
        progress=partial(background_jobs.report_progress, job),
    )
    return {"path": str(made.target), "entries": made.entries, "manifest": made.manifest_sha256}


def can_export_here() -> bool:
    """Return whether this host can sign an export: a host without the key leaves it to the others.

    Where no key was made yet, or the keys cannot be read, any host may say so.
    """
    try:
        return keys.has_private_key() or not keys.published_keys()
    except KeyProblem:
        return True
