"""Rows and ledger tell the same, or verification says where they do not."""

import pytest

from audit import verify
from ingestion.models import Document, Finding
from ingestion.reconcile import rows_agree_with_the_ledger
from tests.factories import make_batch

pytestmark = pytest.mark.django_db


def test_what_the_machine_did_agrees():
    make_batch(documents=3)
    assert list(rows_agree_with_the_ledger()) == []


def test_a_state_that_was_changed_behind_the_ledgers_back_is_named():
    document = make_batch().documents.get()
    Document.objects.filter(pk=document.pk).update(state="HELD")
    said = f"{document.subject} is HELD, but its last entry says RECEIVED."
    assert list(rows_agree_with_the_ledger()) == [said]
    assert said in verify.verify().problems
    Document.objects.filter(pk=document.pk).update(state="RECEIVED")


def test_a_row_that_was_deleted_is_missed():
    document = make_batch(documents=2).documents.first()
    gone = document.subject
    kept = Document.objects.filter(pk=document.pk).values().get()
    Finding.objects.filter(document=document).delete()
    Document.objects.filter(pk=document.pk).delete()
    assert list(rows_agree_with_the_ledger()) == [f"{gone} is in the ledger, but its row is gone."]
    Document.objects.create(**kept)
