"""Actions of people on the pages, and their views and downloads, are recorded."""

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from ingestion.models import DraftFile, Packet
from ingestion.storage.archive import get_archive
from tests.web.scenes import (
    FILED,
    make_packet,
    pdf,
    send,
)

BYTES = b"%PDF-1.7 a letter"
SHA256 = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture
def document(site, mara, tmp_path):
    packet = make_packet(site, mara, FILED, content=BYTES)
    (tmp_path / "letter").write_bytes(BYTES)
    get_archive().put(tmp_path / "letter", SHA256)
    return packet.documents.get()


def downloads(document):
    return [each for each in list_entries(document.subject) if each.event == "document.downloaded"]


@pytest.mark.requirement("R07")
def test_a_download_records_the_document_and_its_checksum(signed_in, mara, document):
    address = f"/documents/{document.pk}/file/"
    answer = signed_in.get(address, headers={"X-Request-ID": "trace-7"})
    assert b"".join(answer.streaming_content) == BYTES
    (entry,) = downloads(document)
    assert (entry.actor, entry.role, entry.site) == (mara.actor_name, "site coordinator", "0203")
    assert entry.sha256 == SHA256
    names = ("printed_name", "request_id", "address")
    assert [entry.detail[name] for name in names] == ["Mara Lindqvist", "trace-7", "127.0.0.1"]


@pytest.mark.requirement("R07")
def test_head_requests_and_page_views_are_not_recorded_as_downloads(signed_in, document):
    answer = signed_in.head(f"/documents/{document.pk}/file/")
    for close in answer._resource_closers:  # as a server does; close() would end the connection
        close()
    signed_in.get(f"/documents/{document.pk}/")
    assert downloads(document) == []


@pytest.mark.requirement("R15")
def test_a_refused_download_is_not_recorded_as_a_download(stranger, document):
    assert stranger.get(f"/documents/{document.pk}/file/").status_code == 404
    assert downloads(document) == []


@pytest.mark.requirement("R07")
def test_no_byte_is_sent_without_its_entry(signed_in, document, settings):
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    signed_in.raise_request_exception = False
    answer = signed_in.get(f"/documents/{document.pk}/file/")
    assert (answer.status_code, BYTES in answer.content) == (500, False)


def test_reading_pages_records_nothing(signed_in, document):
    for address in ("/", f"/documents/{document.pk}/", f"/packets/{document.packet.reference}/"):
        with CaptureQueriesContext(connection) as queries:
            signed_in.get(address)
        verbs = {query["sql"].split()[0] for query in queries}
        assert verbs == {"SELECT"}, address


@pytest.mark.requirement("R08")
def test_upload_errors_are_recorded(signed_in, mara):
    send(signed_in, **{"file-0": pdf("scan0001.pdf"), "type-0": "", "file-1": pdf("a.xlsx")})
    assert not Packet.objects.exists()
    (entry,) = latest()
    assert (entry.event, entry.actor, entry.site) == (
        "packet.form_came_back",
        mara.actor_name,
        "0203",
    )
    assert entry.reason_code == "file-1:unacceptable"
    kept = DraftFile.objects.get()
    assert [each["field"] for each in entry.detail["typed"]] == [f"row-k{kept.pk}", "row-1"]
    assert "a.xlsx" in entry.detail["typed"][1]["value"]
    assert entry.detail["request_id"]


@pytest.mark.requirement("R08")
def test_the_confirmation_of_a_type_and_the_later_change_are_recorded(signed_in, mara):
    send(signed_in, **{"file-0": pdf("scan0001.pdf"), "type-0": ""})
    kept = DraftFile.objects.get()
    send(signed_in, **{f"type-k{kept.pk}": "irb-approval"})
    prompted, *registered = reversed(latest())
    assert prompted.reason_code == f"type-k{kept.pk}:not_registrable"
    received = next(each for each in registered if each.event == "document.received")
    assert received.actor == mara.actor_name
    assert received.detail["printed_name"] == "Mara Lindqvist"
