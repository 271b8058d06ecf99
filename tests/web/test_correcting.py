"""What a site does about a rejected document: a corrected file, a question to QA, another try."""

import pytest

from audit.ledger.actors import Actor
from audit.ledger.queries import timeline
from ingestion.documents import batches
from ingestion.intake import corrections
from ingestion.models import Document, DraftFile
from ingestion.review import review_requests
from ingestion.rules.findings import RuleFinding
from tests.factories import make_batch, verdict
from tests.web.scenes import (
    FILED,
    REJECTED,
    UNSIGNED,
    make_packet,
    pdf,
    settle,
)

NOT_GIVEN = verdict("REJECTED", RuleFinding("DOWNLOAD_FAILED", facts={"status": 404, "tries": 4}))


@pytest.fixture
def rejected(site, mara):
    return make_packet(site, mara, REJECTED).documents.get()


def correct(client, document, **fields):
    return client.post(f"/documents/{document.pk}/correct/", {"token": "t-1", **fields})


def sent(client, document, file=None, kind="irb-approval", **fields):
    """A correction that was taken: its document."""
    answer = correct(client, document, **{"file-0": file or pdf(), "type-0": kind, **fields})
    assert answer.status_code == 302, answer.content.decode()
    return Document.objects.latest("pk")


def shown(client, document):
    return client.get(f"/documents/{document.pk}/").content.decode()


def test_the_form_knows_site_type_and_person(signed_in, site, mara):
    document = make_packet(site, mara, REJECTED).documents.get()
    Document.objects.update(document_type="cv", doc_id="cv.helena-brandt")
    page = signed_in.get(f"/documents/{document.pk}/correct/").content.decode()
    assert '<option value="0203" selected>' in page
    assert 'data-type="cv" data-person="Helena Brandt"' in page


def test_old_and_new_name_each_other(signed_in, rejected):
    new = sent(signed_in, rejected)
    assert (new.corrects, new.doc_id, new.state) == (rejected, rejected.doc_id, "RECEIVED")
    assert f'Replaces <a id="corrected-by-{new.pk}"' in shown(signed_in, new)
    old = shown(signed_in, rejected)
    assert f'Corrected by <a id="correction-of-{rejected.pk}"' in old
    assert "Upload a corrected file" not in old
    assert "Request a review" not in old
    assert "Nothing needs your attention" in signed_in.get("/").content.decode()


@pytest.mark.requirement("R07")
def test_that_it_was_corrected_is_on_its_record(signed_in, mara, rejected):
    new = sent(signed_in, rejected)
    last = timeline(rejected.subject)[-1]
    assert (last.event, last.actor) == (corrections.CORRECTED, mara.actor_name)
    assert last.detail["by"] == new.subject


def test_a_document_is_corrected_once(signed_in, rejected):
    new = sent(signed_in, rejected)
    page = signed_in.get(f"/documents/{rejected.pk}/correct/")
    assert page.status_code == 409
    assert f'href="/documents/{new.pk}/"' in page.content.decode()
    again = correct(signed_in, rejected, **{"file-0": pdf("b.pdf"), "type-0": "irb-approval"})
    assert again.status_code == 422
    assert "A corrected file was already sent." in again.content.decode()
    assert Document.objects.count() == 2
    assert DraftFile.objects.get().filename == "b.pdf"  # it is not lost


def test_a_correction_that_is_sent_twice_is_one(signed_in, rejected):
    fields = {"file-0": pdf(), "type-0": "irb-approval"}
    first = correct(signed_in, rejected, **fields)
    second = correct(signed_in, rejected, **{"file-0": pdf(), "type-0": "irb-approval"})
    assert first.url == second.url
    assert Document.objects.count() == 2


@pytest.mark.parametrize("came", [FILED, None])
def test_what_is_on_file_or_not_decided_is_not_corrected(signed_in, site, mara, came):
    document = make_packet(site, mara, came).documents.get()
    page = signed_in.get(f"/documents/{document.pk}/correct/")
    assert page.status_code == 409
    correct(signed_in, document, **{"file-0": pdf(), "type-0": "irb-approval"})
    assert Document.objects.count() == 1


def test_what_its_portal_calls_otherwise_keeps_its_name(signed_in, site):
    portals = make_batch(site, document_type="cv").documents.get()
    settle(portals.packet, verdict("REJECTED", UNSIGNED))
    new = sent(signed_in, portals, kind="cv")
    assert (new.doc_id, new.url) == (portals.doc_id, "")


