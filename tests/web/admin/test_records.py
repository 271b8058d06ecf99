"""Documents, packets and findings in the admin can be searched, but not changed."""

import dataclasses

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.ledger.queries import list_entries
from ingestion.models import Batch, Chunk, Document, Finding, Packet
from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
)
from ingestion.rules.fields.values import FieldValue
from tests import steps
from tests.factories import make_batch, make_user
from tests.web.scenes import (
    FILED,
    REJECTED,
    lease_all,
    make_packet,
)

RECORDS = [Batch, Packet, Document, Finding, Chunk]
TYPED = PageReading(1, 612, 792, "typed", TextSource.NATIVE)
TYPED_TOO = dataclasses.replace(TYPED, number=2)
SCANNED = PageReading(
    3, 612, 792, "seen", TextSource.OCR, confidence=91.2, dpi=200, rotation=180, uncovered=0.123
)
SCANNED = dataclasses.replace(SCANNED, rotation=180)
LOST = PageReading(4, 612, 792, "", TextSource.OCR, error="timeout")
LISTS = [*(f"ingestion/{model.__name__.lower()}" for model in RECORDS)]
LISTS += [f"clinical_sites/{name}" for name in ("site", "portal", "study", "user", "membership")]


WHY = "The portal is back, says its owner."


def text(answer):
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("model", RECORDS, ids=lambda model: model.__name__)
def test_nobody_can_add_change_or_remove_a_record(as_role, packet, model):
    client, row = as_role(""), model.objects.first()
    base = f"/admin/ingestion/{model.__name__.lower()}"
    assert client.get(f"{base}/add/").status_code == 403
    assert client.post(f"{base}/{row.pk}/change/", {"state": "ARCHIVED"}).status_code == 403
    assert client.post(f"{base}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "_save" not in text(client.get(f"{base}/{row.pk}/change/"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", LISTS)
def test_every_list_has_filters_and_a_search(as_role, packet, path):
    page = text(as_role("").get(f"/admin/{path}/"))
    assert 'id="searchbar"' in page
    assert "<style" not in page
    assert " style=" not in page


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", LISTS)
def test_the_number_of_queries_of_a_list_does_not_grow_with_its_rows(as_role, site, path):
    client, user = as_role(""), make_user("sender", sites=(site,))
    make_packet(site, user, REJECTED)
    few = _queries(client, path)
    for _ in range(3):
        make_packet(site, user, REJECTED, FILED)
        make_batch(documents=2)
        make_user(sites=(site,))
    assert _queries(client, path) == few


def _queries(client, path):
    client.get(f"/admin/{path}/")  # warms the cache of content types
    with CaptureQueriesContext(connection) as seen:
        client.get(f"/admin/{path}/")
    return len(seen)


def test_the_page_of_a_document_shows_its_findings_as_sentences(as_role, packet):
    document = packet.documents.get(state="REJECTED")
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/{document.pk}/change/"))
    for part in ["Page 2 is not signed.", "Ask the chair", "SIGNATURE_MISSING", document.sha256]:
        assert part in page
    assert f'href="/packets/{packet.reference}/"' in page
    assert 'class="sl-chip sl-bad"' in page


def test_the_page_of_a_document_shows_its_values_and_their_sources(as_role, site):
    fields = (FieldValue("approval_date", "2026-03-12", 3, "ocr", 87.4),)
    reading = DocumentReading(
        MediaType.PDF, (TYPED, TYPED_TOO, SCANNED, LOST), engine="tesseract 5.3.0"
    )
    found = dataclasses.replace(FILED, fields=fields, evidence='"IRB APPROVAL" on page 1')
    document = make_packet(site, make_user(sites=(site,)), found, reading=reading).documents.get()
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/{document.pk}/change/"))
    for part in [
        "<dt>Approval date</dt><dd>2026-03-12",
        "page 3, read from the scan, confidence 87%",
        "&quot;IRB APPROVAL&quot; on page 1",
        "<div>Pages 1 to 2: text layer of the file</div>",
        "<div>Page 3: scan at 200 dpi, confidence 91%, 12% not read, rotated by 180 deg",
        "<div>Page 4: could not be read (timeout)</div>",
        "<div>tesseract 5.3.0</div>",
    ]:
        assert part in page


def test_the_page_of_an_unread_document_shows_no_values(as_role, site):
    document = make_packet(site, make_user(sites=(site,)), REJECTED, reading=None).documents.get()
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/{document.pk}/change/"))
    assert "No page was read." in page


