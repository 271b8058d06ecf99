"""Files of the upload form are saved as soon as they arrive, for their person only."""

import json
import os
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from ingestion.intake import drafts, upload_sessions
from ingestion.models import Document, Draft, DraftFile, Packet, ReceivedPart
from ingestion.operations import retention
from ingestion.storage import spool
from tests.factories import make_batch, make_user
from tests.web.scenes import pdf, send

FILES = "/packets/new/files/"


def put(client, file=None, **fields):
    """Send one file as the script does, and return the status and the JSON of the response."""
    data = {"token": "t-1", "corrects": "", "file": file or pdf()}
    answer = client.post(FILES, data | fields, headers={"Accept": "application/json"})
    return answer.status_code, json.loads(answer.content)


def spooled():
    folder = spool.get_path("uploads")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_an_uploaded_file_is_saved_before_anything_is_registered(signed_in):
    status, result = put(signed_in)
    assert (status, result["name"], result["token"]) == (201, "IRB_approval.pdf", "t-1")
    assert len(spooled()) == 1
    assert not Packet.objects.exists()
    assert latest() == []


def test_a_file_that_is_sent_twice_is_saved_once(signed_in):
    _, first = put(signed_in)
    status, second = put(signed_in, pdf("again.pdf", b"%PDF-1.7 IRB_approval.pdf"))
    assert (status, second["id"]) == (200, first["id"])
    assert len(spooled()) == 1


def test_a_packet_of_saved_files_is_sent_without_their_bytes(signed_in):
    _, result = put(signed_in)
    answer = send(signed_in, **{f"type-k{result['id']}": "irb-approval"})
    document = Document.objects.get()
    assert answer.url == f"/packets/{document.packet.reference}/"
    assert document.expected_sha256 == result["sha256"]
    assert spooled() == [document.spooled.removeprefix("uploads/")]
    assert not DraftFile.objects.exists()


def test_sending_a_packet_again_leads_to_the_same_packet(signed_in):
    _, result = put(signed_in)
    fields = {f"type-k{result['id']}": "irb-approval"}
    assert send(signed_in, **fields).url == send(signed_in, **fields).url
    assert Packet.objects.count() == 1


def test_a_draft_that_was_registered_but_not_closed_is_sent_once(signed_in, monkeypatch):
    """The server crashed between the registration and the end of the draft."""
    _, result = put(signed_in)
    fields = {f"type-k{result['id']}": "irb-approval"}
    close = drafts.close_draft
    monkeypatch.setattr(drafts, "close_draft", lambda *_: None)
    first = send(signed_in, **fields).url
    monkeypatch.setattr(drafts, "close_draft", close)
    assert send(signed_in, **fields).url == first
    assert not DraftFile.objects.exists()
    assert len(spooled()) == 1


def test_files_are_saved_if_the_system_is_at_capacity(signed_in, settings):
    put(signed_in)
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    answer = send(signed_in, **{"file-0": pdf("cv.pdf"), "type-0": "cv", "person-0": "Jo"})
    assert answer.status_code == 422
    assert [file.person for file in DraftFile.objects.all()] == ["", "Jo"]
    assert len(spooled()) == 2


def test_files_of_other_people_are_not_found(signed_in, site, client):
    _, result = put(signed_in)
    client.force_login(make_user(sites=(site,)))
    own = f"{FILES}{result['id']}/"
    assert client.post(own, {"type": "cv"}).status_code == 404
    assert client.post(f"{own}guess/").status_code == 404
    assert client.post(f"{own}remove/").status_code == 204
    assert json.loads(client.get(FILES).content) == {"files": []}
    assert DraftFile.objects.get().document_type == ""


def test_type_and_person_are_saved_with_the_file(signed_in):
    _, result = put(signed_in)
    signed_in.post(f"{FILES}{result['id']}/", {"type": "cv", "person": " Jo Brandt "})
    page = signed_in.get("/packets/new/").content.decode()
    assert 'value="Jo Brandt"' in page
    assert result["sha256"] in page


def test_a_removed_file_is_deleted_with_its_bytes(signed_in):
    _, result = put(signed_in)
    for _ in range(2):
        assert signed_in.post(f"{FILES}{result['id']}/remove/").status_code == 204
    assert spooled() == []


@pytest.mark.requirement("R08")
def test_a_refused_file_is_explained_and_recorded(signed_in):
    status, result = put(signed_in, pdf("letter.xlsx"))
    assert (status, result["message"][:24]) == (422, "We cannot open this file")
    (entry,) = latest()
    assert (entry.event, entry.reason_code) == ("packet.form_came_back", "file:unacceptable")
    assert spooled() == []