def test_a_correction_of_another_type_is_another_document(signed_in, rejected):
    new = sent(signed_in, rejected, kind="cv", **{"person-0": "Jo Brandt"})
    assert (new.doc_id, new.corrects) == ("cv.jo-brandt", rejected)
    assert "Nothing needs your attention" in signed_in.get("/").content.decode()


def test_a_correction_that_was_cancelled_may_be_sent_anew(signed_in, rejected):
    new = sent(signed_in, rejected)
    batches.cancel_batch(new.batch, by=Actor("user:1", "ops"))
    assert corrections.explain_refusal(rejected) == ""
    assert "1 document needs your attention<" in signed_in.get("/").content.decode()


@pytest.mark.requirement("R15")
def test_nobody_corrects_another_sites_document(stranger, rejected):
    own = f"/documents/{rejected.pk}/"
    for address in (f"{own}correct/", f"{own}ask/"):
        assert stranger.get(address).status_code == 404
        assert stranger.post(address, {"words": "x"}).status_code == 404
    assert stranger.post(f"{own}retry/").status_code == 404
    put = {"corrects": rejected.pk, "file": pdf()}
    assert stranger.post("/packets/new/files/", put).status_code == 404


def test_staff_have_other_ways(client, ines, rejected):
    client.force_login(ines)
    for way in ("correct", "ask"):
        assert client.get(f"/documents/{rejected.pk}/{way}/").status_code == 404
    assert "Upload a corrected file" not in shown(client, rejected)


def test_a_question_goes_to_qa_word_for_word(signed_in, mara, rejected):
    words = "The signature is in the margin."
    answer = signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": words})
    assert answer.url == f"/documents/{rejected.pk}/"
    rejected.refresh_from_db()
    assert rejected.state == "IN_REVIEW"
    request = rejected.review_requests.get()
    assert (request.words, request.asked_by) == (words, mara)
    assert words in shown(signed_in, rejected)


def test_a_question_without_words_comes_back(signed_in, rejected):
    answer = signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": " "})
    assert answer.status_code == 422
    assert "Describe what QA should look at." in answer.content.decode()
    rejected.refresh_from_db()
    assert rejected.state == "REJECTED"


def test_who_asks_again_reads_when_it_was_asked(signed_in, mara, rejected):
    asked = review_requests.request_review(rejected, "Look again.", user=mara).asked_at
    for answer in (
        signed_in.get(f"/documents/{rejected.pk}/ask/"),
        signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": "And again."}),
    ):
        assert answer.status_code == 409
        day = f"{asked.day} {asked:%b %Y}"
        assert f"A review was already requested on {day}." in answer.content.decode()


def test_what_is_on_file_needs_no_question(signed_in, site, mara):
    document = make_packet(site, mara, FILED).documents.get()
    page = signed_in.get(f"/documents/{document.pk}/ask/")
    assert page.status_code == 409
    assert "You can request a review of a rejected document only." in page.content.decode()


@pytest.fixture
def not_given(site):
    """Its portal would not give it."""
    document = make_batch(site, document_type="cv").documents.get()
    settle(document.packet, NOT_GIVEN)
    document.refresh_from_db()
    return document


def test_what_a_portal_did_not_give_is_fetched_again(signed_in, mara, not_given):
    page = shown(signed_in, not_given)
    assert "Retry download" in page
    assert "Upload the file here" in page
    signed_in.post(f"/documents/{not_given.pk}/retry/")
    not_given.refresh_from_db()
    assert (not_given.state, not_given.attempts, not_given.code) == ("RECEIVED", 0, "")
    assert not_given.chunk.state == "WAITING"
    last = timeline(not_given.subject)[-1]
    assert (last.event, last.actor) == ("document.tried_again", mara.actor_name)


def test_who_tries_again_twice_reads_that_it_is_being_retried(signed_in, not_given):
    for _ in range(2):
        answer = signed_in.post(f"/documents/{not_given.pk}/retry/", follow=True)
    assert "The download is already being retried." in answer.content.decode()


def test_what_was_read_and_rejected_is_not_fetched_again(signed_in, rejected, mara):
    answer = signed_in.post(f"/documents/{rejected.pk}/retry/", follow=True)
    assert "Only a failed download from a portal can be retried." in answer.content.decode()
    rejected.refresh_from_db()
    assert rejected.state == "REJECTED"


def test_what_was_uploaded_in_its_place_is_not_fetched_again(signed_in, not_given):
    sent(signed_in, not_given, kind="cv")
    answer = signed_in.post(f"/documents/{not_given.pk}/retry/", follow=True)
    assert "A corrected file was already sent." in answer.content.decode()


def test_to_try_again_is_no_page(signed_in, not_given):
    assert signed_in.get(f"/documents/{not_given.pk}/retry/").status_code == 405