def test_the_page_of_a_document_without_findings_shows_none(as_role, packet):
    document = packet.documents.get(state="ARCHIVED")
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/{document.pk}/change/"))
    assert '<div class="readonly">None</div>' in page


def test_the_page_of_a_finding_shows_its_sentences(as_role, packet):
    finding = Finding.objects.get(code="SIGNATURE_MISSING")
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/finding/{finding.pk}/change/"))
    assert "Page 2 is not signed." in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=irb", 1),
        ("q=0203", 2),
        ("q=nothing-like-it", 0),
        ("state__exact=REJECTED", 1),
        ("type=irb-approval", 1),
        ("code=SIGNATURE_MISSING", 1),
        ("owner=site&category=compliance&retryable=no", 1),
        ("owner=sponsor", 0),
        ("severity=major", 1),
        ("retryable=yes", 0),
        ("site__country=Ireland", 2),
    ],
)
def test_documents_can_be_searched_by_identifier_file_name_site_and_checksum(
    as_role, packet, query, found
):
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/?{query}"))
    assert page.count('class="field-doc_id"') == found


def test_a_document_is_found_by_its_complete_checksum_only(as_role, packet):
    sha256 = packet.documents.first().sha256
    page = text(as_role("QA reviewers").get(f"/admin/ingestion/document/?q={sha256}"))
    assert page.count('class="field-doc_id"') == 1


def test_a_packet_links_to_its_documents(as_role, packet):
    client = as_role("QA reviewers")
    make_batch(documents=1)
    page = text(client.get(f"/admin/ingestion/packet/{packet.pk}/change/"))
    link = f"/admin/ingestion/document/?packet__id__exact={packet.pk}"
    assert link in page
    assert text(client.get(link)).count('class="field-doc_id"') == 2
    batch = text(client.get(f"/admin/ingestion/document/?batch__id__exact={packet.batch_id}"))
    assert batch.count('class="field-doc_id"') == 2


def test_lists_show_how_many_documents_are_settled(as_role, site):
    make_packet(site, make_user(sites=(site,)), FILED, None)
    assert "1 of 2" in text(as_role("").get("/admin/ingestion/packet/"))


def test_headings_show_the_name_of_the_object(as_role, packet):
    client = as_role("")
    assert "<h1>Documents</h1>" in text(client.get("/admin/ingestion/document/"))
    page = text(client.get(f"/admin/ingestion/packet/{packet.pk}/change/"))
    assert f"<h1>{packet.reference}</h1>" in page


def retry(client, packet):
    chosen = [document.pk for document in packet.documents.all()]
    values = {"action": "retry", "_selected_action": chosen, "reason_for_change": WHY}
    return client.post("/admin/ingestion/document/", values, follow=True)


def test_operations_retry_held_documents_with_one_action(as_role, site):
    packet = make_packet(site, make_user(sites=(site,)), None, FILED)
    lease = lease_all(packet)
    waiting = packet.documents.get(state="RECEIVED")
    steps.give_up(waiting.pk, lease, "PORTAL_UNAVAILABLE", {}, held=True)
    page = text(retry(as_role("Operations"), packet))
    assert "1 document is in the queue again." in page
    assert "1 document was skipped." in page
    waiting.refresh_from_db()
    assert waiting.state == "RECEIVED"
    assert list_entries(waiting.subject)[-1].actor.startswith("user:")


def test_other_roles_cannot_retry_documents(as_role, packet):
    page = text(as_role("QA reviewers").get("/admin/ingestion/document/"))
    assert 'value="retry"' not in page


def cancel(client, *batches):
    chosen = [batch.pk for batch in batches]
    values = {"action": "cancel", "_selected_action": chosen, "reason_for_change": WHY}
    return text(client.post("/admin/ingestion/batch/", values, follow=True))


def test_operations_cancel_batches_with_one_action_that_skips_completed_ones(as_role, site):
    waiting, over = make_batch(documents=2), make_batch()
    client = as_role("Operations")
    cancel(client, over)
    page = cancel(client, waiting, over)
    assert f"Batch {waiting.reference} is being cancelled." in page
    assert f"Skipped: batch {over.reference} is CANCELLED already." in page
    waiting.refresh_from_db()
    assert waiting.state == "CANCELLED"
    assert list_entries(waiting.subject)[-1].actor.startswith("user:")


def test_other_roles_cannot_cancel_batches(as_role, packet):
    client = as_role("QA reviewers")
    assert 'value="cancel"' not in text(client.get("/admin/ingestion/batch/"))
    cancel(client, packet.batch)
    packet.batch.refresh_from_db()
    assert packet.batch.state != "CANCELLED"
