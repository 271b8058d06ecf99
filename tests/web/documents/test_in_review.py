"""Actions of a site on a document in review: replacement and correction of the declaration."""

import pytest

from audit.ledger.queries import list_entries
from ingestion.models import Action, Decision, Document, DraftFile
from ingestion.review import assignments, decisions, review_requests
from tests.factories import make_staff
from tests.ingestion.review.reviewers import NOTE, REASON, decide, lead
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    pdf,
    settle,
)

WHY = "It was marked as a letter by mistake."
AS_CV = {"document_type": "cv", "person": "Ana Ruiz", "reason": WHY}


@pytest.fixture
def rafael(db):
    return lead("rafael", "Rafael Duarte")


def fresh(document):
    return Document.objects.get(pk=document.pk)


def page_at(client, address):
    return " ".join(client.get(address).content.decode().split())


def replace(client, document, file=None):
    form = {"token": "t-1", "file-0": file or pdf("letter.pdf"), "type-0": "irb-approval"}
    return client.post(f"/documents/{document.pk}/correct/", form)


def redeclare(client, document, **fields):
    return client.post(f"/documents/{document.pk}/type/", AS_CV | fields)


def test_document_and_packet_pages_offer_a_correction_and_a_replacement(signed_in, sent):
    document = sent(IN_REVIEW)
    for address in (f"/documents/{document.pk}/", f"/packets/{document.packet.reference}/"):
        page = page_at(signed_in, address)
        assert "Replace the file" in page
        assert "Correct type or person" in page
        assert "Request a review" not in page
    form = page_at(signed_in, f"/documents/{document.pk}/correct/")
    assert "<h1>Replace the file</h1>" in form
    assert "removed from QA review" in form


def test_a_replaced_file_leaves_the_review_queue_and_the_ledger_records_it(
    signed_in, mara, sent, rafael
):
    document = sent(REJECTED)
    asked = review_requests.request_review(document, "Look again.", user=mara)
    assignments.assign(fresh(document), rafael, by=rafael)
    answer = replace(signed_in, document)
    new = Document.objects.latest("pk")
    assert answer.url == f"/packets/{new.packet.reference}/"
    old = fresh(document)
    assert (old.state, new.state, new.corrects) == ("WITHDRAWN", "RECEIVED", old)
    entry = list_entries(old.subject)[-1]
    assert (entry.event, entry.actor, entry.from_state, entry.to_state) == (
        "document.replaced", mara.actor_name, "IN_REVIEW", "WITHDRAWN",
    )  # fmt: skip
    assert entry.detail["by"] == new.subject
    assert list(assignments.filter_queue(assignments.QueueFilter())) == []
    asked.refresh_from_db()
    assert asked.answered_at is not None
    page = page_at(signed_in, f"/documents/{old.pk}/")
    assert "Replaced by the site during review" in page
    assert f'href="/documents/{new.pk}/"' in page
    assert "The site replaced this file during review." in page
    assert "Replace the file" not in page
    assert "What to do" not in page
    assert "Nothing needs your attention" in page_at(signed_in, "/")


def test_the_reviewer_of_a_replaced_file_sees_a_conflict_and_keeps_the_note(
    signed_in, client, sent, rafael
):
    document = sent(IN_REVIEW)
    seen = decisions.get_version(document)
    replace(signed_in, document)
    new = Document.objects.latest("pk")
    client.force_login(rafael)
    for fragment in ({}, {"X-Fragment": "1"}):
        answer = client.post(
            f"/admin/review/{document.pk}/sign/?action=return",
            {"made_on": seen, "reason_code": "NOT_SIGNED", "note": NOTE},
            headers=fragment,
        )
        assert answer.status_code == 409
        page = " ".join(answer.content.decode().split())
        assert "The site replaced this file" in page
        assert f'href="/admin/review/{new.pk}/"' in page
        assert NOTE in page
    assert not Decision.objects.exists()
    assert fresh(document).state == "WITHDRAWN"
    page = page_at(client, f"/admin/review/{document.pk}/")
    assert "The site replaced this file" in page


def test_a_document_that_qa_has_filed_cannot_be_replaced_and_the_new_file_is_kept(
    signed_in, sent, rafael
):
    document = sent(IN_REVIEW)
    decide(document, Action.RELEASE, rafael)
    answer = replace(signed_in, document)
    assert answer.status_code == 422
    assert "You cannot replace this document because it is filed." in answer.content.decode()
    assert DraftFile.objects.get().filename == "letter.pdf"
    assert fresh(document).state == "ARCHIVED"


def test_a_document_that_qa_has_returned_is_corrected_with_the_uploaded_file(
    signed_in, sent, rafael
):
    document = sent(IN_REVIEW)
    decide(document, Action.RETURN, rafael)
    assert replace(signed_in, document).status_code == 302
    assert fresh(document).state == "RETURNED"
    assert Document.objects.latest("pk").corrects == document


