"""Tests of an export with other programs: metamorphic-log (Rust), openssl, csplit, old Pythons."""

import base64
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import metamorphic_log
import pytest
from django.db import connection

from audit.ledger import merkle_tree
from tests.audit.export.support import (
    KEY,
    OTHER,
    inspect,
    keep_checkpoint,
    make_export,
    publish,
    run_verifier,
    sign,
    write_documents,
)
from tests.audit.support import sql

KEYS = [KEY.verifier.text]


def split_proofs(part, folder):
    """Write each proof to a file, with the command of docs/audit-format.md. Return the paths."""
    folder.mkdir()
    file = part / "proofs" / "inclusion.tlog-proofs"
    subprocess.run(
        ["csplit", "-s", "-z", "-b", "%05d.tlog-proof", "-f", "", str(file),
         "/^c2sp.org\\/tlog-proof@v1$/", "{*}"],
        cwd=folder, check=True,
    )  # fmt: skip
    return sorted(folder.iterdir())


def parse_proof(proof):
    """Return the index, the hashes and the checkpoint of a proof (c2sp.org/tlog-proof)."""
    head, path_and_note = proof.read_text().split("\n", 1)
    assert head == "c2sp.org/tlog-proof@v1"
    (index, *path), note = (
        part.split("\n") if at == 0 else part
        for at, part in enumerate(path_and_note.split("\n\n", 1))
    )
    return int(index.removeprefix("index ")), [base64.b64decode(hash_) for hash_ in path], note


@pytest.mark.requirement("R05")
def test_another_implementation_accepts_the_checkpoints(package):
    for size in (6, 12):
        note = (package / "checkpoints" / str(size)).read_text()
        assert metamorphic_log.checkpoint_verify(note, KEYS).size == size


@pytest.mark.requirement("R05")
def test_another_implementation_accepts_the_proof_of_each_entry(trail, tmp_path):
    part = make_export(tmp_path / "part", sites=["FR-002"])
    lines = (part / "entries.ndjson").read_text().splitlines()
    proofs = split_proofs(part, tmp_path / "proofs")
    assert len(proofs) == len(lines) == 6
    for line, proof in zip(lines, proofs, strict=True):
        index, path, note = parse_proof(proof)
        metamorphic_log.checkpoint_verify_inclusion(
            note, KEYS, index, merkle_tree.hash_leaf(line), path
        )
        with pytest.raises(metamorphic_log.VerifyError):
            metamorphic_log.checkpoint_verify_inclusion(
                note, KEYS, index, merkle_tree.hash_leaf("x"), path
            )


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("old", [1, 4, 6, 7, 11])
def test_another_implementation_accepts_the_consistency_proof(db, anchors, tmp_path, old):
    write_documents(1, 2, 3, 4)
    sign(upto=old)
    sign()
    part = make_export(tmp_path / "part", doc_id="CV-1")
    head, *path = (part / "proofs" / f"{old}.consistency").read_text().split("\n\n")[0].split("\n")
    assert head == f"old {old}"
    notes = [(part / "checkpoints" / str(size)).read_text() for size in (old, 12)]
    hashes = [base64.b64decode(hash_) for hash_ in path]
    metamorphic_log.checkpoint_verify_consistency(*notes, KEYS, hashes)
    code, output = inspect(part, "--part", "--vkey", KEYS[0], "--known", keep_checkpoint(part, old))
    assert (code, f"entries up to {old}." in output) == (0, True), output


@pytest.mark.requirement("R05")
def test_after_a_key_rotation_the_new_key_signs_and_older_checkpoints_still_confirm(
    db, settings, tmp_path
):
    publish(settings, tmp_path / "anchors", KEY, OTHER)
    write_documents(1)
    sign(KEY)
    write_documents(2)
    sign(KEY, OTHER)
    package = make_export(tmp_path / "export")
    code, output = inspect(
        package, "--vkey", OTHER.verifier.text, "--known", keep_checkpoint(package, 3)
    )
    assert (code, "entries up to 3." in output) == (0, True), output
    code, output = inspect(package, "--vkey", KEY.verifier.text)
    assert (code, "manifest.json is not signed by a known key" in output) == (1, True), output


PYENV = Path.home() / ".pyenv" / "versions"
VERSIONS = sorted(PYENV.glob("3.[89].*/bin/python"))


@pytest.mark.skipif(not VERSIONS, reason="no older Python is installed")
def test_the_verifier_runs_on_older_versions_of_python(package, part):
    for python in map(str, VERSIONS):
        for folder in (package, part):
            given = ["--part", "--vkey", KEYS[0], "--known", keep_checkpoint(folder)]
            code, output = run_verifier(folder, *given, python=python)
            assert (code, output.startswith(("COMPLETE: ", "PART: "))) == (0, True), output


def openssl(folder, *arguments):
    done = subprocess.run(
        ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


CONFIG = """
[tsa]
default_tsa = ours
[ours]
serial = serial
default_policy = 1.2.3.4
digests = sha256
signer_digest = sha256
ordering = yes
"""


@pytest.fixture
def authority(tmp_path):
    """Create the folder of a time stamp authority, with the certificate for its tokens."""
    folder = tmp_path / "tsa"
    folder.mkdir()
    (folder / "tsa.cnf").write_text(CONFIG)
    (folder / "serial").write_text("01\n")
    created = openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=TSA", "-days", "2",
        "-keyout", "tsa.key", "-out", "tsa.pem",
        "-addext", "extendedKeyUsage=critical,timeStamping",
    )  # fmt: skip
    assert created[0] == 0, created
    return folder


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
@pytest.mark.requirement("R10")
def test_openssl_accepts_the_time_stamp_of_a_checkpoint(db, anchors, tmp_path, authority):
    write_documents(1)
    (authority / "note").write_text(sign())
    request = ["ts", "-query", "-data", "note", "-sha256", "-cert", "-out", "query"]
    reply = ["ts", "-reply", "-config", "tsa.cnf", "-section", "ours", "-queryfile", "query",
             "-signer", "tsa.pem", "-inkey", "tsa.key", "-out", "reply"]  # fmt: skip
    for step in (request, reply):
        code, output = openssl(authority, *step)
        assert code == 0, output
    proof = base64.b64encode((authority / "reply").read_bytes()).decode()
    now = connection.ops.adapt_datetimefield_value(datetime.now(UTC))
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at) "
        "VALUES (3, 'rfc3161', 'https://tsa.example', %s, %s)",
        *(proof, now),
    )
    package = make_export(tmp_path / "export")
    code, output = inspect(package, "--vkey", KEYS[0], "--known", keep_checkpoint(package, 3))
    assert code == 0, output
    note = package / "checkpoints" / "3"
    command = f"ts -verify -in {note}.tsr -data {note} -CAfile {authority / 'tsa.pem'}"
    code, output = openssl(tmp_path, *command.split())
    assert (code, "Verification: OK" in output) == (0, True), output
    (package / "checkpoints" / "3").write_text("another")
    assert openssl(tmp_path, *command.split())[0] != 0
