"""Tests of checkpoints: their content, when they are signed, and when signing is refused.

metamorphic-log, which others wrote in Rust, verifies the signed notes independently.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import metamorphic_log
import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from audit.ledger import merkle_tree, tables
from audit.ledger.chain import BrokenChain
from audit.models import AppendOnly, Checkpoint, Entry
from audit.signing import checkpoints, keys, signed_note
from audit.signing.keys import KeyProblem
from tests.audit.ledger.test_merkle_tree import hashes_of
from tests.audit.support import check_deferred_constraints, sql, triggers_removed, write, write_many


def root_of(size):
    leaves = merkle_tree.Frontier()
    for body in Entry.objects.filter(seq__lte=size).order_by("seq").values_list("body", flat=True):
        leaves.add(merkle_tree.hash_leaf(body))
    return leaves.root().hex()


@pytest.mark.requirement("R05")
def test_a_checkpoint_covers_all_entries(key):
    write_many(4)
    signed = checkpoints.sign_all()
    assert (signed.size, signed.root) == (5, root_of(5))
    assert signed.head == Entry.objects.get(seq=5).hash
    assert checkpoints.get_latest_checkpoint() == signed
    assert checkpoints.count_unsigned() == 0


@pytest.mark.requirement("R05")
def test_another_implementation_accepts_stored_checkpoints_and_their_consistency(key):
    sizes = []
    for n in range(3):
        write(n)
        sizes.append(checkpoints.sign_all().size)
    stored = [Checkpoint.objects.get(size=size).note for size in sizes]
    for size, note in zip(sizes, stored, strict=True):
        head = metamorphic_log.checkpoint_verify(note, [key.text])
        assert (head.origin, head.size, head.root.hex()) == ("siteledger", size, root_of(size))
    lines = Entry.objects.order_by("seq").values_list("body", flat=True)
    leaves = [merkle_tree.hash_leaf(line) for line in lines]
    spans = merkle_tree.list_consistency_path(sizes[0], sizes[-1])
    path = hashes_of(spans, leaves)
    metamorphic_log.checkpoint_verify_consistency(stored[0], stored[-1], [key.text], path)


def test_signing_reads_only_new_entries(key, django_assert_max_num_queries):
    write_many(20)
    checkpoints.sign_all()
    write(20)
    read = []

    def watch(execute, statement, values, *rest):
        if '"body"' in statement:
            read.append(values)
        return execute(statement, values, *rest)

    with connection.execute_wrapper(watch):
        checkpoints.sign_all()
    assert read == [(20,)]  # the rows after entry 20: the last signed entry and the new one


def test_the_same_entries_are_not_signed_again(key):
    checkpoints.sign_all()
    assert checkpoints.sign_all() is None
    assert Checkpoint.objects.count() == 1


def test_nothing_is_signed_without_a_key(db):
    write()
    with pytest.raises(KeyProblem, match="audit_keys create"):
        checkpoints.sign_all()
    assert checkpoints.get_latest_checkpoint() is None


# --- when a checkpoint is due -------------------------------------------------------------------


def test_a_check_without_new_entries_takes_one_query(key, django_assert_num_queries):
    checkpoints.sign_all()
    with django_assert_num_queries(1):
        assert checkpoints.sign_if_due() is None


def test_a_few_new_entries_are_not_signed_at_once(key):
    checkpoints.sign_all()
    write()
    assert checkpoints.sign_if_due() is None


@pytest.mark.parametrize("event", ["batch.completed", "batch.failed", "batch.cancelled"])
def test_the_end_of_a_batch_is_signed_at_once(key, event):
    checkpoints.sign_all()
    write(0, subject="batch:1", event=event)
    assert checkpoints.sign_if_due().size == 2
    write(1, subject="batch:1", event="batch.seen")
    assert checkpoints.sign_if_due() is None


def test_entries_are_signed_when_their_number_reaches_the_setting(key, settings):
    settings.AUDIT_CHECKPOINT_ENTRIES = 3
    checkpoints.sign_all()
    write_many(2)
    assert checkpoints.sign_if_due() is None
    write(2)
    assert checkpoints.sign_if_due().size == 4


def test_entries_are_signed_when_the_oldest_has_waited_for_the_maximum_time(
    key, settings, monkeypatch
):
    checkpoints.sign_all()
    write()
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=59))
    assert checkpoints.sign_if_due() is None
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=61))
    assert checkpoints.sign_if_due().size == 2


# --- ledgers that are not signed ----------------------------------------------------------------


@pytest.fixture
def signed(key):
    write_many(9)
    return checkpoints.sign_all()


@pytest.mark.requirement("R05")
def test_a_removed_end_contradicts_the_checkpoint_and_is_not_signed(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 7")
    assert "the last of them is missing" in checkpoints.find_fault()
    with pytest.raises(BrokenChain, match="10 entries were signed"):
        checkpoints.sign_all()


@pytest.mark.requirement("R05")
def test_new_entries_after_a_removed_end_are_not_signed(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 7")
    write_many(5, subject="document:2")
    with pytest.raises(BrokenChain, match="another content"):
        checkpoints.sign_all()
    assert checkpoints.get_latest_checkpoint() == signed


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("column", ["body", "hash", "prev"])
def test_changed_new_entries_are_not_signed(signed, column):
    write_many(5, subject="document:2")
    with triggers_removed():
        # A hash is rotated by one character, because one hash in sixty contains no "a".
        rotated = f"substr({column}, 2) || substr({column}, 1, 1)"
        changed = "replace(body, 'a', 'b')" if column == "body" else rotated
        sql(f"UPDATE audit_entry SET {column} = {changed} WHERE seq = 13")  # noqa: S608 - constants
    # The column `prev` is a copy, which `audit.verification.verify` compares. The line is valid.
    if column == "prev":
        assert checkpoints.sign_all().size == 15
        return
    with pytest.raises(BrokenChain) as broken:
        checkpoints.sign_all()
    assert broken.value.found.seq == 13
    assert checkpoints.get_latest_checkpoint() == signed


def test_a_missing_new_entry_is_reported(signed):
    write_many(5, subject="document:2")
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq = 13")
    with pytest.raises(BrokenChain, match="gap"):
        checkpoints.sign_all()


def test_a_complete_ledger_has_no_fault(signed):
    assert checkpoints.find_fault() == ""


# --- several signers at the same time -----------------------------------------------------------


def test_one_of_two_concurrent_signers_writes_the_checkpoint(key, monkeypatch):
    write()

    def sign_meanwhile():
        monkeypatch.undo()
        assert checkpoints.sign_all().size == 2

    monkeypatch.setattr(checkpoints, "flush_barrier", sign_meanwhile)
    assert checkpoints.sign_all() is None
    assert Checkpoint.objects.count() == 1


def test_a_database_error_without_a_concurrent_signer_is_raised(key, monkeypatch):
    def refuse(table, _rows):
        insert(table, [(99, "0" * 64, "", "", "", timezone.now().isoformat())])

    insert = tables.insert
    monkeypatch.setattr(tables, "insert", refuse)
    with pytest.raises(DatabaseError):
        checkpoints.sign_all()
    check_deferred_constraints()


def test_concurrent_threads_sign_valid_checkpoints(transactional_db, key):
    def work(name):
        for n in range(6):
            write(n, subject=name)
            checkpoints.sign_all()
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, "abcd")) == [None] * 4  # no thread raised an exception
    checkpoints.sign_all()
    assert checkpoints.count_unsigned() == 0
    for checkpoint in Checkpoint.objects.all():
        assert checkpoint.root == root_of(checkpoint.size)


SIGNER = """
import sys, django
django.setup()
from django.conf import settings
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
settings.ANCHOR_DIR, settings.AUDIT_KEY_FILE = sys.argv[2:4]
from audit.signing import checkpoints
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
print("ready", flush=True)
sys.stdin.readline()
for n in range(8):
    with ledger():
        record("document.archived", subject=f"by:{sys.argv[4]}", n=n, by=Actor("system:worker"))
    checkpoints.sign_all()