def test_a_packet_has_a_maximum_number_of_files(signed_in, settings):
    settings.MAX_UPLOAD_FILES = 2
    for name in ("first.pdf", "second.pdf"):
        put(signed_in, pdf(name))
    status, result = put(signed_in, pdf("third.pdf"))
    assert (status, result["message"]) == (
        422,
        "This file was not added. A packet can have at most 2 files.",
    )
    assert len(spooled()) == 2


def test_the_form_without_javascript_reports_the_same_file_in_two_rows(signed_in):
    page = send(
        signed_in, **{"file-0": pdf(), "file-1": pdf("b.pdf", b"%PDF-1.7 IRB_approval.pdf")}
    )
    assert "b.pdf: This is the same file as IRB_approval.pdf." in page.content.decode()


def test_two_tabs_share_one_draft(signed_in):
    put(signed_in, token="t-1")
    _, result = put(signed_in, pdf("b.pdf"), token="t-2")
    assert result["token"] == "t-1"
    assert Draft.objects.count() == 1


def test_unsent_drafts_are_deleted_after_a_week(signed_in):
    put(signed_in)
    retention.prune(days=0)
    assert len(spooled()) == 1
    Draft.objects.update(touched_at=timezone.now() - Draft.KEPT - timedelta(minutes=1))
    retention.prune(days=0)
    assert spooled() == []
    assert not Draft.objects.exists()


def test_old_files_of_a_draft_are_not_deleted_as_leftovers(signed_in):
    put(signed_in)
    (path,) = spool.get_path("uploads").iterdir()
    os.utime(path, (0, 0))
    retention.prune(days=1)
    assert len(spooled()) == 1


@pytest.mark.requirement("R08")
def test_overruling_a_detected_type_needs_one_confirmation_which_is_recorded(signed_in, mara):
    _, result = put(signed_in)
    DraftFile.objects.update(detected_type="cv", detected_at=timezone.now())
    fields = {f"type-k{result['id']}": "irb-approval"}
    page = send(signed_in, **fields).content.decode()
    assert "the detected type is CV, and you selected IRB approval" in page
    send(signed_in, **fields)
    prompted = next(each for each in latest() if each.event == "packet.form_came_back")
    assert prompted.reason_code == f"type-k{result['id']}:looks_like_another"
    received, overruled = list_entries(Document.objects.get().subject)
    assert (received.event, overruled.event) == ("document.received", "document.guess_overruled")
    assert overruled.actor == mara.actor_name
    assert overruled.detail["looks_like"] == "cv"


def test_a_detected_type_that_is_not_overruled_needs_no_confirmation(signed_in):
    put(signed_in, pdf("scan.pdf"))
    DraftFile.objects.update(detected_type="irb-approval", detected_at=timezone.now())
    send(signed_in)
    document = Document.objects.get()
    assert document.document_type == "irb-approval"
    assert [entry.event for entry in list_entries(document.subject)] == ["document.received"]


LARGE = b"%PDF-1.7 " + bytes(range(256)) * 100
UPLOAD = "0123456789abcdef0123456789abcdef"


def put_part(client, first, last, content=LARGE, **fields):
    """Send one part of a large file, as the script of the previous release did."""
    cut = {"upload": UPLOAD, "offset": first, "whole": len(content), "name": "IRB.pdf"}
    return put(client, pdf("part", content[first:last]), **cut | fields)


def test_a_large_file_arrives_in_parts_and_a_lost_connection_costs_one_part(signed_in):
    status, result = put_part(signed_in, 0, 10_000)
    assert (status, result["received"], result["token"]) == (202, 10_000, "t-1")
    assert put_part(signed_in, 0, 10_000) == (409, {"received": 10_000})  # its answer was lost
    assert put_part(signed_in, 20_000, 25_000) == (409, {"received": 10_000})
    assert put_part(signed_in, 10_000, 20_000)[0] == 202
    status, result = put_part(signed_in, 20_000, len(LARGE))
    assert (status, result["name"], result["size"]) == (201, "IRB.pdf", len(LARGE))
    (kept,) = spooled()
    assert spool.get_path(f"uploads/{kept}").read_bytes() == LARGE
    assert not ReceivedPart.objects.exists()


class Killed(Exception):
    """Represents the end of the web server's process."""


def die(*_):
    raise Killed


def test_an_upload_that_was_complete_before_a_crash_is_finished_by_the_next_request(
    signed_in, monkeypatch
):
    put_part(signed_in, 0, 10_000)
    with monkeypatch.context() as dying:
        dying.setattr(upload_sessions, "finish_upload", die)
        with pytest.raises(Killed):
            put_part(signed_in, 10_000, len(LARGE))
    status, result = put_part(signed_in, 10_000, len(LARGE))
    assert (status, result["size"]) == (201, len(LARGE))
    assert not ReceivedPart.objects.exists()


