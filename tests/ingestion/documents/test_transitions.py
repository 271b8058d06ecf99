"""Tests of the moves of documents: state and ledger entry change together, once."""

import uuid
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.core.errors import LeaseLost
from ingestion.core.ports import EarlyDecision, Fetched
from ingestion.core.states import DocumentState, IllegalMove
from ingestion.dispatch import worker_steps
from ingestion.documents import transitions
from ingestion.models import Chunk, Document
from ingestion.rules.checks.verdict import CheckedDocument
from ingestion.rules.findings import RuleFinding
from tests import steps
from tests.factories import make_filed, make_leased, make_site, verdict

pytestmark = pytest.mark.django_db
SHA = "a" * 64


def leased_document():
    chunk, lease = make_leased()
    return chunk.documents.get(), lease


def checked(document, lease):
    assert steps.start_checking(document.pk, lease, sha256=SHA, size=10)


def events(document):
    return [entry.event for entry in list_entries(document.subject)]


def test_a_filed_document_has_an_entry_for_every_step():
    document, lease = leased_document()
    checked(document, lease)
    steps.conclude(document.pk, lease, verdict(), pages=2)
    document.refresh_from_db()
    assert (document.state, document.sha256, document.pages) == ("ARCHIVED", SHA, 2)
    assert events(document) == ["document.received", "document.checking", "document.filed"]


def test_a_rejection_stores_its_reason_and_all_findings():
    document, lease = leased_document()
    checked(document, lease)
    missing, soon = RuleFinding("SIGNATURE_MISSING", page=2), RuleFinding("EXPIRES_SOON")
    steps.conclude(document.pk, lease, verdict("REJECTED", missing, soon), pages=2)
    document.refresh_from_db()
    assert document.code == "SIGNATURE_MISSING"
    assert list(document.findings.values_list("code", "is_primary")) == [
        ("SIGNATURE_MISSING", True),
        ("EXPIRES_SOON", False),
    ]
    assert list_entries(document.subject)[-1].code == "SIGNATURE_MISSING"


def test_the_same_bytes_with_the_same_doc_id_are_filed_once():
    site = make_site()
    make_filed(site, "doc-1", SHA)
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    assert not steps.start_checking(document.pk, lease, sha256=SHA, size=10)
    document.refresh_from_db()
    assert (document.state, document.code) == ("DEDUPED", "DUPLICATE_CONTENT")
    assert document.duplicate_of.doc_id == "doc-1"


def test_a_document_whose_twin_was_filed_meanwhile_is_a_duplicate():
    site = make_site()
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    checked(document, lease)
    make_filed(site, "doc-1", SHA)
    assert steps.conclude(document.pk, lease, verdict(), pages=1) is DocumentState.DEDUPED
    assert Document.objects.on_file().count() == 1


def test_other_bytes_with_the_same_doc_id_are_a_new_version():
    site = make_site()
    make_filed(site, "doc-1", SHA)
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    assert steps.start_checking(document.pk, lease, sha256="b" * 64, size=10)


def test_a_portal_document_with_the_bytes_of_another_doc_id_is_filed():
    site = make_site()
    make_filed(site, "another", SHA)
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    assert steps.start_checking(document.pk, lease, sha256=SHA, size=10)


def test_an_upload_with_bytes_on_file_under_any_doc_id_is_a_duplicate():
    site = make_site()
    make_filed(site, "another", SHA)
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    Document.objects.filter(pk=document.pk).update(url="", spooled="uploads/x")
    assert not steps.start_checking(document.pk, lease, sha256=SHA, size=10)


def test_a_worker_without_the_lease_cannot_change_a_document():
    document, _ = leased_document()
    with pytest.raises(LeaseLost):
        steps.start_checking(document.pk, uuid.uuid4(), sha256=SHA, size=10)
    document.refresh_from_db()
    assert document.state == DocumentState.RECEIVED
    assert events(document) == ["document.received"]


def test_a_repeated_step_is_refused_and_leaves_one_entry():
    document, lease = leased_document()
    checked(document, lease)
    with pytest.raises(IllegalMove):
        steps.start_checking(document.pk, lease, sha256=SHA, size=10)
    assert events(document).count("document.checking") == 1


def test_a_document_without_attempts_left_is_held_as_poison():
    document, lease = leased_document()
    assert [steps.start_attempt(document.pk, lease, max_attempts=2) for _ in range(3)] == [
        True,
        True,
        False,
    ]
    document.refresh_from_db()
    assert (document.state, document.code) == ("HELD", "POISON")


