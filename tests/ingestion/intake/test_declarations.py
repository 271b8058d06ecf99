"""Tests of correcting the declared type or person of a document."""

import hashlib

import pytest

from audit.ledger.queries import list_entries
from ingestion.dispatch.work_items import list_work_items
from ingestion.intake import declarations
from ingestion.intake.declarations import Declaration, RedeclarationRefused
from ingestion.models import Action, Document
from ingestion.review import review_requests
from ingestion.rules.findings import RuleFinding
from ingestion.storage import spool
from tests.factories import make_leased, verdict
from tests.ingestion.review.reviewers import decide, lead, sender
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    settle,
)

pytestmark = pytest.mark.django_db
WHY = "It was marked as a letter by mistake."
OTHER_TYPE = verdict(
    "IN_REVIEW",
    RuleFinding("DOC_TYPE_CONFLICT", facts={"detected": "CV", "declared": "IRB approval"}),
)
ALARM = verdict("IN_REVIEW", RuleFinding("MALWARE_SUSPECTED", facts={"signature": "Eicar"}))
CONTENT = b"%PDF-1.7 the approval"


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture
def sent(site, mara, tmp_path):
    return sender(site, mara, tmp_path)


def fresh(document):
    return Document.objects.get(pk=document.pk)


def correct(document, person, kind="cv", whose="Ana Ruiz"):
    by = person.actor
    declarations.correct_declaration(document, Declaration(kind, whose), WHY, by=by)
    return fresh(document)


def test_a_corrected_declaration_is_recorded_and_the_document_is_checked_again(sent, mara):
    document = sent(OTHER_TYPE)
    changed = correct(document, mara)
    assert (changed.state, changed.code) == ("RECEIVED", "")
    assert (changed.document_type, changed.doc_id) == ("cv", "cv.ana-ruiz")
    entry = list_entries(document.subject)[-1]
    assert (entry.event, entry.actor, entry.to_state) == (
        "document.redeclared", mara.actor_name, "RECEIVED",
    )  # fmt: skip
    assert entry.detail["reason"] == WHY
    assert entry.detail["old_type"] == "irb-approval"
    assert entry.detail["old_name"] == "irb-approval"
    assert entry.detail["new_type"] == "cv"
    assert entry.detail["new_name"] == "cv.ana-ruiz"
    settle(document.packet, FILED)
    assert fresh(document).state == "ARCHIVED"


def test_a_worker_receives_the_same_bytes_with_the_new_declaration(sent, mara):
    document = correct(sent(OTHER_TYPE), mara)
    (item,) = list_work_items(document.chunk, document.received_at)
    assert (item.declared_type, item.doc_id, item.terms) == ("cv", "cv.ana-ruiz", None)
    assert item.expected_sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert spool.get_path(item.spooled).read_bytes() == CONTENT


def test_a_portal_document_is_checked_again_without_a_request_to_the_portal(site, mara, tmp_path):
    chunk, _ = make_leased(site=site)
    document = chunk.documents.get()
    Document.objects.filter(pk=document.pk).update(
        expected_sha256=hashlib.sha256(CONTENT).hexdigest()
    )
    settle(document.packet, OTHER_TYPE)
    (tmp_path / "incoming").write_bytes(CONTENT)
    declarations.get_archive().put(tmp_path / "incoming", hashlib.sha256(CONTENT).hexdigest())
    document = correct(fresh(document), mara, "medical-licence")
    assert (document.document_type, document.doc_id) == ("medical-licence", "doc-1")
    (item,) = list_work_items(document.chunk, document.received_at)
    assert item.terms is None
    assert spool.get_path(item.spooled).read_bytes() == CONTENT


def test_two_files_of_one_packet_with_swapped_types_can_be_corrected(site, mara, tmp_path):
    contents = [b"%PDF-1.7 one", b"%PDF-1.7 two"]
    packet = make_packet(site, mara, OTHER_TYPE, OTHER_TYPE, content=contents)
    for document in packet.documents.all():
        content = contents[document.document_type == "form-fda-1572"]
        (tmp_path / "incoming").write_bytes(content)
        declarations.get_archive().put(tmp_path / "incoming", document.sha256)
    letter, form = packet.documents.order_by("pk")
    correct(letter, mara, "form-fda-1572", "")
    correct(form, mara, "irb-approval", "")
    assert [fresh(each).doc_id for each in (letter, form)] == ["form-fda-1572", "irb-approval"]


