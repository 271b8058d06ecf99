"""Runs exports as background jobs, which write the package as a zip file into EXPORT_DIR."""

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
    """Make the requested export, and return its path and the SHA-256 of its manifest."""
    arguments = dict(job.arguments)
    by = Actor(job.asked_by, arguments.pop("role", ""))
    # The export of a worker that died may be recorded already, so each attempt has its own file.
    target = Path(settings.EXPORT_DIR) / f"audit-{job.pk}-{job.attempts}.zip"
    made = make_package(
        target,
        Selection(**arguments),
        by=by,
        progress=partial(background_jobs.report_progress, job),
    )
    return {"path": str(made.target), "entries": made.entries, "manifest": made.manifest_sha256}


def can_export_here() -> bool:
    """Return whether this host can sign an export. A host without the key leaves it to other hosts.

    If no key exists yet, or the keys cannot be read, return True, so that any host reports that.
    """
    try:
        return keys.has_private_key() or not keys.read_published_keys()
    except KeyProblem:
        return True