"""


@pytest.mark.slow
def test_concurrent_processes_sign_valid_checkpoints(transactional_db, key):
    name = str(connection.settings_dict["NAME"])
    places = (name, str(keys.get_public_file().parent), str(keys.get_private_file()))
    signers = [
        subprocess.Popen(
            [sys.executable, "-c", SIGNER, *places, writer],
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in ("ann", "ben")
    ]
    for signer in signers:
        assert signer.stdout.readline() == "ready\n"
    for signer in signers:
        signer.communicate("go\n")
    assert [signer.returncode for signer in signers] == [0, 0]
    checkpoints.sign_all()
    assert checkpoints.count_unsigned() == 0
    for checkpoint in Checkpoint.objects.all():
        assert checkpoint.root == root_of(checkpoint.size)
        assert signed_note.open_note(checkpoint.note, [key])[1] == [key]


def test_a_checkpoint_cannot_be_deleted(signed):
    with pytest.raises(AppendOnly):
        Checkpoint.objects.all().delete()


def test_entries_are_on_disk_before_they_are_signed(key, monkeypatch):
    statements, insert = [], tables.insert

    def watch(execute, statement, *rest):
        statements.append(statement)
        return execute(statement, *rest)

    def watch_insert(*arguments):
        statements.append("INSERT")
        insert(*arguments)

    monkeypatch.setattr(tables, "insert", watch_insert)
    with connection.execute_wrapper(watch):
        checkpoints.sign_all()
    if connection.vendor != "postgresql":
        assert not any("pg_logical" in statement for statement in statements)
        return
    flushed = next(i for i, s in enumerate(statements) if "pg_logical_emit_message(true" in s)
    read = max(i for i, s in enumerate(statements) if '"body"' in s)
    inserted = statements.index("INSERT")
    assert read < flushed < inserted
