"""More than there is room for: sent away with a time to come back, nothing of it registered."""

from pathlib import Path

from ingestion.intake.admission import AtCapacity
from ingestion.models import Batch, Document
from qualification.drills.scene import (
    Say,
    demand,
    host,
    is_completed,
    offered,
    submit,
    until,
)

ROOM = 10  # as MAX_UNFINISHED_DOCUMENTS; `manage.py drill` sets it
CHANGES = {"MAX_UNFINISHED_DOCUMENTS": str(ROOM)}


def run(folder: Path, say: Say) -> None:
    with offered(folder, documents=2 * ROOM) as (portal, frozen):
        lines = frozen.manifest.splitlines()
        first = submit("\n".join(lines[:ROOM]))
        say(f"There is room for {ROOM} unfinished documents, and so many were taken in.")
        refused = _refused("\n".join(lines[ROOM:]))
        demand(refused, f"{ROOM} documents more were taken in, though there is no room")
        registered = Document.objects.count(), Batch.objects.count()
        demand(registered == (ROOM, 1), f"of what was sent away something was kept: {registered}")
        demand(not portal.requests, "a portal was asked, though nobody works")
        say(f"{ROOM} more were sent away, and told to come back in {refused} s; nothing was kept.")
        with host(folder):
            until(lambda: is_completed(first), "the first documents are settled")
            second = submit("\n".join(lines[ROOM:]))
            until(lambda: is_completed(second), "the second documents are settled")
    say("Once there was room they were taken in, and all are settled.")


def _refused(text: str) -> int:
    """Seconds after which to come back; 0 if it was taken in."""
    try:
        submit(text)
    except AtCapacity as full:
        return full.retry_after
    return 0