def test_suffix_and_size_of_a_file_in_parts_are_checked_for_the_complete_file(signed_in, settings):
    assert put_part(signed_in, 0, 100, name="notes.exe")[0] == 422
    settings.MAX_DOCUMENT_MB = 1
    assert put_part(signed_in, 0, 100, content=bytes(1_100_000))[0] == 422
    assert spooled() == []


@pytest.mark.parametrize(
    "fields", [{"offset": "x"}, {"whole": "5"}, {"offset": "9" * 5_000}, {"upload": "../../x"}]
)
def test_a_part_with_an_impossible_offset_is_a_bad_request(signed_in, fields):
    cut = {"upload": UPLOAD, "offset": 0, "whole": len(LARGE), "name": "IRB.pdf"} | fields
    data = {"token": "t-1", "corrects": "", "file": pdf("part", LARGE[:100])} | cut
    assert signed_in.post(FILES, data).status_code == 400
    assert spooled() == []


def test_uploads_of_other_people_cannot_be_continued(signed_in, client, site):
    put_part(signed_in, 0, 10_000)
    client.force_login(make_user("nora", sites=(site,)))
    assert put_part(client, 10_000, 20_000) == (409, {"received": 0})


def test_incomplete_uploads_are_deleted_after_a_week(signed_in):
    put_part(signed_in, 0, 10_000)
    Draft.objects.update(touched_at=timezone.now() - timedelta(days=8))
    assert drafts.drop_expired_drafts() == 1
    assert spooled() == []


def test_a_file_beyond_the_quota_is_refused_with_advice(signed_in, settings):
    settings.OPEN_UPLOAD_MB = 0
    status, result = put(signed_in)
    assert status == 422
    assert "Submit one of them or remove files" in result["message"]
    answer = send(signed_in, **{"file-0": pdf()})
    assert "Submit one of them or remove files" in answer.content.decode()


def test_a_full_disk_is_reported_and_the_script_retries(signed_in, settings):
    settings.READY_FREE_MB = 10**9
    status, result = put(signed_in)
    assert (status, spooled()) == (507, [])
    assert "no space" in result["message"]


CUT = {
    "parts": [
        {"pages": [2, 3], "type": "cv", "is_declared": True},
        {"pages": [5, 5], "type": "irb-approval", "is_declared": True},
    ],
    "excluded": [],
    "is_certain": True,
}
IN_DOUBT = {
    "parts": [{"pages": [1, 2], "type": ""}, {"pages": [3, 3], "type": "cv"}],
    "excluded": [],
    "is_certain": False,
}


@pytest.mark.parametrize(
    ("cut", "sentences"),
    [
        (
            CUT,
            [
                "According to its separator sheets, this file contains 2 documents:",
                "Pages 2 to 3: CV",
                "Page 5: IRB approval",
                "Send the packet.",
            ],
        ),
        (
            IN_DOUBT,
            [
                "This file seems to contain 2 documents:",
                "Pages 1 to 2: type not detected",
                "Page 3: CV",
                "QA confirms where each document begins",
            ],
        ),
    ],
)
def test_the_form_shows_the_documents_of_a_file_before_it_is_sent(signed_in, cut, sentences):
    put(signed_in)
    DraftFile.objects.update(detected_type="several-documents", detected_at=timezone.now(), cut=cut)
    page = signed_in.get("/packets/new/").content.decode()
    answer = signed_in.get(FILES).content.decode()
    for sentence in sentences:
        assert sentence in page
        assert sentence in answer
    assert '<option value="several-documents" selected>' in page


def test_a_file_with_several_documents_is_sent_without_a_type_under_a_name_of_its_own(signed_in):
    for content in (b"%PDF-1.7 one", b"%PDF-1.7 two"):
        put(signed_in, pdf("scan.pdf", content))
    DraftFile.objects.update(detected_type="several-documents", detected_at=timezone.now(), cut=CUT)
    send(signed_in)
    files = list(Document.objects.order_by("pk"))
    assert [file.document_type for file in files] == ["", ""]
    assert [file.doc_id for file in files] == [
        f"several-documents.{file.expected_sha256[:12]}" for file in files
    ]


def test_another_type_for_a_file_with_several_documents_has_to_be_confirmed(signed_in):
    _, result = put(signed_in)
    DraftFile.objects.update(detected_type="several-documents", detected_at=timezone.now(), cut=CUT)
    page = send(signed_in, **{f"type-k{result['id']}": "irb-approval"}).content.decode()
    assert "the detected type is Several documents, and you selected IRB approval" in page
