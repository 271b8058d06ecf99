"""The receipt of a packet: files, checksums, times and sender."""

import hashlib
from io import BytesIO

import pytest
from pypdf import PdfReader

from audit.ledger.queries import list_entries
from ingestion.models import Document
from tests.web.scenes import (
    FILED,
    REJECTED,
    make_packet,
    settle,
)


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)


def fetched(client, packet):
    return client.get(f"/packets/{packet.reference}/receipt/")


def text_of(content):
    """Return the text of a PDF without line breaks, because long values wrap."""
    pages = PdfReader(BytesIO(content)).pages
    return "".join("".join(page.extract_text() for page in pages).split())


def test_the_receipt_lists_every_file_with_its_checksum(signed_in, packet):
    answer = fetched(signed_in, packet)
    assert answer.headers["Content-Type"] == "application/pdf"
    name = f'attachment; filename="{packet.reference}-receipt.pdf"'
    assert answer.headers["Content-Disposition"] == name
    text = text_of(answer.content)
    for document in packet.documents.all():
        assert document.sha256 in text
        assert str(document.correlation_id) in text
        assert document.filename in text
        assert f"{document.size}bytes" in text
    for part in ("MaraLindqvist(mara)", packet.reference, "Rejected:Notsigned", "Filed,", "UTC"):
        assert part in text
    for command in ("certutil-hashfileFILESHA256", "shasum-a256FILE", "sha256sumFILE"):
        assert command in text


def test_the_receipt_shows_the_checksum_before_the_checks(signed_in, site, mara):
    content = b"%PDF-1.7 a letter"
    packet = make_packet(site, mara, None, content=content)
    text = text_of(fetched(signed_in, packet).content)
    assert hashlib.sha256(content).hexdigest() in text
    assert "StatusReceived" in text


def test_the_receipt_does_not_change_until_a_document_changes(signed_in, site, mara):
    packet = make_packet(site, mara, FILED, None)
    first = fetched(signed_in, packet).content
    assert fetched(signed_in, packet).content == first
    settle(packet, FILED)
    assert fetched(signed_in, packet).content != first


def test_the_receipt_shows_corrections_and_files_that_were_already_on_file(signed_in, packet):
    filed, rejected = packet.documents.order_by("pk")
    Document.objects.filter(pk=filed.pk).update(corrects=rejected)
    assert "Replaces" in text_of(fetched(signed_in, packet).content)


def test_file_names_in_any_script_are_printed_or_spelled_out(signed_in, packet):
    packet.documents.update(filename="審査<b>.pdf")
    assert "[U+5BE9]" in text_of(fetched(signed_in, packet).content)


@pytest.mark.requirement("R07")
def test_downloads_of_the_receipt_are_recorded(signed_in, mara, packet):
    for _ in range(2):
        fetched(signed_in, packet)
    signed_in.head(f"/packets/{packet.reference}/receipt/")
    entries = list_entries(packet.subject)
    assert [entry.event for entry in entries] == ["packet.receipt_downloaded"] * 2
    assert {entry.actor for entry in entries} == {mara.actor_name}


@pytest.mark.requirement("R15")
def test_the_receipt_of_another_site_is_not_found(stranger, packet):
    assert fetched(stranger, packet).status_code == 404
    assert list_entries(packet.subject) == []


def test_the_packet_page_links_to_the_receipt(signed_in, packet):
    page = signed_in.get(f"/packets/{packet.reference}/").content.decode()
    assert f'href="/packets/{packet.reference}/receipt/"' in page
