"""The database is gone. What does the export alone tell, and do the files agree with it?"""

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
from qualification.drills.scene import (
    Say,
    demand,
    host,
    is_completed,
    offered,
    submit,
    until,
)
from qualification.sandbox import Sandbox

DOCUMENTS = 14
States = dict[str, tuple[str, str]]  # by subject: state and hash


def run(folder: Path, say: Say) -> None:
    with offered(folder, documents=DOCUMENTS) as (_, frozen), host(folder):
        batch = submit(frozen.manifest)
        until(lambda: is_completed(batch), "every document is settled")
    package = folder / "package"
    call_command("export_audit", str(package), verbosity=0, stdout=sys.stderr)
    rows: States = {each.subject: (each.state, each.sha256) for each in Document.objects.all()}
    archive, key = FolderArchive().root, keys.load_current_key().verifier.text
    head = json.loads((package / "manifest.json").read_text())["head"]
    _lose_the_database(folder)
    say(f"{DOCUMENTS} documents were worked, their trail exported, and the database deleted.")

    verifier = settings.BASE_DIR / "audit" / "export" / "verify_trail.py"
    command = [sys.executable, str(verifier), str(package), "--vkey", key, "--known", head]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    demand(told.returncode == 0, f"the package does not prove itself: {told.stdout}{told.stderr}")
    say("The package proves itself, by its own verifier and the public key.")

    found = reconstructed(package)
    lost = {subject for subject in rows if found.get(subject) != rows[subject]}
    demand(found.keys() == rows.keys(), "the package tells of other documents than there were")
    demand(not lost, f"the package tells otherwise of {', '.join(sorted(lost))}")
    filed = [sha256 for state, sha256 in found.values() if state == DocumentState.ARCHIVED]
    wrong = [sha256 for sha256 in filed if not _is_there(FolderArchive(archive), sha256)]
    demand(not wrong, f"not in the archive as it was filed: {', '.join(wrong)}")
    say(f"State and hash of all {len(found)} are known from it, and {len(filed)} files agree.")


def reconstructed(package: Path) -> States:
    """What the last entry of each document says. The database is not asked."""
    found: States = {}
    for line in (package / "entries.ndjson").read_text().splitlines():
        entry = json.loads(line)
        subject = entry["subject"]
        if subject.startswith("document:") and entry["to"]:
            found[subject] = (entry["to"], entry["sha256"])
    return found


def _lose_the_database(folder: Path) -> None:
    connections.close_all()
    for file in folder.glob(f"{Sandbox(folder).database.name}*"):
        file.unlink()


def _is_there(archive: FolderArchive, sha256: str) -> bool:
    if not archive.has(sha256):
        return False
    with archive.open(sha256) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256  # type: ignore[arg-type] # IO has it
