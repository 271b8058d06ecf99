"""Shows that documents that are delivered three times are filed once each.

One installation receives the same manifest three times, each time as a new submission, as a portal
or a queue does that delivers more than once.
"""

from collections import Counter, defaultdict
from pathlib import Path

from audit.ledger.queries import list_entries
from audit.verification.verify import verify_ledger
from ingestion.core.states import DocumentState
from ingestion.documents.transitions import EVENTS
from ingestion.models import Batch, Document
from ingestion.storage.archive import FolderArchive
from qualification.drills.setup import (
    Print,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)

DOCUMENTS, SITES, DELIVERIES = 500, 4, 3
Outcomes = dict[str, tuple[str, str]]  # state and code, by site and doc_id
SETTLING_EVENTS = {event for state, event in EVENTS.items() if state.is_settled}


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    served = run_sample_portal(folder, documents=DOCUMENTS, sites=SITES)
    deliveries: list[Outcomes] = []
    with served as (portal, corpus), run_worker_host(folder):
        for number in range(1, DELIVERIES + 1):
            before = len(portal.requests)
            batch = submit_manifest(corpus.manifest)
            wait_until(lambda batch=batch: is_completed(batch), f"delivery {number} is settled")  # type: ignore[misc] # the default value binds it
            deliveries.append(_read_outcomes(batch))
            statuses = Counter(request.status for request in portal.requests[before:])
            counts = Counter(state for state, _ in deliveries[-1].values())
            report(
                f"Delivery {number} of {DOCUMENTS} documents: "
                f"{_format_counts(counts)}. Responses of the portal: {_format_counts(statuses)}."
            )
    check_outcomes(deliveries)
    entries = _check_ledger()
    files = _check_archive()
    filed = Document.objects.on_file().count()
    report(
        f"{filed} documents are filed, each once. The {entries} entries of the ledger were "
        f"verified: {DELIVERIES * DOCUMENTS} documents were received and settled once each, and "
        f"{filed} were filed. The archive holds {files} files, each once."
    )


def check_outcomes(deliveries: list[Outcomes]) -> None:
    """Raise DrillFailed unless later deliveries have the outcomes that follow from the first one.

    A document that is filed is found to be on file. Each other document has the same outcome as
    before.
    """
    first, *others = deliveries
    for number, outcomes in enumerate(others, start=2):
        wrong = [
            name
            for name, (state, code) in first.items()
            if outcomes.get(name)
            != (
                (DocumentState.DEDUPED, "DUPLICATE_CONTENT")
                if state == DocumentState.ARCHIVED
                else (state, code)
            )
        ]
        require(not wrong, f"delivery {number} has other outcomes: {', '.join(wrong)}")


def _read_outcomes(batch: Batch) -> Outcomes:
    rows = batch.documents.values_list("site__site_id", "doc_id", "state", "code")
    return {f"{site}/{doc_id}": (state, code) for site, doc_id, state, code in rows}


def _check_ledger() -> int:
    """Return the number of entries. Raises DrillFailed unless it has exactly the expected ones."""
    verdict = verify_ledger()
    require(verdict.intact, f"the ledger is broken: {verdict}")
    documents = {document.subject: document for document in Document.objects.all()}
    events: defaultdict[str, list[str]] = defaultdict(list)
    for entry in list_entries(*documents):
        events[entry.subject].append(entry.event)
    wrong = [
        subject
        for subject, document in documents.items()
        if events[subject].count("document.received") != 1
        or [event for event in events[subject] if event in SETTLING_EVENTS]
        != [EVENTS[DocumentState(document.state)]]
    ]
    require(not wrong, f"entries are missing or repeated: {', '.join(wrong)}")
    return verdict.entries


def _check_archive() -> int:
    """Return the number of files, which have to be the different bytes that were received."""
    files = sum(1 for path in FolderArchive().root.rglob("*") if path.is_file())
    digests = set(Document.objects.exclude(sha256="").values_list("sha256", flat=True))
    require(files == len(digests), f"{files} files in the archive for {len(digests)} digests")
    return files


def _format_counts(counts: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
