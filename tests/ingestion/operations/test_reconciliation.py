"""Tests of the check that rows agree with the ledger."""

import pytest

from audit.ledger import queries
from audit.verification import verify
from ingestion.models import Document, Finding
from ingestion.operations import reconciliation
from ingestion.operations.reconciliation import check_document_rows_against_ledger
from tests import steps
from tests.factories import make_batch, make_filed, make_leased, make_site, verdict

pytestmark = pytest.mark.django_db


def test_recorded_changes_agree():
    make_batch(documents=3)
    assert list(check_document_rows_against_ledger()) == []


def test_a_state_that_was_changed_without_an_entry_is_named():
    document = make_batch().documents.get()
    Document.objects.filter(pk=document.pk).update(state="HELD")
    problem = f"{document.subject} is HELD, but its last entry records RECEIVED."
    assert list(check_document_rows_against_ledger()) == [problem]
    assert problem in verify.verify_ledger().problems
    Document.objects.filter(pk=document.pk).update(state="RECEIVED")


def test_a_deleted_row_is_named():
    document = make_batch(documents=2).documents.first()
    subject = document.subject
    deleted_row = Document.objects.filter(pk=document.pk).values().get()
    Finding.objects.filter(document=document).delete()
    Document.objects.filter(pk=document.pk).delete()
    assert list(check_document_rows_against_ledger()) == [
        f"{subject} is in the ledger, but its row is missing."
    ]
    Document.objects.create(**deleted_row)


def test_a_hash_that_was_changed_without_an_entry_is_named():
    document = make_filed(make_site(), "cv", "ab" * 32)
    Document.objects.filter(pk=document.pk).update(sha256="cd" * 32)
    problem = f"{document.subject} was filed with SHA-256 {'ab' * 32}, but its row has {'cd' * 32}."
    assert list(check_document_rows_against_ledger()) == [problem]
    Document.objects.filter(pk=document.pk).update(sha256="ab" * 32)


def test_a_document_that_changes_during_the_check_agrees(monkeypatch):
    chunk, lease = make_leased()
    document = chunk.documents.get()
    read_states = queries.get_last_states

    def change_state_first(subjects):
        if document.subject in subjects:
            monkeypatch.setattr(queries, "get_last_states", read_states)
            steps.start_checking(document.pk, lease, sha256="ab" * 32, size=10)
        return read_states(subjects)

    monkeypatch.setattr(queries, "get_last_states", change_state_first)
    assert list(check_document_rows_against_ledger()) == []
    document.refresh_from_db()
    assert document.state == "VALIDATING"


def test_only_subjects_with_entries_since_the_start_are_checked():
    old, new = (make_batch().documents.get() for _ in range(2))
    since = queries.list_entries(old.subject)[-1].seq
    Document.objects.update(state="HELD")
    problem = f"{new.subject} is HELD, but its last entry records RECEIVED."
    assert list(check_document_rows_against_ledger(since)) == [problem]
    Document.objects.update(state="RECEIVED")


def test_a_document_that_changes_twice_during_the_check_agrees(monkeypatch):
    chunk, lease = make_leased()
    document = chunk.documents.get()
    read_states, read_rows, calls = queries.get_last_states, reconciliation._read_rows, []

    def change_before_first_read(subjects):
        if document.subject in subjects and not calls:
            calls.append("first")
            steps.start_checking(document.pk, lease, sha256="ab" * 32, size=10)
        return read_states(subjects)

    def change_after_second_read(kind, model, subjects):
        found = read_rows(kind, model, subjects)
        if calls == ["first"]:
            calls.append("second")
            steps.conclude(document.pk, lease, verdict(), pages=1)
        return found

    monkeypatch.setattr(queries, "get_last_states", change_before_first_read)
    monkeypatch.setattr(reconciliation, "_read_rows", change_after_second_read)
    assert list(check_document_rows_against_ledger()) == []
    document.refresh_from_db()
    assert (document.state, calls) == ("ARCHIVED", ["first", "second"])
