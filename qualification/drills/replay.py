"""The same documents, ingested anew into an empty installation: each comes to the same.

Of each document its final state and every entry that tells its way are compared. Times, processes,
numbers and hashes of the chain differ from run to run, and the order in which documents come to
their turn.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.ledger.actors import without_process
from audit.ledger.queries import Recorded, timeline
from ingestion.models import Document
from qualification.drills.scene import (
    DrillFailed,
    Say,
    demand,
    host,
    is_completed,
    offered,
    submit,
    until,
)
from samples import fixed_corpus as samples

RECORD = "record.json"


def run(folder: Path, say: Say, *, documents: int) -> None:
    with offered(folder, documents=documents) as (_, frozen), host(folder):
        whole = documents == samples.DOCUMENTS
        demand(
            not whole or frozen.sha256 == samples.SHA256,
            f"these are not the frozen documents: {frozen.sha256} and not {samples.SHA256}. A "
            "library that draws them has another version (requirements.txt pins them all).",
        )
        batch = submit(frozen.manifest)
        until(lambda: is_completed(batch), "every document is settled")
    record = json.dumps({"documents": frozen.sha256, "came to": _came_to()}, indent=1)
    (folder / RECORD).write_text(record)
    came_to = ", ".join(f"{n} {state}" for state, n in sorted(batch.counts().items()))
    say(f"{documents} documents ({frozen.sha256[:16]}): {came_to}")


def compare(folders: Sequence[Path]) -> None:
    """Raises DrillFailed that names what came to something else than the first time."""
    first, *others = ((folder / RECORD).read_text() for folder in folders)
    for number, other in enumerate(others, start=2):
        if other != first:
            names = ", ".join(_differing(json.loads(first), json.loads(other)))
            raise DrillFailed(f"run {number} came to something else than the first: {names}")


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    if one["documents"] != other["documents"]:
        return ["they are other documents"]
    before, after = one["came to"], other["came to"]
    return sorted(name for name in before | after if before.get(name) != after.get(name))


def _came_to() -> dict[str, object]:
    rows = Document.objects.select_related("site").order_by("site__site_id", "doc_id")
    return {
        f"{row.site.site_id}/{row.doc_id}": [row.state, row.code, row.sha256, _way(row)]
        for row in rows
    }


def _way(document: Document) -> list[object]:
    return [_entry(entry) for entry in timeline(document.subject)]


def _entry(entry: Recorded) -> list[object]:
    findings = entry.detail.get("findings", []) if entry.detail else []
    moved = [entry.event, entry.from_state, entry.to_state, entry.code, entry.sha256]
    return [
        *moved,
        without_process(entry.actor),
        entry.role,
        entry.rules,
        entry.schema_version,
        findings,
    ]
