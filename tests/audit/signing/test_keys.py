"""Tests of the ledger's keys: their files and permissions, and the rotation of keys."""

import stat
from io import StringIO
from pathlib import Path

import metamorphic_log
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.core.management import CommandError, call_command

from audit.ledger import queries
from audit.ledger.actors import Actor, add_process
from audit.models import Checkpoint
from audit.signing import (
    anchors,
    checkpoints,
    key_rotation,
    keys,
    signed_note,
)
from audit.signing.keys import KeyProblem
from tests.audit.signing.test_places import place
from tests.audit.support import write


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def die(*_arguments):
    raise KeyboardInterrupt


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def run(*arguments):
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_only_the_owner_can_read_a_private_key(key):
    assert mode(keys.get_private_file()) == 0o600
    assert mode(keys.get_private_file().parent) == 0o700
    assert list(keys.get_private_file().parent.iterdir()) == [keys.get_private_file()]


def test_the_first_key_is_recorded_and_published(key):
    [entry] = queries.list_entries(f"key:{key.key_id.hex()}")
    assert (entry.event, entry.detail) == ("ledger.key_created", {"vkey": key.text})
    [known] = keys.read_published_keys()
    assert (known.verifier, known.first, known.last) == (key, 0, None)
    assert keys.get_public_file().read_text().startswith(f"{key.text} 0 20")


def test_a_second_first_key_is_refused(key):
    with pytest.raises(KeyProblem, match="has a key"):
        key_rotation.create_key(by=Actor.software("test", "operations"))
    assert keys.read_verifiers() == [key]


def test_a_key_whose_publication_was_interrupted_is_published_by_the_next_attempt(db, monkeypatch):
    monkeypatch.setattr(keys, "publish_key", die)
    with pytest.raises(KeyboardInterrupt):
        key_rotation.create_key(by=Actor.software("test", "operations"))
    monkeypatch.undo()
    made = keys.load_key(keys.get_private_file()).verifier
    assert key_rotation.create_key(by=Actor.software("test", "operations")) == made
    assert keys.read_verifiers() == [made]


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(key, bits):
    keys.get_private_file().chmod(bits)
    write()
    with pytest.raises(KeyProblem, match="chmod 600"):
        checkpoints.sign_all()


def test_a_key_folder_that_others_can_write_to_is_refused(key):
    keys.get_private_file().parent.chmod(0o777)
    with pytest.raises(KeyProblem, match="chmod 700"):
        checkpoints.sign_all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a private key"),
        (pem(generate_private_key(SECP256R1())), "another kind"),
        (pem(Ed25519PrivateKey.generate()), "does not contain it"),
    ],
)
def test_only_the_current_key_signs(key, content, message):
    keys.get_private_file().write_bytes(content)
    with pytest.raises(KeyProblem, match=message):
        checkpoints.sign_all()


def test_an_invalid_line_in_the_file_of_public_keys_is_reported_with_its_number(key):
    keys.get_public_file().write_text(keys.get_public_file().read_text() + "siteledger+00+AA\n")
    with pytest.raises(KeyProblem, match="line 2"):
        keys.read_published_keys()


def test_a_changed_origin_is_refused(key, settings):
    settings.AUDIT_ORIGIN = "another"
    with pytest.raises(KeyProblem, match="AUDIT_ORIGIN was changed"):
        checkpoints.sign_all()


# --- rotation -----------------------------------------------------------------------------------


@pytest.fixture
def rotated(key):
    """Return the old key, the new key, and the notes signed by the old, by both and by the new."""
    write(0)
    checkpoints.sign_all()
    new = key_rotation.rotate_key(by=Actor.software("test", "operations"))
    write(1)
    checkpoints.sign_all()
    return key, new, list(Checkpoint.objects.order_by("size").values_list("note", flat=True))


@pytest.mark.requirement("R05")
def test_another_implementation_accepts_the_checkpoints_of_a_key_rotation(rotated):
    old, new, (before, between, after) = rotated
    for note, vkey in [(before, old), (between, old), (between, new), (after, new)]:
        metamorphic_log.checkpoint_verify(note, [vkey.text])
    for note, vkey in [(before, new), (after, old)]:
        with pytest.raises(metamorphic_log.VerifyError):
            metamorphic_log.checkpoint_verify(note, [vkey.text])


def test_a_rotation_is_recorded_with_both_keys(rotated):
    old, new, (_, between, _) = rotated
    [entry] = queries.list_entries(f"key:{new.key_id.hex()}")
    assert (entry.event, entry.actor) == ("ledger.key_rotated", add_process("system:test"))
    assert entry.detail == {"vkey": new.text, "follows": old.text}
    assert signed_note.CheckpointText.parse(between).size == entry.seq
    first, second = keys.read_published_keys()
    assert (first.verifier, first.last) == (old, entry.seq)
    assert (second.verifier, second.first, second.last) == (new, entry.seq, None)


