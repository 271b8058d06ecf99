"""A ledger with signed checkpoints, its export, and the inspector who has nothing but Python."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.db import connection

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
VERIFIER = Path(__file__).parents[3] / "audit" / "export" / "verify_trail.py"
WAY = ["RECEIVED", "VALIDATING", "ARCHIVED"]
EVENTS = ["document.received", "document.checking", "document.filed"]


def move(document, n, *, site="DE-014", packet="", **facts):
    """One entry of a document on its way, inside ledger()."""
    record(
        EVENTS[n],
        subject=f"document:{document}",
        n=n,
        by=Actor("system:worker-03", "worker"),
        site=site,
        doc_id=f"CV-{document}",
        sha256=f"{document:064x}",
        from_state=WAY[n - 1] if n else "",
        to_state=WAY[n],
        correlation_id=packet or f"packet-{document}",
        **facts,
    )


def write_ways(*documents, **facts):
    """Three entries for each document, each with a detail."""
    with ledger():
        for document in documents:
            for n in range(3):
                move(document, n, detail={"note": f"Zoë's no. {n} of {document}"}, **facts)


def sign(*signers, upto=None):
    """A checkpoint over the first `upto` entries, inserted as the application does."""
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
    """The public keys in the write-once place, and elsewhere the private one of the last."""
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


def exported(target, **choice):
    """The export up to the newest checkpoint; what came after it is not signed first."""
    size = checkpoints.latest_checkpoint().size
    make_package(target, Selection(**choice), by=Actor("system:command", "ops"), size=size)
    return target


def kept(package, size=12):
    """The path of a checkpoint as an inspector keeps it: not in the package."""
    kept = package.with_name(f"{package.name}-{size}.checkpoint")
    kept.write_bytes((package / "checkpoints" / str(size)).read_bytes())
    return str(kept)


def inspect(folder, *arguments, python=sys.executable, verifier=VERIFIER):
    """The verifier's exit code and what it printed. It is not the one in the folder."""
    done = subprocess.run(
        [python, "-I", str(verifier), str(folder), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
