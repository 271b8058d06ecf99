"""Ingest the same documents several times into empty installations, and compare the results.

The comparison covers each document's final state and the entries of its ledger timeline. It leaves
out what differs between runs: times, processes, numbers and hashes of the chain, and the order in
which documents are processed.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from audit.ledger.actors import drop_process
from audit.ledger.queries import list_entries
from ingestion.models import Document
from qualification.drills.setup import (
    DrillFailed,
    Print,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)
from samples import fixed_corpus

RECORD_FILE = "record.json"


def run(folder: Path, report: Print, *, documents: int) -> None:
    """Ingest the first `documents` documents, and write their results into RECORD_FILE."""
    served = run_sample_portal(folder, documents=documents, has_scans=True)
    with served as (_, corpus), run_worker_host(folder):
        is_whole = documents == fixed_corpus.DOCUMENTS
        require(
            not is_whole or corpus.sha256 == fixed_corpus.SHA256,
            f"the generated documents have the digest {corpus.sha256} instead of "
            f"{fixed_corpus.SHA256}. A library that draws them has another version than "
            "requirements.txt pins.",
        )
        batch = submit_manifest(corpus.manifest)
        wait_until(lambda: is_completed(batch), "all documents are settled")
    record = {"documents": corpus.sha256, "results": _results()}
    (folder / RECORD_FILE).write_text(json.dumps(record, indent=1))
    states = ", ".join(f"{n} {state}" for state, n in sorted(batch.counts().items()))
    report(f"{documents} documents ({corpus.sha256[:16]}): {states}")


def check_same_results(folders: Sequence[Path]) -> None:
    """Raise DrillFailed, naming the documents, if a run differs from the first one."""
    first, *others = (json.loads((folder / RECORD_FILE).read_text()) for folder in folders)
    for number, other in enumerate(others, start=2):
        if other["documents"] != first["documents"]:
            raise DrillFailed(f"run {number} did not ingest the same documents as the first run")
        before, after = first["results"], other["results"]
        if names := [name for name in before | after if before.get(name) != after.get(name)]:
            listed = ", ".join(sorted(names))
            raise DrillFailed(f"run {number} has other results than the first run: {listed}")


def _results() -> dict[str, list[object]]:
    """Return the state and the timeline of each document, by site and doc_id."""
    results: dict[str, list[object]] = {}
    for row in Document.objects.select_related("site").order_by("site__site_id", "doc_id"):
        entries = [
            [
                entry.event,
                entry.from_state,
                entry.to_state,
                entry.code,
                entry.sha256,
                drop_process(entry.actor),
                entry.role,
                entry.rules,
                entry.schema_version,
                entry.detail.get("findings", []) if entry.detail else [],
            ]
            for entry in list_entries(row.subject)
        ]
        name = f"{row.site.site_id}/{row.doc_id}"
        results[name] = [row.state, row.code, row.sha256, entries]
    return results
