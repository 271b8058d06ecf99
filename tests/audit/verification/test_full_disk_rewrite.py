"""Somebody who may write to every file of the installation rewrites its ledger.

Edited or cut off, linked again, without the old checkpoints, receipts, anchors and checks, signed
anew with the old key or a new one: nothing inside can show it, so nothing inside may vouch for it.
"""

import pytest

from audit.models import Checkpoint, Entry
from audit.signing import anchors, checkpoints, keys
from audit.signing.places import s3 as places_s3
from tests.audit.signers import forget_checks, relink
from tests.audit.support import sql, triggers_removed, write_many
from tests.commands import run

pytestmark = pytest.mark.requirement("R05")
MODES = ([], ["--since-anchor"], ["--full"])


@pytest.fixture
def installation(key):
    """Signed and anchored at 11 and 21 of 21 entries, and checked."""
    for number in range(2):
        write_many(10, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        checkpoints.sign_all()
        anchors.anchor_all()
    run("verify_audit")


def edit():
    relink(5, "DE-014", "DE-015")


def cut():
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 12")
        sql("DELETE FROM audit_entry WHERE seq > 12")


def wipe(settings):
    """All that the installation itself knows of what was signed and checked."""
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    forget_checks()
    (settings.ANCHOR_DIR / "checkpoints.log").unlink()


def keep_key():
    pass


def new_key():
    keys.private_file().unlink()
    keys.public_file().unlink()
    keys.publish_key(keys.load_or_create_key(keys.private_file()).verifier, 0)


def sign_nothing():
    pass


def sign():
    checkpoints.sign_all()


def sign_and_anchor():
    checkpoints.sign_all()
    anchors.anchor_all()


def claim_a_time_stamp():
    sign_and_anchor()
    size = Entry.objects.latest("seq").seq
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT size, 'rfc3161', 'http://tsa.example.org', 'bm90IGEgdG9rZW4=', created_at"
        " FROM audit_checkpoint WHERE size = %s",
        size,
    )


@pytest.mark.parametrize("signing", [sign_nothing, sign, sign_and_anchor, claim_a_time_stamp])
@pytest.mark.parametrize("key_used", [keep_key, new_key])
@pytest.mark.parametrize("change", [edit, cut])
def test_a_rewritten_ledger_is_never_called_intact(
    installation, settings, capsys, change, key_used, signing
):
    change()
    wipe(settings)
    key_used()
    signing()
    for mode in MODES:
        code, why = run("verify_audit", *mode)
        assert code == 3, f"{mode}: {capsys.readouterr().out}{why}"
        assert "only by this installation's own word" in capsys.readouterr().out


def test_without_any_checkpoint_nothing_is_called_intact(db, capsys):
    write_many(3)
    for mode in MODES:
        assert run("verify_audit", *mode)[0] == 3
        assert "No checkpoint is signed" in capsys.readouterr().out


# --- the same where a bucket elsewhere holds the checkpoints: its versions cannot be removed ------


@pytest.fixture
def in_s3(bucket, monkeypatch, settings, request):
    """Anchored in a bucket as well, whose server is another machine. Yields its policy."""
    monkeypatch.setattr(places_s3, "_is_of_this_machine", lambda _family, _address: False)
    request.getfixturevalue("installation")
    assert run("verify_audit", "--full")[0] == 0
    return f"log {keys.published_keys()[-1].verifier.text}\nplace s3\nquorum none\n"


@pytest.mark.parametrize("signing", [sign_nothing, sign, sign_and_anchor, claim_a_time_stamp])
@pytest.mark.parametrize("key_used", [keep_key, new_key])
@pytest.mark.parametrize("change", [edit, cut])
def test_a_rewritten_ledger_whose_checkpoints_are_elsewhere_is_called_broken(
    in_s3, settings, tmp_path, change, key_used, signing
):
    change()
    wipe(settings)
    key_used()
    signing()
    (tmp_path / "policy").write_text(in_s3)
    for mode in ([], ["--full"], ["--policy", str(tmp_path / "policy")]):
        assert run("verify_audit", *mode)[0] == 1, mode


@pytest.mark.parametrize("mode", MODES)
def test_entries_that_were_rewritten_below_their_checkpoints_are_never_called_intact(in_s3, mode):
    """All that was signed stays, and so do the checks: one that reads on from there is fooled."""
    edit()
    head = Entry.objects.get(seq=21).hash
    with triggers_removed():
        sql("UPDATE audit_checkpoint SET head = %s WHERE size = 21", head)
        sql("UPDATE audit_checkrun SET head = %s", head)
    assert run("verify_audit", *mode)[0] == (1 if mode == ["--full"] else 3)


def test_newer_notes_do_not_hide_that_older_ones_contradict_them(in_s3, settings, capsys):
    """What was read back before is known from a check of this installation, which may be forged."""
    edit()
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    (settings.ANCHOR_DIR / "checkpoints.log").unlink()
    write_many(5, subject="document:7")
    sign_and_anchor()
    last = Entry.objects.latest("seq")
    with triggers_removed():
        sql("UPDATE audit_checkrun SET to_seq = %s, head = %s", last.seq, last.hash)
        sql("UPDATE audit_checkpoint SET frontier = ''")  # so that all entries are read, from 1
    assert Checkpoint.objects.count() == 1
    assert run("verify_audit")[0] != 0
    assert run("verify_audit", "--full")[0] == 1


def test_another_bucket_is_not_what_the_policy_pins(in_s3, settings, s3, tmp_path, capsys):
    """Who may change the settings names a bucket of their own; the policy is kept elsewhere."""
    pinned = in_s3.replace("place s3", f"place {anchors.configured_anchors()[1].address}")
    (tmp_path / "policy").write_text(pinned)
    assert run("verify_audit", "--policy", str(tmp_path / "policy"))[0] == 0
    edit()
    wipe(settings)
    settings.ANCHOR_S3_BUCKET = f"{settings.ANCHOR_S3_BUCKET}-mine"
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET, ObjectLockEnabledForBucket=True)
    sign_and_anchor()
    capsys.readouterr()
    assert run("verify_audit", "--policy", str(tmp_path / "policy"))[0] == 3
    assert "which is not configured here" in capsys.readouterr().out