def test_a_rejected_document_can_be_corrected_too(sent, mara):
    assert correct(sent(REJECTED), mara).state == "RECEIVED"


@pytest.mark.parametrize("action", [Action.CONFIRM, Action.RETURN])
def test_a_site_cannot_change_the_type_after_a_decision_of_qa(sent, mara, rafael, action):
    document = sent(REJECTED)
    decide(document, action, rafael)
    with pytest.raises(RedeclarationRefused):
        correct(fresh(document), mara)
    if action is Action.CONFIRM:
        review_requests.request_review(fresh(document), "Look again.", user=mara)
        with pytest.raises(RedeclarationRefused, match="QA has decided about this document"):
            correct(fresh(document), mara)


@pytest.fixture
def rafael():
    return lead("rafael", "Rafael Duarte")


@pytest.mark.parametrize(
    ("decided", "why"),
    [(FILED, "because it is filed"), (ALARM, "virus scanner found a threat")],
    ids=["filed", "alarm"],
)
def test_a_refused_correction_explains_why_and_changes_nothing(sent, mara, decided, why):
    document = sent(decided)
    before = fresh(document).revision
    with pytest.raises(RedeclarationRefused, match=why):
        correct(document, mara)
    assert fresh(document).revision == before


@pytest.mark.parametrize(
    ("kind", "whose", "why"),
    [
        ("nonsense", "", "Select a document type"),
        ("cv", " ", "Enter the name of the person whose CV this is"),
        ("irb-approval", "", "Neither has changed"),
    ],
)
def test_a_new_declaration_has_to_be_different_and_complete(sent, mara, kind, whose, why):
    document = sent(IN_REVIEW)
    before = set(spool.get_path("uploads").iterdir())
    with pytest.raises(RedeclarationRefused, match=why):
        correct(document, mara, kind, whose)
    assert set(spool.get_path("uploads").iterdir()) == before


def test_missing_bytes_refuse_the_correction(sent, mara, settings, tmp_path):
    document = sent(IN_REVIEW)
    settings.ARCHIVE_DIR = tmp_path / "another"
    with pytest.raises(RedeclarationRefused, match="cannot be read at the moment"):
        correct(document, mara)
    assert fresh(document).state == "IN_REVIEW"


def test_damaged_bytes_refuse_the_correction(sent, mara, tmp_path):
    document = sent(IN_REVIEW)
    path = tmp_path / "archive" / document.sha256[:2] / document.sha256[2:4] / document.sha256
    path.chmod(0o600)
    path.write_bytes(b"%PDF-1.7 forged")
    before = set(spool.get_path("uploads").iterdir())
    with pytest.raises(RedeclarationRefused, match="damaged"):
        correct(document, mara)
    assert set(spool.get_path("uploads").iterdir()) == before, "the copy is dropped"
    assert fresh(document).state == "IN_REVIEW"


def test_a_correction_answers_the_review_request_of_the_site(sent, mara):
    document = sent(REJECTED)
    asked = review_requests.request_review(document, "It is a CV.", user=mara)
    correct(fresh(document), mara)
    asked.refresh_from_db()
    assert asked.answered_at is not None


@pytest.mark.parametrize(
    ("document_type", "doc_id", "url", "person"),
    [
        ("cv", "cv.ana-ruiz", "", "Ana Ruiz"),
        ("cv", "cv", "", ""),
        ("irb-approval", "irb-approval", "", ""),
        # The doc_id of a portal's document may look like that of an upload.
        ("cv", "cv.ana-ruiz", "https://portal.example.org/cv.pdf", ""),
        # The person was declared for another type.
        ("medical-license", "cv.ana-ruiz", "", ""),
        ("irb-approval", "irb-approval.ana-ruiz", "", ""),
    ],
)
def test_only_an_upload_of_a_type_per_person_names_a_person(document_type, doc_id, url, person):
    document = Document(document_type=document_type, doc_id=doc_id, url=url)
    assert document.declared_person == person
    assert Declaration.of(document) == Declaration(document_type, person)


def test_a_part_has_the_person_of_its_separator_sheet():
    part = Document(document_type="cv", doc_id="cv.jo#1-2", part_of_id=1, person="Ana Ruiz")
    assert Declaration.of(part) == Declaration("cv", "Ana Ruiz")
