"""Keys: where they lie, who may read them, and how one follows another."""

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


def test_a_private_key_is_for_its_owner_alone(key):
    assert mode(keys.private_file()) == 0o600
    assert mode(keys.private_file().parent) == 0o700
    assert list(keys.private_file().parent.iterdir()) == [keys.private_file()]


def test_the_first_key_is_on_record_and_published(key):
    [entry] = queries.timeline(f"key:{key.key_id.hex()}")
    assert (entry.event, entry.detail) == ("ledger.key_created", {"vkey": key.text})
    [known] = keys.published_keys()
    assert (known.verifier, known.first, known.last) == (key, 0, None)
    assert keys.public_file().read_text().startswith(f"{key.text} 0 20")


def test_there_is_one_first_key(key):
    with pytest.raises(KeyProblem, match="has a key"):
        key_rotation.create_key(by=Actor.software("test", "operations"))
    assert keys.verifiers() == [key]


def test_a_start_that_died_before_the_key_was_published_goes_on(db, monkeypatch):
    monkeypatch.setattr(keys, "publish_key", die)
    with pytest.raises(KeyboardInterrupt):
        key_rotation.create_key(by=Actor.software("test", "operations"))
    monkeypatch.undo()
    made = keys.load_key(keys.private_file()).verifier
    assert key_rotation.create_key(by=Actor.software("test", "operations")) == made
    assert keys.verifiers() == [made]


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(key, bits):
    keys.private_file().chmod(bits)
    write()
    with pytest.raises(KeyProblem, match="chmod 600"):
        checkpoints.sign_all()


def test_a_folder_in_which_others_may_put_keys_is_refused(key):
    keys.private_file().parent.chmod(0o777)
    with pytest.raises(KeyProblem, match="chmod 700"):
        checkpoints.sign_all()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a private key"),
        (pem(generate_private_key(SECP256R1())), "another kind"),
        (pem(Ed25519PrivateKey.generate()), "does not hold it"),
    ],
)
def test_what_is_not_the_key_in_force_does_not_sign(key, content, said):
    keys.private_file().write_bytes(content)
    with pytest.raises(KeyProblem, match=said):
        checkpoints.sign_all()


def test_a_public_line_that_was_spoiled_is_named(key):
    keys.public_file().write_text(keys.public_file().read_text() + "siteledger+00+AA\n")
    with pytest.raises(KeyProblem, match="line 2"):
        keys.published_keys()


def test_an_origin_that_was_changed_is_not_signed_for(key, settings):
    settings.AUDIT_ORIGIN = "another"
    with pytest.raises(KeyProblem, match="AUDIT_ORIGIN was changed"):
        checkpoints.sign_all()


# --- one key after another ----------------------------------------------------------------------


@pytest.fixture
def rotated(key):
    """The key before, the key after, and the checkpoints: of the old, of both, of the new."""
    write(0)
    checkpoints.sign_all()
    new = key_rotation.rotate_key(by=Actor.software("test", "operations"))
    write(1)
    checkpoints.sign_all()
    return key, new, list(Checkpoint.objects.order_by("size").values_list("note", flat=True))


@pytest.mark.requirement("R05")
def test_a_foreign_verifier_follows_from_one_key_to_the_next(rotated):
    old, new, (before, between, after) = rotated
    for note, vkey in [(before, old), (between, old), (between, new), (after, new)]:
        metamorphic_log.checkpoint_verify(note, [vkey.text])
    for note, vkey in [(before, new), (after, old)]:
        with pytest.raises(metamorphic_log.VerifyError):
            metamorphic_log.checkpoint_verify(note, [vkey.text])


def test_a_rotation_is_on_record_with_both_keys(rotated):
    old, new, (_, between, _) = rotated
    [entry] = queries.timeline(f"key:{new.key_id.hex()}")
    assert (entry.event, entry.actor) == ("ledger.key_rotated", add_process("system:test"))
    assert entry.detail == {"vkey": new.text, "follows": old.text}
    assert signed_note.CheckpointText.parse(between).size == entry.seq
    first, second = keys.published_keys()
    assert (first.verifier, first.last) == (old, entry.seq)
    assert (second.verifier, second.first, second.last) == (new, entry.seq, None)


def test_the_old_private_key_is_removed(rotated):
    _, new, _ = rotated
    assert keys.load_key(keys.private_file()).verifier == new
    assert list(keys.private_file().parent.iterdir()) == [keys.private_file()]