def test_a_rotation_removes_the_old_private_key(rotated):
    _, new, _ = rotated
    assert keys.load_key(keys.get_private_file()).verifier == new
    assert list(keys.get_private_file().parent.iterdir()) == [keys.get_private_file()]


def test_the_old_private_key_is_kept_until_its_last_checkpoint_is_anchored(key, settings, bucket):
    settings.ANCHOR_S3_ENDPOINT, endpoint = "http://127.0.0.1:9", settings.ANCHOR_S3_ENDPOINT
    with pytest.raises(KeyProblem, match="stays until"):
        key_rotation.rotate_key(by=Actor.software("test", "operations"))
    assert keys.load_key(keys.get_private_file()).verifier == key
    write(0)
    between, new = checkpoints.sign_all().size - 1, keys.read_published_keys()[-1].verifier
    latest = checkpoints.get_latest_checkpoint()
    assert signed_note.open_note(latest.note, [new])[1] == [new], "the new key signs already"
    settings.ANCHOR_S3_ENDPOINT = endpoint
    assert key_rotation.rotate_key(by=Actor.software("test", "operations")) == new
    assert keys.load_key(keys.get_private_file()).verifier == new
    assert len(keys.read_published_keys()) == 2
    [anchored] = list(place("s3").read_back(0))
    assert signed_note.CheckpointText.parse(anchored.note).size == between


def test_a_rotation_interrupted_before_the_publication_of_the_new_key_can_be_repeated(
    key, monkeypatch
):
    monkeypatch.setattr(keys, "publish_key", die)
    with pytest.raises(KeyboardInterrupt):
        key_rotation.rotate_key(by=Actor.software("test", "operations"))
    monkeypatch.undo()
    write(0)
    assert signed_note.open_note(checkpoints.sign_all().note, [key])[1] == [key]
    new = key_rotation.rotate_key(by=Actor.software("test", "operations"))
    between = Checkpoint.objects.get(size=keys.read_published_keys()[-1].first)
    assert set(signed_note.open_note(between.note, [key, new])[1]) == {key, new}


def test_a_host_with_the_old_private_key_does_not_sign(key, tmp_path, settings):
    old = keys.get_private_file().read_bytes()
    key_rotation.rotate_key(by=Actor.software("test", "operations"))
    keys.get_private_file().write_bytes(old)
    write()
    with pytest.raises(KeyProblem, match="does not contain it"):
        checkpoints.sign_all()


def test_a_new_key_replaces_a_lost_one_without_its_signature(key):
    checkpoints.sign_all()
    with pytest.raises(KeyProblem, match="not lost"):
        key_rotation.create_key(by=Actor.software("test", "operations"), is_lost=True)
    keys.get_private_file().unlink()
    new = key_rotation.create_key(by=Actor.software("test", "operations"), is_lost=True)
    assert signed_note.open_note(checkpoints.sign_all().note, [new])[1] == [new]
    assert [known.first for known in keys.read_published_keys()] == [0, 2]
    assert queries.list_entries(f"key:{new.key_id.hex()}")[0].detail["follows"] == key.text


# --- the command --------------------------------------------------------------------------------


def test_the_command_creates_shows_and_rotates_keys(db):
    assert "Give this line" in run("audit_keys", "create")
    old = keys.read_verifiers()[0]
    assert anchors.list_unanchored() == []
    assert f"{old.text}  from size 0" in run("audit_keys", "show")
    assert "was removed" in run("audit_keys", "rotate")
    key_lines = run("audit_keys", "show").splitlines()
    assert key_lines[0].endswith("to size 2")
    assert key_lines[1].endswith("in force")


def test_errors_of_the_command_name_the_command_to_run(db):
    with pytest.raises(CommandError, match=r"Run `manage\.py audit_keys create`"):
        run("audit_keys", "show")
    with pytest.raises(CommandError, match="audit_keys create"):
        run("audit_keys", "rotate")
    run("audit_keys", "create")
    with pytest.raises(CommandError, match="rotate"):
        run("audit_keys", "create")


def test_a_key_folder_that_cannot_be_written_to_is_reported(db, settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.AUDIT_KEY_FILE = Path(tmp_path / "file" / "audit.pem")
    with pytest.raises(KeyProblem, match="cannot be written"):
        key_rotation.create_key(by=Actor.software("test", "operations"))


def test_a_file_of_public_keys_that_cannot_be_written_is_reported(db, settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.ANCHOR_DIR = tmp_path / "file"
    with pytest.raises(KeyProblem, match=r"vkeys\.txt cannot be opened"):
        key_rotation.create_key(by=Actor.software("test", "operations"))
