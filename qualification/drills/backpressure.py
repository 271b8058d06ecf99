"""Shows that documents beyond the limit are refused with a time to retry, and not registered."""

from pathlib import Path

from ingestion.intake.admission import AtCapacity
from ingestion.models import Batch, Document
from qualification.drills.setup import (
    Print,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)

LIMIT = 100  # unfinished documents
SETTINGS = {"MAX_UNFINISHED_DOCUMENTS": str(LIMIT)}  # set by `manage.py drill`


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    with run_sample_portal(folder, documents=2 * LIMIT, sites=4) as (portal, corpus):
        lines = corpus.manifest.splitlines()
        first = submit_manifest("\n".join(lines[:LIMIT]))
        report(f"The limit is {LIMIT} unfinished documents. {LIMIT} documents were accepted.")
        retry_after = 0
        try:
            submit_manifest("\n".join(lines[LIMIT:]))
        except AtCapacity as error:
            retry_after = error.retry_after
        require(retry_after, f"{LIMIT} more documents were accepted beyond the limit")
        registered = Document.objects.count(), Batch.objects.count()
        require(registered == (LIMIT, 1), f"the refused submission left rows: {registered}")
        require(not portal.requests, "the portal received requests although no worker runs")
        report(f"{LIMIT} more were refused with Retry-After {retry_after} s. Nothing was stored.")
        with run_worker_host(folder):
            wait_until(lambda: is_completed(first), "the first documents are settled")
            second = submit_manifest("\n".join(lines[LIMIT:]))
            wait_until(lambda: is_completed(second), "the second documents are settled")
    report("After the first documents were settled, the others were accepted and settled too.")
