"""SIGTERM in the middle: what was in hand is finished or goes back, and another host goes on."""

from pathlib import Path

from audit.ledger.queries import timeline
from ingestion.core.states import DocumentState
from ingestion.models import Chunk, Document
from ingestion.storage.spool import list_attempts
from qualification.drills.scene import (
    Say,
    demand,
    host,
    is_completed,
    offered,
    settled,
    submit,
    until,
)
from samples.portal import SiteLimit

DOCUMENTS, MIDDLE = 14, 3
SLOW = SiteLimit(2.0, 1)  # so that there is a middle


def run(folder: Path, say: Say) -> None:
    with offered(folder, documents=DOCUMENTS, limit=SLOW) as (portal, frozen):
        batch = submit(frozen.manifest)
        with host(folder) as stop:
            until(lambda: settled() >= MIDDLE, f"{MIDDLE} documents are settled")
            code = stop()
        done, asked = settled(), len(portal.requests)
        demand(code == 0, f"the host ended with exit code {code}, and not with 0")
        demand(done < DOCUMENTS, "all was done before the host was stopped: nothing was tried")
        demand(not Chunk.objects.running().exists(), "a lease was left")
        half = Document.objects.filter(state=DocumentState.VALIDATING).count()
        demand(not list_attempts(), "files of an attempt were left in the spool")
        say(f"Stopped after {done} of {DOCUMENTS}: exit code 0, no lease and no file left behind.")
        say(f"{half} were being checked when time was up; they begin afresh.")
        with host(folder):
            until(lambda: is_completed(batch), "another host has done the rest")
    filed = [row.subject for row in Document.objects.on_file()]
    twice = [each for each in filed if _events(each).count("document.filed") != 1]
    demand(not twice, f"not filed once: {', '.join(twice)}")
    say(f"Another host did the rest: {len(filed)} filed, each once, {asked} requests before.")


def _events(subject: str) -> list[str]:
    return [entry.event for entry in timeline(subject)]
