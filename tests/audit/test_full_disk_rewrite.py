"""Somebody who may write to every file of the installation rewrites its ledger.

Edited or cut off, linked again, without the old checkpoints, receipts, anchors and checks, signed
anew with the old key or a new one: nothing inside can show it, so nothing inside may vouch for it.
"""

import shutil
from pathlib import Path

import pytest

from audit import anchors, checkpoints, keys
from audit.models import Entry
from tests.audit.signing import forget_checks, relink
from tests.audit.support import guards_down, sql, write_many
from tests.commands import run

pytestmark = pytest.mark.requirement("R05")
MODES = ([], ["--since-anchor"], ["--full"])


@pytest.fixture
def installation(key):
    """Signed and anchored at 11 and 21 of 21 entries, and checked."""
    for number in range(2):
        write_many(10, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        checkpoints.sign()
        anchors.anchor_all()
    run("verify_audit")


def edit():
    relink(5, "DE-014", "DE-015")


def cut():
    with guards_down():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 12")
        sql("DELETE FROM audit_entry WHERE seq > 12")


def wipe(settings):
    """All that the installation itself knows of what was signed and checked."""
    with guards_down():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    forget_checks()
    (settings.ANCHOR_DIR / "checkpoints.log").unlink()


def keep_key():
    pass


def new_key():
    keys.private_file().unlink()
    keys.public_file().unlink()
    keys.publish(keys.load_or_make(keys.private_file()).verifier, 0)


def sign_nothing():
    pass


def sign():
    checkpoints.sign()


def sign_and_anchor():
    checkpoints.sign()
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
    shutil.rmtree(Path(anchors.settings.ANCHOR_DIR), ignore_errors=True)
    for mode in MODES:
        assert run("verify_audit", *mode)[0] == 3
        assert "No checkpoint is signed" in capsys.readouterr().out
