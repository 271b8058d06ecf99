"""The page of a document: outcome, timeline, and the download of the file."""

import dataclasses
from hashlib import sha256

import pytest

from audit.ledger.actors import Actor, add_process
from audit.ledger.log import ledger, record
from ingestion.documents import transitions
from ingestion.rules.fields.values import FieldValue
from ingestion.storage.archive import get_archive
from sites.models.legal_holds import LegalHold
from tests import steps
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    lease_all,
    make_packet,
)


def document_of(packet):
    return packet.documents.order_by("pk").last()


def document_page(client, document):
    return client.get(f"/documents/{document.pk}/").content.decode()


def value(name, written, *, page=1, source="native", confidence=100.0):
    return FieldValue(name, written, page, source, confidence)


@pytest.mark.requirement("R14")
def test_the_site_sees_the_retention_but_not_the_reason_of_a_legal_hold(
    client, signed_in, ines, site, mara
):
    LegalHold.objects.create(study=site.study, reason="An unannounced inspection.", set_by=ines)
    document = document_of(make_packet(site, mara, FILED))
    text = document_page(signed_in, document)
    assert "Retained for 25 years after the end of study SLX-301" in text
    assert "hold" not in text
    assert "inspection" not in text
    client.force_login(ines)
    assert "An unannounced inspection." in document_page(client, document)


def test_values_are_shown_and_scanned_values_are_marked(signed_in, site, mara):
    fields = (
        value("approval_date", "2026-03-12", page=2, source="ocr", confidence=87.4),
        value("investigator", "Ada Byron", page=0, source="acroform"),
        value("expiry_date", "2027-03-11"),
    )
    packet = make_packet(site, mara, dataclasses.replace(FILED, fields=fields))
    text = document_page(signed_in, document_of(packet))
    read = text[text.index("Data read from this document") :]
    assert "<dt>Approval date</dt><dd>2026-03-12" in read
    assert "page 2, read from the scan, confidence 87%" in read
    assert "form field" in read
    assert read.count("confidence") == 1


def test_an_unread_document_shows_no_values(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    assert "What we read" not in document_page(signed_in, document_of(packet))


BYTES = b"%PDF-1.7 the bytes"


def in_archive(document, tmp_path):
    """Store the bytes in the archive under the checksum of the document, as a worker does."""
    path = tmp_path / "incoming"
    path.write_bytes(BYTES)
    get_archive().put(path, document.sha256)
    return BYTES


def test_the_timeline_comes_from_the_ledger(signed_in, site, mara):
    text = document_page(signed_in, document_of(make_packet(site, mara, REJECTED)))
    steps = ["<strong>Received", "Mara Lindqvist", "Checking started", "Rejected: not signed"]
    places = [text.index(step, text.index("History")) for step in steps]
    assert places == sorted(places)


@pytest.mark.requirement("R40")
def test_coordinators_see_no_names_of_worker_hosts(signed_in, site, mara):
    document = document_of(make_packet(site, mara, FILED))
    with ledger():
        record("document.seen", subject=document.subject, n=3, by=Actor("system:look"))
    text = document_page(signed_in, document)
    assert ", by SiteLedger</span>" in text
    assert ", system:look</span>" in text
    assert add_process("system:worker").partition("@")[2] not in text


def test_the_timeline_shows_events_without_a_change_of_state(signed_in, site, mara):
    document = document_of(make_packet(site, mara, FILED))
    with ledger():
        record("document.viewed", subject=document.subject, n=3, by=Actor("user:0", "auditor"))
    text = document_page(signed_in, document)
    assert "<strong>Viewed</strong>" in text
    assert ", auditor</span>" in text


def test_a_document_of_a_crashed_worker_is_back_in_the_queue(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    lease = lease_all(packet)
    steps.start_checking(packet.documents.get().pk, lease, sha256="0" * 64, size=9)
    with ledger():
        transitions.requeue_interrupted_documents(packet.batch.chunks.get())
    assert "Back in the queue" in document_page(signed_in, document_of(packet))


def test_the_page_shows_the_checksum_and_the_versions(signed_in, site, mara):
    make_packet(site, mara, REJECTED)
    document = document_of(make_packet(site, mara, FILED))
    text = document_page(signed_in, document)
    assert document.sha256 in text
    assert text.count("<time", text.index("Versions")) == 2
    assert "All checks passed. The document is on file." in text


def test_a_filed_document_is_downloaded_as_an_attachment(signed_in, site, mara, tmp_path):
    document = document_of(make_packet(site, mara, FILED, content=BYTES))
    content = in_archive(document, tmp_path)
    answer = signed_in.get(f"/documents/{document.pk}/file/")
    assert b"".join(answer.streaming_content) == content
    assert answer.headers["Content-Disposition"] == 'attachment; filename="irb-approval.pdf"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers["Content-Type"] == "application/pdf"


def test_a_file_with_an_unknown_suffix_has_a_generic_media_type(signed_in, site, mara, tmp_path):
    packet = make_packet(site, mara, FILED, content=BYTES)
    packet.documents.update(filename="page.html")
    in_archive(document_of(packet), tmp_path)
    answer = signed_in.get(f"/documents/{document_of(packet).pk}/file/")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert b"".join(answer.streaming_content)


def test_the_file_of_a_document_in_review_is_withheld(signed_in, site, mara, tmp_path):
    document = document_of(make_packet(site, mara, IN_REVIEW, content=BYTES))
    in_archive(document, tmp_path)
    assert signed_in.get(f"/documents/{document.pk}/file/").status_code == 404
    assert "Download the file" not in document_page(signed_in, document)


def test_a_document_without_bytes_has_no_download(signed_in, site, mara):
    document = document_of(make_packet(site, mara, FILED))
    assert document.sha256 != sha256(b"").hexdigest()
    assert signed_in.get(f"/documents/{document.pk}/file/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_timeline(
    signed_in, site, mara, django_assert_max_num_queries
):
    for _ in range(4):
        document = document_of(make_packet(site, mara, REJECTED))
    with django_assert_max_num_queries(18):
        document_page(signed_in, document)