def test_a_document_is_held_for_our_fault_and_rejected_for_a_refusal_of_the_portal():
    for held, state in ((True, "HELD"), (False, "REJECTED")):
        document, lease = leased_document()
        steps.give_up(document.pk, lease, "DOWNLOAD_FAILED", {"tries": 4}, held=held)
        document.refresh_from_db()
        assert document.state == state


def test_a_document_that_a_dead_worker_was_checking_is_queued_again():
    document, lease = leased_document()
    checked(document, lease)
    with ledger():
        transitions.requeue_interrupted_documents(Chunk.objects.get(pk=document.chunk_id))
    document.refresh_from_db()
    assert document.state == DocumentState.RECEIVED
    assert events(document)[-1] == "document.received"


@pytest.mark.parametrize("state", ["ARCHIVED", "NOWHERE"])
def test_the_database_refuses_impossible_rows(state):
    document, _ = leased_document()
    with pytest.raises(IntegrityError), transaction.atomic():
        Document.objects.filter(pk=document.pk).update(state=state, sha256="")


def test_facts_about_the_portal_are_in_the_detail_of_the_entry():
    document, lease = leased_document()
    seen = {"certificate_sha256": "ab" * 32, "clock_skew_seconds": -90}
    steps.start_checking(document.pk, lease, sha256=SHA, size=10, portal=seen)
    assert list_entries(document.subject)[-1].detail == {"portal": seen}


def arriving(chunk, lease, sha256=SHA):
    return [
        worker_steps.StartChecking(
            document=document.pk, lease=lease, fetched=Fetched(Path(), sha256, 10)
        )
        for document in chunk.documents.order_by("pk")
    ]


def test_steps_of_several_documents_are_applied_together_or_not_at_all():
    chunk, lease = make_leased(documents=2)
    other, _ = make_leased()
    strangers = arriving(other, uuid.uuid4())
    with pytest.raises(LeaseLost):
        worker_steps.apply_steps([*arriving(chunk, lease), *strangers])
    assert set(chunk.documents.values_list("state", flat=True)) == {"RECEIVED"}
    assert worker_steps.apply_steps(arriving(chunk, lease)) == [True, True]
    assert set(chunk.documents.values_list("state", flat=True)) == {"VALIDATING"}


def test_a_group_may_contain_steps_of_every_kind():
    chunk, lease = make_leased(documents=3)
    first, second, third = chunk.documents.order_by("pk")
    checked(first, lease)
    answers = worker_steps.apply_steps(
        [
            worker_steps.Conclude(
                document=first.pk, lease=lease, checked=CheckedDocument(verdict())
            ),
            worker_steps.StartAttempt(document=second.pk, lease=lease, max_attempts=5),
            worker_steps.RecordEarlyDecision(
                document=third.pk,
                lease=lease,
                decision=EarlyDecision(code="DOWNLOAD_FAILED", facts={"tries": 1}, is_held=False),
            ),
        ]
    )
    assert answers == [DocumentState.ARCHIVED, True, DocumentState.REJECTED]
    states = chunk.documents.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["ARCHIVED", "RECEIVED", "REJECTED"]


def test_a_lease_is_valid_for_its_chunk_only():
    chunk, lease = make_leased()
    other, _ = make_leased()
    with pytest.raises(LeaseLost):
        worker_steps.apply_steps([*arriving(chunk, lease), *arriving(other, lease)])


def test_an_unchanged_document_is_a_duplicate_of_the_version_on_file():
    site = make_site()
    filed = make_filed(site, "doc-1", SHA)
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    facts = {"answer": "304 unchanged"}
    assert steps.unchanged(document.pk, lease, sha256=SHA, portal=facts)
    document.refresh_from_db()
    assert (document.state, document.duplicate_of, document.size) == ("DEDUPED", filed, 10)
    entry = list_entries(document.subject)[-1]
    assert (entry.event, entry.sha256) == ("document.already_on_file", SHA)
    assert entry.detail["portal"] == facts


def test_a_document_is_fetched_if_the_version_on_file_was_withdrawn_meanwhile():
    site = make_site()
    filed = make_filed(site, "doc-1", SHA)
    with ledger():
        transitions.move_document(filed, DocumentState.WITHDRAWN, event="document.withdrawn")
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    assert not steps.unchanged(document.pk, lease, sha256=SHA, portal={})
    document.refresh_from_db()
    assert (document.state, document.sha256) == ("RECEIVED", "")
    assert events(document) == ["document.received"]
