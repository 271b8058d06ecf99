"""Tests that no ledger is called intact after an attacker rewrote every file of the installation.

The attacker edits or removes entries, recomputes the chain, deletes the old checkpoints, receipts,
anchored notes and check runs, and signs with the old key or a new one. Nothing inside the
installation can reveal this, so nothing inside may confirm the ledger.
"""

import pytest

from audit.models import Checkpoint, Entry
from audit.signing import anchors, checkpoints, keys
from audit.signing.places import s3 as places_s3
from tests.audit.signers import delete_check_runs, relink
from tests.audit.support import sql, triggers_removed, write_many
from tests.commands import run

pytestmark = pytest.mark.requirement("R05")
MODES = ([], ["--since-anchor"], ["--full"])


@pytest.fixture
def installation(key):
    """Write 21 entries, with anchored checkpoints of 11 and 21 entries, and verify them."""
    for number in range(2):
        write_many(10, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        checkpoints.sign_all()
        anchors.anchor_all()
    run("verify_audit")


def edit_an_entry():
    relink(5, "DE-014", "DE-015")


def remove_the_end():
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 12")
        sql("DELETE FROM audit_entry WHERE seq > 12")


def delete_evidence(settings):
    """Delete everything that the installation itself stores about checkpoints and checks."""
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    delete_check_runs()
    (settings.ANCHOR_DIR / "checkpoints.log").unlink()


def keep_key():
    pass


def replace_key():
    keys.get_private_file().unlink()
    keys.get_public_file().unlink()
    keys.publish_key(keys.load_or_create_key(keys.get_private_file()).verifier, 0)


def sign_nothing():
    pass


def sign():
    checkpoints.sign_all()


def sign_and_anchor():
    checkpoints.sign_all()
    anchors.anchor_all()


def insert_time_stamp():
    sign_and_anchor()
    size = Entry.objects.latest("seq").seq
    sql(
        "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT size, 'rfc3161', 'http://tsa.example.org', 'bm90IGEgdG9rZW4=', created_at"
        " FROM audit_checkpoint WHERE size = %s",
        size,
    )


@pytest.mark.parametrize("signing", [sign_nothing, sign, sign_and_anchor, insert_time_stamp])
@pytest.mark.parametrize("key_used", [keep_key, replace_key])
@pytest.mark.parametrize("change", [edit_an_entry, remove_the_end])
def test_a_rewritten_ledger_is_never_called_intact(
    installation, settings, capsys, change, key_used, signing
):
    change()
    delete_evidence(settings)
    key_used()
    signing()
    for mode in MODES:
        code, error = run("verify_audit", *mode)
        assert code == 3, f"{mode}: {capsys.readouterr().out}{error}"
        assert "not confirmed by an independent anchor" in capsys.readouterr().out


def test_a_ledger_without_a_checkpoint_is_not_called_intact(db, capsys):
    write_many(3)
    for mode in MODES:
        assert run("verify_audit", *mode)[0] == 3
        assert "No checkpoint is signed" in capsys.readouterr().out


# --- the same attacks with checkpoints in an independent bucket, whose versions cannot be deleted -


@pytest.fixture
def bucket_policy(bucket, monkeypatch, settings, request):
    """Anchor the checkpoints also in a bucket on another machine. Return a policy with it."""
    monkeypatch.setattr(places_s3, "_is_of_this_machine", lambda _family, _address: False)
    request.getfixturevalue("installation")
    assert run("verify_audit", "--full")[0] == 0
    return f"log {keys.read_published_keys()[-1].verifier.text}\nplace s3\nquorum none\n"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("signing", [sign_nothing, sign, sign_and_anchor, insert_time_stamp])
@pytest.mark.parametrize("key_used", [keep_key, replace_key])
@pytest.mark.parametrize("change", [edit_an_entry, remove_the_end])
def test_a_rewritten_ledger_with_checkpoints_in_a_bucket_is_called_broken(
    bucket_policy, settings, tmp_path, change, key_used, signing
):
    change()
    delete_evidence(settings)
    key_used()
    signing()
    (tmp_path / "policy").write_text(bucket_policy)
    for mode in ([], ["--full"], ["--policy", str(tmp_path / "policy")]):
        assert run("verify_audit", *mode)[0] == 1, mode


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
def test_rewritten_entries_with_unchanged_checkpoints_are_never_called_intact(bucket_policy, mode):
    """Only a full check detects this, because others continue at the last checkpoint or check."""
    edit_an_entry()
    head = Entry.objects.get(seq=21).hash
    with triggers_removed():
        sql("UPDATE audit_checkpoint SET head = %s WHERE size = 21", head)
        sql("UPDATE audit_checkrun SET head = %s", head)
    assert run("verify_audit", *mode)[0] == (1 if mode == ["--full"] else 3)


def test_newer_notes_do_not_hide_contradictions_of_older_ones(bucket_policy, settings, capsys):
    """A check run of this installation says which notes were read back before. It can be forged."""
    edit_an_entry()
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


def test_another_bucket_does_not_satisfy_the_policy(bucket_policy, settings, s3, tmp_path, capsys):
    """An attacker who can change the settings may name another bucket. The policy detects it."""
    policy = bucket_policy.replace(
        "place s3", f"place {anchors.list_configured_anchors()[1].address}"
    )
    (tmp_path / "policy").write_text(policy)
    assert run("verify_audit", "--policy", str(tmp_path / "policy"))[0] == 0
    edit_an_entry()
    delete_evidence(settings)
    settings.ANCHOR_S3_BUCKET = f"{settings.ANCHOR_S3_BUCKET}-mine"
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET, ObjectLockEnabledForBucket=True)
    sign_and_anchor()
    capsys.readouterr()
    assert run("verify_audit", "--policy", str(tmp_path / "policy"))[0] == 3
    assert "which is not configured here" in capsys.readouterr().out
