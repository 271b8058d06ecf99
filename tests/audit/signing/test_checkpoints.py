"""Signed heads: what is signed, when, and what is not. Foreign eyes: metamorphic-log."""

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


def queries_of(call, django_assert_num_queries, count):
    with django_assert_num_queries(count):
        return call()


@pytest.mark.requirement("R05")
def test_a_checkpoint_stands_over_all_entries(key):
    write_many(4)
    signed = checkpoints.sign_all()
    assert (signed.size, signed.root) == (5, root_of(5))
    assert signed.head == Entry.objects.get(seq=5).hash
    assert checkpoints.latest_checkpoint() == signed
    assert checkpoints.count_unsigned() == 0


@pytest.mark.requirement("R05")
def test_a_foreign_verifier_accepts_what_is_stored_and_that_it_only_grew(key):
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
    spans = merkle_tree.consistency_path(sizes[0], sizes[-1])
    path = hashes_of(spans, leaves)
    metamorphic_log.checkpoint_verify_consistency(stored[0], stored[-1], [key.text], path)


def test_only_new_entries_are_read(key, django_assert_max_num_queries):
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
    assert read == [(20,)]  # what comes after it: the last one that was signed, and the new one


def test_nothing_new_is_not_signed_again(key):
    checkpoints.sign_all()
    assert checkpoints.sign_all() is None
    assert Checkpoint.objects.count() == 1


def test_without_a_key_nothing_is_signed(db):
    write()
    with pytest.raises(KeyProblem, match="audit_keys create"):
        checkpoints.sign_all()
    assert checkpoints.latest_checkpoint() is None


# --- when ---------------------------------------------------------------------------------------


def test_nothing_new_costs_one_query(key, django_assert_num_queries):
    checkpoints.sign_all()
    assert queries_of(checkpoints.sign_if_due, django_assert_num_queries, 1) is None


def test_a_few_new_entries_wait(key):
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


def test_so_many_entries_are_signed(key, settings):
    settings.AUDIT_CHECKPOINT_ENTRIES = 3
    checkpoints.sign_all()
    write_many(2)
    assert checkpoints.sign_if_due() is None
    write(2)
    assert checkpoints.sign_if_due().size == 4


def test_the_oldest_unsigned_entry_does_not_wait_longer_than_it_may(key, settings, monkeypatch):
    checkpoints.sign_all()
    write()
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=59))
    assert checkpoints.sign_if_due() is None
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=61))
    assert checkpoints.sign_if_due().size == 2


# --- what is not signed -------------------------------------------------------------------------


@pytest.fixture
def signed(key):
    write_many(9)
    return checkpoints.sign_all()


@pytest.mark.requirement("R05")
def test_an_end_that_was_cut_off_shows_against_the_checkpoint(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 7")
    assert "the last of them is gone" in checkpoints.find_fault()
    with pytest.raises(BrokenChain, match="10 entries were signed"):
        checkpoints.sign_all()


@pytest.mark.requirement("R05")
def test_new_entries_after_a_cut_end_are_not_signed(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 7")
    write_many(5, subject="document:2")
    with pytest.raises(BrokenChain, match="another content"):
        checkpoints.sign_all()
    assert checkpoints.latest_checkpoint() == signed


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("column", ["body", "hash", "prev"])
def test_new_entries_that_were_changed_are_not_signed(signed, column):
    write_many(5, subject="document:2")
    with triggers_removed():
        # One hash in sixty has no "a" in it: the first character goes to the end.
        turned = f"substr({column}, 2) || substr({column}, 1, 1)"
        changed = "replace(body, 'a', 'b')" if column == "body" else turned
        sql(f"UPDATE audit_entry SET {column} = {changed} WHERE seq = 13")  # noqa: S608 - our own words
    if column == "prev":  # a copy, which `audit.verification.verify` compares; the line is whole
        assert checkpoints.sign_all().size == 15
        return
    with pytest.raises(BrokenChain) as broken:
        checkpoints.sign_all()
    assert broken.value.found.seq == 13
    assert checkpoints.latest_checkpoint() == signed


def test_a_new_entry_that_is_missing_is_named(signed):
    write_many(5, subject="document:2")
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq = 13")
    with pytest.raises(BrokenChain, match="gap"):
        checkpoints.sign_all()


def test_a_whole_ledger_has_no_fault(signed):
    assert checkpoints.find_fault() == ""


# --- who ----------------------------------------------------------------------------------------


def test_of_two_that_sign_at_once_one_wins_and_the_other_leaves(key, monkeypatch):
    write()

    def meanwhile_another_signs():
        monkeypatch.undo()
        assert checkpoints.sign_all().size == 2

    monkeypatch.setattr(checkpoints, "flush_barrier", meanwhile_another_signs)
    assert checkpoints.sign_all() is None
    assert Checkpoint.objects.count() == 1


def test_a_refusal_with_no_other_host_in_it_is_not_passed_over(key, monkeypatch):
    def refuse(table, _rows):
        insert(table, [(99, "0" * 64, "", "", "", timezone.now().isoformat())])

    insert = tables.insert
    monkeypatch.setattr(tables, "insert", refuse)
    with pytest.raises(DatabaseError):
        checkpoints.sign_all()
    check_deferred_constraints()


def test_threads_that_sign_at_once_make_one_chain_of_checkpoints(transactional_db, key):
    def work(name):
        for n in range(6):
            write(n, subject=name)
            checkpoints.sign_all()
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, "abcd")) == [None] * 4  # and no exception comes out
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


def test_processes_that_sign_at_once_make_one_chain_of_checkpoints(transactional_db, key):
    name = str(connection.settings_dict["NAME"])
    where = (name, str(keys.public_file().parent), str(keys.private_file()))
    signers = [
        subprocess.Popen(
            [sys.executable, "-c", SIGNER, *where, who],
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in ("ann", "ben")
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


def test_a_checkpoint_is_written_once(signed):
    with pytest.raises(AppendOnly):
        Checkpoint.objects.all().delete()


def test_what_was_read_is_on_disk_before_it_is_signed(key, monkeypatch):
    statements, insert = [], tables.insert

    def watch(execute, statement, *rest):
        statements.append(statement)
        return execute(statement, *rest)

    def watch_insert(*what):
        statements.append("INSERT")
        insert(*what)

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
