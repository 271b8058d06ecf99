"""Shows that a host that is stopped finishes or returns its documents.

The host receives SIGTERM during its work, and another host continues.
"""

from pathlib import Path

from audit.ledger.queries import list_entries
from ingestion.core.states import DocumentState
from ingestion.models import Chunk, Document
from ingestion.storage.spool import list_attempts
from qualification.drills.setup import (
    Print,
    count_settled,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)
from samples.portal import SiteLimit

DOCUMENTS, SITES = 100, 4
STOP_AFTER = 20  # settled documents
SLOW = SiteLimit(1.0, 2)  # of each site, so that the host is stopped before all are settled


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    served = run_sample_portal(folder, documents=DOCUMENTS, sites=SITES, limit=SLOW)
    with served as (portal, corpus):
        batch = submit_manifest(corpus.manifest)
        with run_worker_host(folder) as host:
            wait_until(lambda: count_settled() >= STOP_AFTER, f"{STOP_AFTER} documents are settled")
            host.stop()
        settled, requests = count_settled(), len(portal.requests)
        require(settled < DOCUMENTS, "all documents were settled before the host was stopped")
        require(not Chunk.objects.running().exists(), "the stopped host left a lease")
        interrupted = Document.objects.filter(state=DocumentState.VALIDATING).count()
        require(not list_attempts(), "the stopped host left files of an attempt in the spool")
        report(
            f"The host was stopped after {settled} of {DOCUMENTS} documents: exit code 0, no "
            "process, no lease and no file left."
        )
        report(f"{interrupted} documents were interrupted during their checks and start again.")
        with run_worker_host(folder):
            wait_until(lambda: is_completed(batch), "another host has settled the rest")
    filed = _check_filed_once()
    lost = DOCUMENTS - count_settled()
    require(not lost, f"{lost} documents were lost")
    report(
        f"Another host settled the rest. {filed} documents are filed, each once. The first "
        f"host made {requests} requests, and the other one {len(portal.requests) - requests}."
    )


def _check_filed_once() -> int:
    """Return the number of filed documents. Raises DrillFailed if one has several entries of it."""
    filed = [document.subject for document in Document.objects.on_file()]
    wrong = []
    for subject in filed:
        events = [entry.event for entry in list_entries(subject)]
        if events.count("document.filed") != 1:
            wrong.append(subject)
    require(not wrong, f"not filed exactly once: {', '.join(wrong)}")
    return len(filed)
