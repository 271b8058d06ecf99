"""Helpers for tests of exports: a ledger with checkpoints, its export, and the verifier."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.db import connection

from audit.export import verify_trail
from audit.export.package import make_package
from audit.export.selection import Selection
from audit.files import durable
from audit.ledger import merkle_tree
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from audit.models import Entry
from audit.signing import checkpoints, signed_note
from tests.audit.support import sql

NAME = "siteledger.example/trail"
KEY = signed_note.Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = signed_note.Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes(32)))
VERIFIER = Path(verify_trail.__file__)
STATES = ["RECEIVED", "VALIDATING", "ARCHIVED"]
EVENTS = ["document.received", "document.checking", "document.filed"]


def record_step(document, n, *, site="DE-014", packet="", **facts):
    """Record the entry of step `n` of a document. The caller has opened a ledger block."""
    record(
        EVENTS[n],
        subject=f"document:{document}",
        n=n,
        by=Actor("system:worker-03", "worker"),
        site=site,
        doc_id=f"CV-{document}",
        sha256=f"{document:064x}",
        from_state=STATES[n - 1] if n else "",
        to_state=STATES[n],
        correlation_id=packet or f"packet-{document}",
        **facts,
    )


def write_documents(*documents, **facts):
    """Write three entries for each document, each with a detail."""
    with ledger():
        for document in documents:
            for n in range(3):
                record_step(document, n, detail={"note": f"Zoë's no. {n} of {document}"}, **facts)


def sign(*signers, upto=None):
    """Insert a checkpoint of the first `upto` entries, as the application does. Return its note."""
    lines = list(Entry.objects.order_by("seq").values_list("body", "hash")[:upto])
    frontier = merkle_tree.Frontier()
    for body, _ in lines:
        frontier.add(merkle_tree.hash_leaf(body))
    head = signed_note.CheckpointText(NAME, len(lines), frontier.root())
    note = signed_note.sign_note(head.text, signers or [KEY])
    now = connection.ops.adapt_datetimefield_value(datetime.now(UTC))
    sql(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        *(len(lines), lines[-1][1], head.root.hex(), frontier.hex(), note, now),
    )
    return note


def publish(settings, folder, *signers):
    """Write the public keys to the anchor folder, and the private key of the last signer."""
    settings.ANCHOR_DIR, settings.AUDIT_ORIGIN = folder, NAME
    settings.AUDIT_KEY_FILE = folder.with_name(f"{folder.name}-key") / "audit.pem"
    folder.mkdir(exist_ok=True)
    since = "2026-01-01T00:00:00.000000Z"
    signers = signers or [KEY]
    keys = "".join(f"{signer.verifier.text} 0 {since}\n" for signer in signers)
    (folder / "vkeys.txt").write_text(keys)
    pem = signers[-1].private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    settings.AUDIT_KEY_FILE.unlink(missing_ok=True)
    durable.write_private_file(settings.AUDIT_KEY_FILE, pem)


def make_export(target, **choice):
    """Export up to the newest checkpoint, without signing newer entries. Return the target."""
    size = checkpoints.get_latest_checkpoint().size
    make_package(target, Selection(**choice), by=Actor("system:command", "ops"), size=size)
    return target


def keep_checkpoint(package, size=12):
    """Copy a checkpoint out of the package, as an inspector does, and return the path."""
    path = package.with_name(f"{package.name}-{size}.checkpoint")
    path.write_bytes((package / "checkpoints" / str(size)).read_bytes())
    return str(path)


def inspect(folder, *arguments):
    """Check a package in this process, with our verifier. Return the exit code and the output.

    Most tests use it, because it takes a tenth of the time of a process.
    """
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(written), redirect_stderr(written):
        patch.setattr(sys, "argv", [str(VERIFIER), str(folder), *arguments])
        code = verify_trail.main()
    written.seek(0)
    return code, written.read()


def run_verifier(folder, *arguments, python=sys.executable):
    """Check a package as an inspector does: with a verifier that is not the one in the folder.

    The process finds only the standard library. Return its exit code and its output.
    """
    done = subprocess.run(
        [python, "-I", str(VERIFIER), str(folder), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
