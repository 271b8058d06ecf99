"""Actions of a site on a rejected document: correction, review request, another download."""

import pytest
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from ingestion.core.errors import LeaseLost
from ingestion.dispatch import leases
from ingestion.documents import batches
from ingestion.intake import corrections
from ingestion.models import Document, DraftFile
from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.review import review_requests
from ingestion.rules.findings import RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from ingestion.rules.segmentation.separators import Separator
from tests import steps
from tests.factories import make_batch, verdict
from tests.web.scenes import (
    FILED,
    REJECTED,
    UNSIGNED,
    lease_all,
    make_packet,
    pdf,
    settle,
)

TWO_PAGES = DocumentReading(
    MediaType.PDF,
    tuple(PageReading(n, 612, 792, "", TextSource.NATIVE) for n in range(1, 5)),
)
TWO_DOCUMENTS = ProposedCut(
    (
        PagePart(2, 2, separator=Separator("0203", "irb-approval")),
        PagePart(4, 4, separator=Separator("0203", "cv")),
    ),
    separators=(1, 3),
)
NOT_GIVEN = verdict("REJECTED", RuleFinding("DOWNLOAD_FAILED", facts={"status": 404, "tries": 4}))


@pytest.fixture
def rejected(site, mara):
    return make_packet(site, mara, REJECTED).documents.get()


def correct(client, document, **fields):
    return client.post(f"/documents/{document.pk}/correct/", {"token": "t-1", **fields})


def sent(client, document, file=None, kind="irb-approval", **fields):
    """Send a correction, and return its document."""
    answer = correct(client, document, **{"file-0": file or pdf(), "type-0": kind, **fields})
    assert answer.status_code == 302, answer.content.decode()
    return Document.objects.latest("pk")


def document_page(client, document):
    return client.get(f"/documents/{document.pk}/").content.decode()


def test_the_form_of_a_correction_has_site_type_and_person_filled_in(signed_in, site, mara):
    document = make_packet(site, mara, REJECTED).documents.get()
    Document.objects.update(document_type="cv", doc_id="cv.helena-brandt")
    page = signed_in.get(f"/documents/{document.pk}/correct/").content.decode()
    assert '<option value="0203" selected>' in page
    assert 'data-type="cv" data-person="Helena Brandt"' in page


def test_document_and_correction_link_to_each_other(signed_in, rejected):
    new = sent(signed_in, rejected)
    assert (new.corrects, new.doc_id, new.state) == (rejected, rejected.doc_id, "RECEIVED")
    assert f'Replaces <a id="corrected-by-{new.pk}"' in document_page(signed_in, new)
    old = document_page(signed_in, rejected)
    assert f'Corrected by <a id="correction-of-{rejected.pk}"' in old
    assert "Upload a corrected file" not in old
    assert "Request a review" not in old
    assert "Nothing needs your attention" in signed_in.get("/").content.decode()


@pytest.mark.requirement("R07")
def test_the_ledger_records_a_correction(signed_in, mara, rejected):
    new = sent(signed_in, rejected)
    last = list_entries(rejected.subject)[-1]
    assert (last.event, last.actor) == (corrections.CORRECTED, mara.actor_name)
    assert last.detail["by"] == new.subject


def test_a_document_is_corrected_once(signed_in, rejected):
    new = sent(signed_in, rejected)
    page = signed_in.get(f"/documents/{rejected.pk}/correct/")
    assert page.status_code == 409
    assert f'href="/documents/{new.pk}/"' in page.content.decode()
    second = correct(signed_in, rejected, **{"file-0": pdf("b.pdf"), "type-0": "irb-approval"})
    assert second.status_code == 422
    assert "A corrected file was already sent." in second.content.decode()
    assert Document.objects.count() == 2
    assert DraftFile.objects.get().filename == "b.pdf"  # it is not lost


def test_a_correction_that_is_sent_twice_is_registered_once(signed_in, rejected):
    fields = {"file-0": pdf(), "type-0": "irb-approval"}
    first = correct(signed_in, rejected, **fields)
    second = correct(signed_in, rejected, **{"file-0": pdf(), "type-0": "irb-approval"})
    assert first.url == second.url
    assert Document.objects.count() == 2


@pytest.mark.parametrize("came", [FILED, None])
def test_documents_that_are_filed_or_undecided_cannot_be_corrected(signed_in, site, mara, came):
    document = make_packet(site, mara, came).documents.get()
    page = signed_in.get(f"/documents/{document.pk}/correct/")
    assert page.status_code == 409
    correct(signed_in, document, **{"file-0": pdf(), "type-0": "irb-approval"})
    assert Document.objects.count() == 1