def test_a_site_corrects_the_type_and_the_person(signed_in, mara, sent):
    document = sent(IN_REVIEW)
    form = page_at(signed_in, f"/documents/{document.pk}/type/")
    assert '<option value="irb-approval" selected>' in form
    answer = redeclare(signed_in, document)
    assert answer.url == f"/documents/{document.pk}/"
    assert fresh(document).doc_id == "cv.ana-ruiz"
    page = page_at(signed_in, answer.url)
    assert "The checks run again" in page
    sentence = "Type or person corrected: CV of Ana Ruiz. It was sent as IRB approval"
    assert sentence in page
    assert "Mara Lindqvist" in page
    settle(document.packet, FILED)
    assert fresh(document).state == "ARCHIVED"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"document_type": ""}, "This field is required"),
        ({"person": " "}, "Enter the name of the person whose CV this is."),
        ({"document_type": "irb-approval"}, "Neither has changed."),
        ({"reason": "x"}, "at least"),
    ],
)
def test_an_incomplete_correction_is_shown_again_with_the_entered_text(
    signed_in, sent, fields, message
):
    document = sent(IN_REVIEW)
    answer = redeclare(signed_in, document, **fields)
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert WHY in answer.content.decode() or "reason" in fields
    assert fresh(document).state == "IN_REVIEW"


def test_a_late_correction_is_refused_with_a_reason_and_keeps_the_entered_text(
    signed_in, sent, rafael
):
    document = sent(IN_REVIEW)
    decide(document, Action.RETURN, rafael)
    answer = redeclare(signed_in, document)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "because it is returned to site" in page
    assert WHY in page


def test_strangers_and_staff_cannot_open_the_pages_of_site_requests(client, stranger, sent, rafael):
    document = sent(IN_REVIEW)
    for _ in range(2):
        assert stranger.get(f"/documents/{document.pk}/type/").status_code == 404
        assert redeclare(stranger, document).status_code == 404
        assert replace(stranger, document).status_code == 404
        client.force_login(rafael)
    assert fresh(document).state == "IN_REVIEW"


def test_a_reviewer_corrects_the_type_and_the_person_with_a_signature(client, sent, rafael):
    document = sent(IN_REVIEW)
    client.force_login(rafael)
    page = page_at(client, f"/admin/review/{document.pk}/")
    assert "Correct type or person" in page
    url = f"/admin/review/{document.pk}/sign/?action=redeclare"
    form = page_at(client, url)
    assert "The checks run again on the same file." in form
    assert form.index("Name of the person") < form.index("Recorded in the audit trail with")
    given = {
        "made_on": decisions.get_version(document), "document_type": "cv", "person": "Ana Ruiz",
        "reason": REASON, "username": "rafael", "password": "wrong",
    }  # fmt: skip
    refused = client.post(url, given)
    assert refused.status_code == 400
    assert REASON in refused.content.decode()
    assert fresh(document).state == "IN_REVIEW"
    assert client.post(url, given | {"password": "correct horse"}).status_code == 302
    assert (fresh(document).state, fresh(document).doc_id) == ("RECEIVED", "cv.ana-ruiz")
    settle(document.packet, IN_REVIEW)
    page = page_at(client, f"/admin/review/{document.pk}/")
    assert "Type or person corrected" in page
    assert "CV of Ana Ruiz" in page


def test_documents_from_a_portal_have_a_type_to_correct_but_no_person(signed_in, sent):
    document = sent(IN_REVIEW)
    Document.objects.update(url="https://portal.example/1.pdf", doc_id="doc-1")
    form = page_at(signed_in, f"/documents/{document.pk}/type/")
    assert "Name of the person" not in form
    assert redeclare(signed_in, document).status_code == 302
    assert (fresh(document).document_type, fresh(document).doc_id) == ("cv", "doc-1")


def test_staff_see_no_advice_for_sites(client, site, mara, rafael, ines):
    packet = make_packet(site, mara, REJECTED, IN_REVIEW)
    pages = [f"/packets/{packet.reference}/", "/sites/0203/"]
    pages += [f"/documents/{each.pk}/" for each in packet.documents.all()]
    reviewed = [f"/admin/review/{each.pk}/" for each in packet.documents.all()]
    for person, addresses in (
        (rafael, pages + reviewed),
        (ines, pages),
        (make_staff("Operations", "olu"), pages[2:]),
    ):
        client.force_login(person)
        for address in addresses:
            page = page_at(client, address)
            assert "What to do" not in page, address
            assert "Ask the chair to sign" not in page, address
            if "site" not in address:
                assert "What to check" in page, address
    client.force_login(mara)
    assert "What to check" not in page_at(client, pages[0])