def test_the_old_key_stays_until_its_last_word_is_anchored(key, settings, bucket):
    settings.ANCHOR_S3_ENDPOINT, there = "http://127.0.0.1:9", settings.ANCHOR_S3_ENDPOINT
    with pytest.raises(KeyProblem, match="stays until"):
        key_rotation.rotate_key(by=Actor.software("test", "operations"))
    assert keys.load_key(keys.private_file()).verifier == key
    write(0)
    between, new = checkpoints.sign_all().size - 1, keys.published_keys()[-1].verifier
    assert signed_note.open_note(checkpoints.latest_checkpoint().note, [new])[1] == [
        new
    ]  # work goes on with the new
    settings.ANCHOR_S3_ENDPOINT = there
    assert key_rotation.rotate_key(by=Actor.software("test", "operations")) == new
    assert keys.load_key(keys.private_file()).verifier == new
    assert len(keys.published_keys()) == 2
    [held] = list(place("s3").read_back(0))
    assert signed_note.CheckpointText.parse(held.note).size == between


def test_a_rotation_that_died_before_the_new_key_was_published_goes_on(key, monkeypatch):
    monkeypatch.setattr(keys, "publish_key", die)
    with pytest.raises(KeyboardInterrupt):
        key_rotation.rotate_key(by=Actor.software("test", "operations"))
    monkeypatch.undo()
    write(0)
    assert signed_note.open_note(checkpoints.sign_all().note, [key])[1] == [key]
    new = key_rotation.rotate_key(by=Actor.software("test", "operations"))
    between = Checkpoint.objects.get(size=keys.published_keys()[-1].first)
    assert set(signed_note.open_note(between.note, [key, new])[1]) == {key, new}


def test_a_host_that_still_has_the_old_key_does_not_sign(key, tmp_path, settings):
    kept = keys.private_file().read_bytes()
    key_rotation.rotate_key(by=Actor.software("test", "operations"))
    keys.private_file().write_bytes(kept)
    write()
    with pytest.raises(KeyProblem, match="does not hold it"):
        checkpoints.sign_all()


def test_after_a_loss_a_new_key_signs_and_nobody_vouches_for_it(key):
    checkpoints.sign_all()
    with pytest.raises(KeyProblem, match="not lost"):
        key_rotation.create_key(by=Actor.software("test", "operations"), is_lost=True)
    keys.private_file().unlink()
    new = key_rotation.create_key(by=Actor.software("test", "operations"), is_lost=True)
    assert signed_note.open_note(checkpoints.sign_all().note, [new])[1] == [new]
    assert [known.first for known in keys.published_keys()] == [0, 2]
    assert queries.timeline(f"key:{new.key_id.hex()}")[0].detail["follows"] == key.text


# --- the command --------------------------------------------------------------------------------


def test_the_command_makes_shows_and_replaces_keys(db):
    assert "Give this line" in run("audit_keys", "create")
    old = keys.verifiers()[0]
    assert anchors.list_unanchored() == []
    assert f"{old.text}  from size 0" in run("audit_keys", "show")
    assert "was removed" in run("audit_keys", "rotate")
    shown = run("audit_keys", "show").splitlines()
    assert shown[0].endswith("to size 2")
    assert shown[1].endswith("in force")


def test_the_command_says_what_to_do(db):
    with pytest.raises(CommandError, match=r"Run `manage\.py audit_keys create`"):
        run("audit_keys", "show")
    with pytest.raises(CommandError, match="audit_keys create"):
        run("audit_keys", "rotate")
    run("audit_keys", "create")
    with pytest.raises(CommandError, match="rotate"):
        run("audit_keys", "create")


def test_a_folder_that_cannot_be_written_is_named(db, settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.AUDIT_KEY_FILE = Path(tmp_path / "file" / "audit.pem")
    with pytest.raises(KeyProblem, match="cannot be written"):
        key_rotation.create_key(by=Actor.software("test", "operations"))


def test_a_place_for_public_keys_that_cannot_be_written_is_named(db, settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.ANCHOR_DIR = tmp_path / "file"
    with pytest.raises(KeyProblem, match=r"vkeys\.txt cannot be opened"):
        key_rotation.create_key(by=Actor.software("test", "operations"))