def test_a_correction_keeps_the_identifier_of_a_document_from_a_portal(signed_in, site):
    portals = make_batch(site, document_type="cv").documents.get()
    settle(portals.packet, verdict("REJECTED", UNSIGNED))
    new = sent(signed_in, portals, kind="cv")
    assert (new.doc_id, new.url) == (portals.doc_id, "")


def test_a_correction_with_another_type_is_a_different_document(signed_in, rejected):
    new = sent(signed_in, rejected, kind="cv", **{"person-0": "Jo Brandt"})
    assert (new.doc_id, new.corrects) == ("cv.jo-brandt", rejected)
    assert "Nothing needs your attention" in signed_in.get("/").content.decode()


def test_a_cancelled_correction_can_be_sent_again(signed_in, rejected):
    new = sent(signed_in, rejected)
    batches.cancel_batch(new.batch, by=Actor("user:1", "ops"))
    assert corrections.explain_correction_refusal(rejected) == ""
    assert "1 document needs your attention<" in signed_in.get("/").content.decode()


@pytest.mark.requirement("R15")
def test_documents_of_another_site_cannot_be_corrected(stranger, rejected):
    own = f"/documents/{rejected.pk}/"
    for address in (f"{own}correct/", f"{own}ask/"):
        assert stranger.get(address).status_code == 404
        assert stranger.post(address, {"words": "x"}).status_code == 404
    assert stranger.post(f"{own}retry/").status_code == 404
    put = {"corrects": rejected.pk, "file": pdf()}
    assert stranger.post("/packets/new/files/", put).status_code == 404


def test_staff_cannot_correct_documents(client, ines, rejected):
    client.force_login(ines)
    for way in ("correct", "ask"):
        assert client.get(f"/documents/{rejected.pk}/{way}/").status_code == 404
    assert "Upload a corrected file" not in document_page(client, rejected)


def test_a_review_request_shows_the_exact_text_to_qa(signed_in, mara, rejected):
    words = "The signature is in the margin."
    answer = signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": words})
    assert answer.url == f"/documents/{rejected.pk}/"
    rejected.refresh_from_db()
    assert rejected.state == "IN_REVIEW"
    request = rejected.review_requests.get()
    assert (request.words, request.asked_by) == (words, mara)
    assert words in document_page(signed_in, rejected)


def test_a_review_request_without_text_is_refused(signed_in, rejected):
    answer = signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": " "})
    assert answer.status_code == 422
    assert "Describe what QA should check." in answer.content.decode()
    rejected.refresh_from_db()
    assert rejected.state == "REJECTED"


def test_a_second_review_request_shows_the_date_of_the_first(signed_in, mara, rejected):
    asked = review_requests.request_review(rejected, "Look again.", user=mara).asked_at
    for answer in (
        signed_in.get(f"/documents/{rejected.pk}/ask/"),
        signed_in.post(f"/documents/{rejected.pk}/ask/", {"words": "And again."}),
    ):
        assert answer.status_code == 409
        day = f"{asked.day} {asked:%b %Y}"
        assert f"A review was already requested on {day}." in answer.content.decode()


def test_a_filed_document_cannot_be_reviewed_on_request(signed_in, site, mara):
    document = make_packet(site, mara, FILED).documents.get()
    page = signed_in.get(f"/documents/{document.pk}/ask/")
    assert page.status_code == 409
    assert "You can request a review of a rejected document only." in page.content.decode()


@pytest.fixture
def not_given(site):
    """Return a document whose download failed."""
    document = make_batch(site, document_type="cv").documents.get()
    settle(document.packet, NOT_GIVEN)
    document.refresh_from_db()
    return document


def test_a_failed_download_can_be_retried(signed_in, mara, not_given):
    page = document_page(signed_in, not_given)
    assert "Retry download" in page
    assert "Upload the file here" in page
    signed_in.post(f"/documents/{not_given.pk}/retry/")
    not_given.refresh_from_db()
    assert (not_given.state, not_given.attempts, not_given.code) == ("RECEIVED", 0, "")
    assert not_given.chunk.state == "WAITING"
    last = list_entries(not_given.subject)[-1]
    assert (last.event, last.actor) == ("document.tried_again", mara.actor_name)


