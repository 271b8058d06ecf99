"""Reconstruct the states of all documents from an export alone, after the database is deleted."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections

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

DOCUMENTS = 14
States = dict[str, tuple[str, str]]  # state and SHA-256 digest by subject


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    with run_sample_portal(folder, documents=DOCUMENTS) as (_, corpus), run_worker_host(folder):
        batch = submit_manifest(corpus.manifest)
        wait_until(lambda: is_completed(batch), "all documents are settled")
    export = folder / "package"
    call_command("export_audit", str(export), verbosity=0, stdout=sys.stderr)
    rows: States = {each.subject: (each.state, each.sha256) for each in Document.objects.all()}
    archive, key = FolderArchive().root, keys.load_current_key().verifier.text
    head = json.loads((export / "manifest.json").read_text())["head"]
    connections.close_all()
    for file in folder.glob(f"{Sandbox(folder).database.name}*"):
        file.unlink()
    report(f"{DOCUMENTS} documents were settled and exported, and the database was deleted.")

    verifier = settings.BASE_DIR / "audit" / "export" / "verify_trail.py"
    command = [sys.executable, str(verifier), str(export), "--vkey", key, "--known", head]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    require(result.returncode == 0, f"the export was not verified: {result.stdout}{result.stderr}")
    report("The export was verified with its own verifier and the public key.")

    found = reconstruct_states(export)
    require(found.keys() == rows.keys(), "the export does not contain the same documents")
    wrong_states = {subject for subject in rows if found[subject] != rows[subject]}
    require(not wrong_states, f"another state or digest: {', '.join(sorted(wrong_states))}")
    filed = [sha256 for state, sha256 in found.values() if state == DocumentState.ARCHIVED]
    wrong_files = [sha256 for sha256 in filed if not _is_in_archive(FolderArchive(archive), sha256)]
    require(not wrong_files, f"missing or changed in the archive: {', '.join(wrong_files)}")
    report(
        f"The states and digests of all {len(found)} documents were reconstructed. "
        f"{len(filed)} archived files match."
    )


def reconstruct_states(export: Path) -> States:
    """Return the state in the last entry of each document. The database is not used."""
    states: States = {}
    for line in (export / "entries.ndjson").read_text().splitlines():
        entry = json.loads(line)
        subject = entry["subject"]
        if subject.startswith("document:") and entry["to"]:
            states[subject] = (entry["to"], entry["sha256"])
    return states


def _is_in_archive(archive: FolderArchive, sha256: str) -> bool:
    if not archive.has(sha256):
        return False
    with archive.open(sha256) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256  # type: ignore[arg-type] # IO has it
