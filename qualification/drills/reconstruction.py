"""Reconstruct the states of all documents from an export alone, after the database is deleted."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from audit.ledger.queries import list_entries
from audit.signing import keys
from ingestion.core.states import DocumentState
from ingestion.models import Document
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
from qualification.sandbox import Sandbox

DOCUMENTS, SITES = 100, 4
States = dict[str, tuple[str, str]]  # state and SHA-256 digest by subject
# Of each entry: correlation ID, event, states, code, and the time at which it occurred.
Timeline = list[tuple[str, str, str, str, str, datetime]]


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    served = run_sample_portal(folder, documents=DOCUMENTS, sites=SITES)
    with served as (_, corpus), run_worker_host(folder):
        batch = submit_manifest(corpus.manifest)
        wait_until(lambda: is_completed(batch), "all documents are settled")
    export = folder / "package"
    call_command("export_audit", str(export), verbosity=0, stdout=sys.stderr)
    rows: States = {each.subject: (each.state, each.sha256) for each in Document.objects.all()}
    timelines = {subject: _read_timeline(subject) for subject in rows}
    archive, key = FolderArchive().root, keys.load_current_key().verifier.text
    head = json.loads((export / "manifest.json").read_text())["head"]
    _delete_database(folder)
    report(f"{DOCUMENTS} documents were settled and exported, and the database was deleted.")

    _verify_export(export, key=key, head=head)
    report("The export was verified with its own verifier and the public key.")

    found = reconstruct_states(export)
    require(found.keys() == rows.keys(), "the export does not contain the same documents")
    wrong_states = {subject for subject in rows if found[subject] != rows[subject]}
    require(not wrong_states, f"another state or digest: {', '.join(sorted(wrong_states))}")
    exported = reconstruct_timelines(export)
    wrong_timelines = {subject for subject in rows if exported[subject] != timelines[subject]}
    require(not wrong_timelines, f"another timeline: {', '.join(sorted(wrong_timelines))}")
    filed = _count_filed_files(found, archive)
    report(
        f"The states and digests of all {len(found)} documents were reconstructed, and their "
        f"timelines of {sum(map(len, timelines.values()))} entries. {filed} archived files "
        "match."
    )


def _delete_database(folder: Path) -> None:
    connections.close_all()
    for path in folder.glob(f"{Sandbox(folder).database.name}*"):
        if path.is_dir():  # pipes that wake idle workers
            shutil.rmtree(path)
        else:
            path.unlink()


def _verify_export(export: Path, *, key: str, head: str) -> None:
    verifier = settings.BASE_DIR / "audit" / "export" / "verify_trail.py"
    command = [sys.executable, str(verifier), str(export), "--vkey", key, "--known", head]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    require(result.returncode == 0, f"the export was not verified: {result.stdout}{result.stderr}")


def _count_filed_files(states: States, root: Path) -> int:
    """Return the number of filed documents whose file is in the archive, which has to be all."""
    archive = FolderArchive(root)
    filed = [sha256 for state, sha256 in states.values() if state == DocumentState.ARCHIVED]
    wrong = [sha256 for sha256 in filed if not _is_in_archive(archive, sha256)]
    require(not wrong, f"missing or changed in the archive: {', '.join(wrong)}")
    return len(filed)


def reconstruct_states(export: Path) -> States:
    """Return the state in the last entry of each document. The database is not used."""
    states: States = {}
    for line in (export / "entries.ndjson").read_text().splitlines():
        entry = json.loads(line)
        subject = entry["subject"]
        if subject.startswith("document:") and entry["to"]:
            states[subject] = (entry["to"], entry["sha256"])
    return states


def reconstruct_timelines(export: Path) -> dict[str, Timeline]:
    """Return the timeline of each subject. The database is not used."""
    timelines: defaultdict[str, Timeline] = defaultdict(list)
    for line in (export / "entries.ndjson").read_text().splitlines():
        entry = json.loads(line)
        timelines[entry["subject"]].append(
            (
                entry["correlation_id"],
                entry["event"],
                entry["from"],
                entry["to"],
                entry["code"],
                datetime.fromisoformat(entry["occurred_at"]),
            )
        )
    return timelines


def _read_timeline(subject: str) -> Timeline:
    """Return the timeline of a subject from the database."""
    return [
        (
            entry.correlation_id,
            entry.event,
            entry.from_state,
            entry.to_state,
            entry.code,
            entry.occurred_at,
        )
        for entry in list_entries(subject)
    ]


def _is_in_archive(archive: FolderArchive, sha256: str) -> bool:
    if not archive.has(sha256):
        return False
    with archive.open(sha256) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256  # type: ignore[arg-type] # IO has it
