"""Images of pages: who can see them, and which areas are marked."""

import dataclasses

import pytest

from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.core.states import DocumentState
from ingestion.documents import transitions
from ingestion.reading.results import Box
from ingestion.rules.checks.signatures import DocumentSignature, SignatureState
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from tests.factories import make_staff, verdict
from tests.ingestion.reading.documents import make_pdf
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)
from web.documents.page_display import MarkedArea
from web.documents.page_images import build_page_image

HARMFUL = verdict("IN_REVIEW", RuleFinding("MALWARE_SUSPECTED", facts={"signature": "Eicar"}))
PRIVATE = verdict("IN_REVIEW", RuleFinding("PHI_SUSPECTED", 1, facts={}))


@pytest.fixture
def sent(site, mara, tmp_path):
    """`sent(verdict)` returns a document of Mara with two pages."""

    def send(decided):
        content = make_pdf(pages=2)
        document = make_packet(site, mara, decided, content=content).documents.get()
        (tmp_path / "incoming").write_bytes(content)
        get_archive().put(tmp_path / "incoming", document.sha256)
        return document

    return send


@pytest.fixture
def reviewer(db):
    return make_staff("QA reviewers", "quinn")


def picture(client, document, page=1):
    return client.get(f"/documents/{document.pk}/pages/{page}/")


def test_a_page_image_is_stored_only_by_the_browser_of_the_person(signed_in, sent):
    answer = picture(signed_in, sent(REJECTED), 2)
    assert answer.headers["Content-Type"] == "image/webp"
    assert answer.content[:4] == b"RIFF"
    assert "private" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]


@pytest.mark.requirement("R07")
def test_a_view_of_a_page_is_recorded_once_an_hour(signed_in, sent, mara):
    document = sent(REJECTED)
    for page in (1, 2, 1):
        picture(signed_in, document, page)
    seen = [entry for entry in list_entries(document.subject) if entry.event == "document.viewed"]
    assert [entry.actor for entry in seen] == [mara.actor_name]


@pytest.mark.requirement("R15")
def test_pages_of_another_site_are_not_found(stranger, sent):
    assert picture(stranger, sent(FILED)).status_code == 404


def test_page_images_require_sign_in(client, sent):
    assert picture(client, sent(FILED)).status_code == 302


@pytest.mark.parametrize("decided", [IN_REVIEW, PRIVATE], ids=["review", "quarantine"])
def test_only_qa_can_see_the_pages_of_a_document_in_review(
    client, sent, mara, ines, reviewer, decided
):
    document = sent(decided)
    for person, status in ((mara, 404), (ines, 404), (reviewer, 200)):
        client.force_login(person)
        assert picture(client, document).status_code == status


def test_a_suspicious_file_stays_withheld_after_its_return(client, sent, mara):
    document = sent(HARMFUL)
    with ledger():
        transitions.move_document(document, DocumentState.REJECTED)
    client.force_login(mara)
    assert picture(client, document).status_code == 404


@pytest.mark.parametrize("page", [0, 3])
def test_a_page_that_cannot_be_rendered_is_not_found(signed_in, sent, page):
    assert picture(signed_in, sent(REJECTED), page).status_code == 404


def test_the_area_of_a_missing_signature_is_marked(sent, mara):
    area = DocumentSignature(SignatureState.EMPTY, 2, Box(100.0, 500.0, 372.0, 584.0))
    document = sent(dataclasses.replace(REJECTED, signature=area))
    findings = document.findings.all()
    image = build_page_image(mara, document, findings, page=2)
    assert (image.number, image.width, image.height) == (2, 612.0, 792.0)
    assert image.marked_areas == (MarkedArea(96.0, 496.0, 280.0, 92.0),)
    assert build_page_image(mara, document, findings, page=1).marked_areas == ()


def test_the_area_of_an_unexpected_value_is_marked(sent, reviewer):
    box = Box(200.0, 100.0, 230.0, 112.0)
    named = FieldValue("site_number", "0417", 1, "native", 100.0, box=box)
    document = sent(dataclasses.replace(IN_REVIEW, fields=(named,)))
    image = build_page_image(reviewer, document, document.findings.all(), page=1)
    assert image.marked_areas == (MarkedArea(196.0, 96.0, 38.0, 20.0),)


def test_people_without_access_get_no_page_image(sent, mara):
    document = sent(IN_REVIEW)
    assert build_page_image(mara, document, document.findings.all(), page=1) is None
