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

DOCUMENTS = 14
STOP_AFTER = 3  # settled documents
SLOW = SiteLimit(2.0, 1)  # so that the host is stopped before it has settled all documents


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    with run_sample_portal(folder, documents=DOCUMENTS, limit=SLOW) as (portal, corpus):
        batch = submit_manifest(corpus.manifest)
        with run_worker_host(folder) as stop:
            wait_until(lambda: count_settled() >= STOP_AFTER, f"{STOP_AFTER} documents are settled")
            exit_code = stop()
        settled, requests = count_settled(), len(portal.requests)
        require(exit_code == 0, f"the host ended with exit code {exit_code} instead of 0")
        require(settled < DOCUMENTS, "all documents were settled before the host was stopped")
        require(not Chunk.objects.running().exists(), "the stopped host left a lease")
        interrupted = Document.objects.filter(state=DocumentState.VALIDATING).count()
        require(not list_attempts(), "the stopped host left files of an attempt in the spool")
        report(
            f"The host was stopped after {settled} of {DOCUMENTS} documents: exit code 0, no "
            "leases and no files left."
        )
        report(f"{interrupted} documents were interrupted during their checks and start again.")
        with run_worker_host(folder):
            wait_until(lambda: is_completed(batch), "another host has settled the rest")
    filed = [document.subject for document in Document.objects.on_file()]
    wrong = []
    for subject in filed:
        events = [entry.event for entry in list_entries(subject)]
        if events.count("document.filed") != 1:
            wrong.append(subject)
    require(not wrong, f"not filed exactly once: {', '.join(wrong)}")
    report(
        f"Another host settled the rest. {len(filed)} documents are filed, each once. The first "
        f"host made {requests} requests."
    )