def test_a_second_retry_says_that_the_download_is_being_retried(signed_in, not_given):
    for _ in range(2):
        answer = signed_in.post(f"/documents/{not_given.pk}/retry/", follow=True)
    assert "The download is already being retried." in answer.content.decode()


def test_a_document_that_was_read_and_rejected_is_not_downloaded_again(signed_in, rejected, mara):
    answer = signed_in.post(f"/documents/{rejected.pk}/retry/", follow=True)
    assert "Only a failed download from a portal can be retried." in answer.content.decode()
    rejected.refresh_from_db()
    assert rejected.state == "REJECTED"


def test_a_document_with_a_correction_is_not_downloaded_again(signed_in, not_given):
    sent(signed_in, not_given, kind="cv")
    answer = signed_in.post(f"/documents/{not_given.pk}/retry/", follow=True)
    assert "A corrected file was already sent." in answer.content.decode()


def test_the_retry_address_accepts_post_only(signed_in, not_given):
    assert signed_in.get(f"/documents/{not_given.pk}/retry/").status_code == 405


def test_the_correction_of_a_part_is_a_file_of_its_own_that_replaces_the_part(
    signed_in, site, mara
):
    file = make_packet(site, mara, None).documents.get()
    lease = lease_all(file.packet)
    sha256 = file.expected_sha256
    steps.start_checking(file.pk, lease, sha256=sha256, size=10)
    steps.conclude(file.pk, lease, verdict(), reading=TWO_PAGES, cut=TWO_DOCUMENTS)
    settle(file.packet, REJECTED, FILED)
    part = file.parts.get(state="REJECTED")
    assert part in Document.objects.needing_site()
    form = signed_in.get(f"/documents/{part.pk}/correct/").content.decode()
    assert 'data-type="irb-approval"' in form
    new = sent(signed_in, part)
    assert (new.corrects, new.doc_id, new.part_of) == (part, "irb-approval", None)
    assert part not in Document.objects.needing_site()
    assert f'Corrected by <a id="correction-of-{part.pk}"' in document_page(signed_in, part)
    settle(new.packet, FILED)
    new.refresh_from_db()
    assert new.state == "ARCHIVED"


@pytest.fixture
def undelivered(site):
    """Return a document that its portal has failed to deliver."""
    document = make_batch(site, document_type="irb-approval").documents.get()
    Document.objects.filter(pk=document.pk).update(failing_since=timezone.now())
    document.refresh_from_db()
    return document


def test_the_site_uploads_in_one_step_what_its_portal_does_not_deliver(signed_in, undelivered):
    page = document_page(signed_in, undelivered)
    assert f'href="/documents/{undelivered.pk}/correct/"' in page
    new = sent(signed_in, undelivered)
    undelivered.refresh_from_db()
    assert (new.corrects, new.doc_id) == (undelivered, undelivered.doc_id)
    assert (new.state, undelivered.state) == ("RECEIVED", "CANCELLED")
    entry = list_entries(undelivered.subject)[-1]
    assert (entry.event, entry.detail["by"]) == ("document.uploaded_instead", new.subject)
    assert entry.correlation_id == str(new.correlation_id), "that of the request"
    undelivered.batch.refresh_from_db()
    assert undelivered.batch.state == "FAILED", "nothing of it is left to do"


@pytest.mark.parametrize("document", ["undelivered", "not_given"])
def test_the_form_for_a_file_that_never_arrived_does_not_call_it_a_correction(
    signed_in, request, document
):
    document = request.getfixturevalue(document)
    form = signed_in.get(f"/documents/{document.pk}/correct/").content.decode()
    assert "The portal has not delivered" in form
    assert "Send the file" in form
    assert "corrected file" not in form
    assert "replaces" not in form


def test_a_worker_that_still_asks_the_portal_does_not_undo_the_upload(signed_in, undelivered):
    chunk, lease = lease_of(undelivered)
    sent(signed_in, undelivered)
    with pytest.raises(LeaseLost):
        steps.start_checking(undelivered.pk, lease, sha256="a" * 64, size=10)
    leases.return_chunk(chunk.pk, lease)
    undelivered.refresh_from_db()
    assert undelivered.state == "CANCELLED"


def lease_of(document):
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    return document.chunk, lease.lease_id


def test_a_document_that_its_portal_is_about_to_deliver_cannot_be_replaced(signed_in, site):
    document = make_batch(site, document_type="irb-approval").documents.get()
    assert signed_in.get(f"/documents/{document.pk}/correct/").status_code == 409
