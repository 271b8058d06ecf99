"""Runs exports as background jobs, which write the package as a zip file into EXPORT_DIR."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings

from audit import background_jobs, job_runs
from audit.export.package import make_package
from audit.export.selection import Selection
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from audit.models import AuditJob
from audit.signing import keys
from audit.signing.keys import KeyProblem

KIND = "export"


def run_export_job(job: AuditJob) -> dict[str, Any]:
    """Make the requested export, and return its path and the SHA-256 of its manifest."""
    arguments = {name: value for name, value in job.arguments.items() if name != "role"}
    # The export of a worker that died may be recorded already, so each attempt has its own file.
    target = Path(settings.EXPORT_DIR) / f"audit-{job.pk}-{job.attempts}.zip"
    made = make_package(
        target,
        Selection(**arguments),
        by=background_jobs.get_requester(job),
        progress=partial(job_runs.report_progress, job),
    )
    return {"path": str(made.target), "entries": made.entries, "manifest": made.manifest_sha256}


def measure_export(_arguments: Mapping[str, Any]) -> int:
    """Return how many entries an export reads: all of them, whatever it selects."""
    entries, _hash = queries.get_last_entry() or (0, "")
    return entries


def discard_file(job: AuditJob) -> None:
    """Remove the file that a job wrote, and what belongs to it. It may be gone already."""
    if path := job.result.get("path"):
        Path(path).unlink(missing_ok=True)
        Path(path).with_suffix(".run.json").unlink(missing_ok=True)


def record_download(job: AuditJob, *, by: Actor) -> None:
    """Record that an export is downloaded, before its first byte is sent."""
    with ledger():
        record(
            "ledger.export_downloaded",
            subject=f"download:{uuid4()}",
            by=by,
            sha256=job.result.get("manifest", ""),
            detail={"export": job.pk, "file": Path(job.result["path"]).name},
        )


def can_export_here() -> bool:
    """Return whether this host can sign an export. A host without the key leaves it to other hosts.

    If no key exists yet, or the keys cannot be read, return True, so that any host reports that.
    """
    try:
        return keys.has_private_key() or not keys.read_published_keys()
    except KeyProblem:
        return True
