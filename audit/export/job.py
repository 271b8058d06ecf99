"""Exports that nobody waits for: the package as a zip file in EXPORT_DIR."""

from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from audit import checkpoints, jobs
from audit.export.package import export
from audit.export.selection import Selection
from audit.keys import KeyProblem
from audit.models import AuditJob

KIND = "export"


@jobs.kind(KIND)
def _work(job: AuditJob) -> dict[str, Any]:
    given = dict(job.arguments)
    role = given.pop("role", "")
    # What a worker that died had made is on record: the next one makes another.
    target = Path(settings.EXPORT_DIR) / f"audit-{job.pk}-{job.attempts}.zip"
    sign_first()
    made = export(
        target,
        Selection(**given),
        actor=job.asked_by,
        role=role,
        progress=partial(jobs.progress, job),
    )
    return {"path": str(made.target), "entries": made.entries, "manifest": made.manifest_sha256}


def sign_first() -> None:
    """So that the newest entries are in it. A host without the key exports up to the last one."""
    try:
        checkpoints.sign()
    except KeyProblem:
        return
