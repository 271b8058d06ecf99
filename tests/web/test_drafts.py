"""Files of the upload form are kept as they come, for their person alone."""

import json
import os
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import timeline
from ingestion.intake import drafts, upload_sessions
from ingestion.models import Document, Draft, DraftFile, Packet, ReceivedPart
from ingestion.operations import retention
from ingestion.storage import spool
from tests.factories import make_batch, make_user
from tests.web.scenes import pdf, send

FILES = "/packets/new/files/"


def put(client, file=None, **fields):
    """As upload.js sends one file. Answers the status and what it says."""
    data = {"token": "t-1", "corrects": "", "file": file or pdf()}
    answer = client.post(FILES, data | fields, headers={"Accept": "application/json"})
    return answer.status_code, json.loads(answer.content)


def spooled():
    folder = spool.get_path("uploads")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_kept_and_nothing_is_registered(signed_in):
    status, said = put(signed_in)
    assert (status, said["name"], said["token"]) == (201, "IRB_approval.pdf", "t-1")
    assert len(spooled()) == 1
    assert not Packet.objects.exists()
    assert latest() == []


def test_a_file_that_comes_twice_is_kept_once(signed_in):
    _, first = put(signed_in)
    status, second = put(signed_in, pdf("again.pdf", b"%PDF-1.7 IRB_approval.pdf"))
    assert (status, second["id"]) == (200, first["id"])
    assert len(spooled()) == 1


def test_a_packet_of_files_that_came_before_is_sent_without_them(signed_in):
    _, said = put(signed_in)
    answer = send(signed_in, **{f"type-k{said['id']}": "irb-approval"})
    document = Document.objects.get()
    assert answer.url == f"/packets/{document.packet.reference}/"
    assert document.expected_sha256 == said["sha256"]
    assert spooled() == [document.spooled.removeprefix("uploads/")]
    assert not DraftFile.objects.exists()


def test_sending_again_what_was_sent_leads_to_its_packet(signed_in):
    _, said = put(signed_in)
    fields = {f"type-k{said['id']}": "irb-approval"}
    assert send(signed_in, **fields).url == send(signed_in, **fields).url
    assert Packet.objects.count() == 1


def test_a_draft_that_was_registered_and_not_closed_is_sent_once(signed_in, monkeypatch):
    """As when the server dies between the two."""
    _, said = put(signed_in)
    fields = {f"type-k{said['id']}": "irb-approval"}
    close = drafts.close_draft
    monkeypatch.setattr(drafts, "close_draft", lambda *_: None)
    first = send(signed_in, **fields).url
    monkeypatch.setattr(drafts, "close_draft", close)
    assert send(signed_in, **fields).url == first
    assert not DraftFile.objects.exists()
    assert len(spooled()) == 1


def test_with_no_room_for_more_the_files_are_kept(signed_in, settings):
    put(signed_in)
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    answer = send(signed_in, **{"file-0": pdf("cv.pdf"), "type-0": "cv", "person-0": "Jo"})
    assert answer.status_code == 422
    assert [file.person for file in DraftFile.objects.all()] == ["", "Jo"]
    assert len(spooled()) == 2


def test_another_persons_file_does_not_exist(signed_in, site, client):
    _, said = put(signed_in)
    client.force_login(make_user(sites=(site,)))
    own = f"{FILES}{said['id']}/"
    assert client.post(own, {"type": "cv"}).status_code == 404
    assert client.post(f"{own}guess/").status_code == 404
    assert client.post(f"{own}remove/").status_code == 204
    assert json.loads(client.get(FILES).content) == {"files": []}
    assert DraftFile.objects.get().document_type == ""


def test_what_is_said_of_a_file_is_kept_with_it(signed_in):
    _, said = put(signed_in)
    signed_in.post(f"{FILES}{said['id']}/", {"type": "cv", "person": " Jo Brandt "})
    page = signed_in.get("/packets/new/").content.decode()
    assert 'value="Jo Brandt"' in page
    assert said["sha256"] in page


def test_a_file_is_taken_out_with_its_bytes(signed_in):
    _, said = put(signed_in)
    for _ in range(2):
        assert signed_in.post(f"{FILES}{said['id']}/remove/").status_code == 204
    assert spooled() == []


@pytest.mark.requirement("R08")
def test_a_file_that_is_not_taken_is_refused_in_words_and_on_record(signed_in):
    status, said = put(signed_in, pdf("letter.docx"))
    assert (status, said["message"][:16]) == (422, "This is not a PD")
    (entry,) = latest()
    assert (entry.event, entry.reason_code) == ("packet.form_came_back", "file:unacceptable")
    assert spooled() == []


def test_a_packet_holds_so_many_files_and_no_more(signed_in, settings):
    settings.MAX_UPLOAD_FILES = 2
    for name in ("first.pdf", "second.pdf"):
        put(signed_in, pdf(name))
    status, said = put(signed_in, pdf("third.pdf"))
    assert (status, said["message"]) == (
        422,
        "This file was not added: a packet can have at most 2 files.",
    )
    assert len(spooled()) == 2


def test_without_javascript_the_same_file_in_two_rows_is_told(signed_in):
    page = send(
        signed_in, **{"file-0": pdf(), "file-1": pdf("b.pdf", b"%PDF-1.7 IRB_approval.pdf")}
    )
    assert "b.pdf: This is the same file as IRB_approval.pdf." in page.content.decode()


def test_two_tabs_share_one_draft(signed_in):
    put(signed_in, token="t-1")
    _, said = put(signed_in, pdf("b.pdf"), token="t-2")
    assert said["token"] == "t-1"
    assert Draft.objects.count() == 1


def test_what_nobody_sends_goes_after_a_week_and_not_before(signed_in):
    put(signed_in)
    retention.prune(days=0)
    assert len(spooled()) == 1
    Draft.objects.update(touched_at=timezone.now() - Draft.KEPT - timedelta(minutes=1))
    retention.prune(days=0)
    assert spooled() == []
    assert not Draft.objects.exists()


def test_an_old_file_of_a_draft_is_no_leftover(signed_in):
    put(signed_in)
    (path,) = spool.get_path("uploads").iterdir()
    os.utime(path, (0, 0))
    retention.prune(days=1)
    assert len(spooled()) == 1


@pytest.mark.requirement("R08")
def test_who_overrules_a_clear_guess_is_asked_once_and_both_are_on_record(signed_in, mara):
    _, said = put(signed_in)
    DraftFile.objects.update(guess="cv", guessed_at=timezone.now())
    fields = {f"type-k{said['id']}": "irb-approval"}
    page = send(signed_in, **fields).content.decode()
    assert "the detected type is CV, and you selected IRB approval" in page
    send(signed_in, **fields)
    prompted = next(each for each in latest() if each.event == "packet.form_came_back")
    assert prompted.reason_code == f"type-k{said['id']}:looks_like_another"
    received, overruled = timeline(Document.objects.get().subject)
    assert (received.event, overruled.event) == ("document.received", "document.guess_overruled")
    assert overruled.actor == mara.actor_name
    assert overruled.detail["looks_like"] == "cv"


def test_a_guess_that_nobody_overrules_is_no_question(signed_in):
    put(signed_in, pdf("scan.pdf"))
    DraftFile.objects.update(guess="irb-approval", guessed_at=timezone.now())
    send(signed_in)
    document = Document.objects.get()
    assert document.document_type == "irb-approval"
    assert [entry.event for entry in timeline(document.subject)] == ["document.received"]


LARGE = b"%PDF-1.7 " + bytes(range(256)) * 100
UPLOAD = "0123456789abcdef0123456789abcdef"


def put_part(client, first, last, content=LARGE, **fields):
    """As transport.js sends one part of a large file."""
    cut = {"upload": UPLOAD, "offset": first, "whole": len(content), "name": "IRB.pdf"}
    return put(client, pdf("part", content[first:last]), **cut | fields)


def test_a_large_file_comes_in_parts_and_a_lost_connection_costs_one(signed_in):
    status, said = put_part(signed_in, 0, 10_000)
    assert (status, said["received"], said["token"]) == (202, 10_000, "t-1")
    assert put_part(signed_in, 0, 10_000) == (409, {"received": 10_000})  # its answer was lost
    assert put_part(signed_in, 20_000, 25_000) == (409, {"received": 10_000})
    assert put_part(signed_in, 10_000, 20_000)[0] == 202
    status, said = put_part(signed_in, 20_000, len(LARGE))
    assert (status, said["name"], said["size"]) == (201, "IRB.pdf", len(LARGE))
    (kept,) = spooled()
    assert spool.get_path(f"uploads/{kept}").read_bytes() == LARGE
    assert not ReceivedPart.objects.exists()


class Killed(Exception):
    """Stands for the end of the web server's process."""


def die(*_):
    raise Killed


def test_a_file_whose_parts_all_came_before_the_server_died_is_joined_when_it_is_asked_again(
    signed_in, monkeypatch
):
    put_part(signed_in, 0, 10_000)
    with monkeypatch.context() as dying:
        dying.setattr(upload_sessions, "finish_upload", die)
        with pytest.raises(Killed):
            put_part(signed_in, 10_000, len(LARGE))
    status, said = put_part(signed_in, 10_000, len(LARGE))
    assert (status, said["size"]) == (201, len(LARGE))
    assert not ReceivedPart.objects.exists()


def test_the_kind_and_size_of_a_file_in_parts_are_judged_by_the_whole(signed_in, settings):
    assert put_part(signed_in, 0, 100, name="notes.exe")[0] == 422
    settings.MAX_DOCUMENT_MB = 1
    assert put_part(signed_in, 0, 100, content=bytes(1_100_000))[0] == 422
    assert spooled() == []


@pytest.mark.parametrize(
    "fields", [{"offset": "x"}, {"whole": "5"}, {"offset": "9" * 5_000}, {"upload": "../../x"}]
)
def test_a_part_that_is_cut_wrongly_is_a_bad_request(signed_in, fields):
    cut = {"upload": UPLOAD, "offset": 0, "whole": len(LARGE), "name": "IRB.pdf"} | fields
    data = {"token": "t-1", "corrects": "", "file": pdf("part", LARGE[:100])} | cut
    assert signed_in.post(FILES, data).status_code == 400
    assert spooled() == []


def test_parts_of_another_person_are_not_gone_on_with(signed_in, client, site):
    put_part(signed_in, 0, 10_000)
    client.force_login(make_user("nora", sites=(site,)))
    assert put_part(client, 10_000, 20_000) == (409, {"received": 0})


def test_parts_that_nobody_completes_are_dropped_after_a_week(signed_in):
    put_part(signed_in, 0, 10_000)
    Draft.objects.update(touched_at=timezone.now() - timedelta(days=8))
    assert drafts.drop_expired_drafts() == 1
    assert spooled() == []


def test_what_exceeds_the_quota_of_a_person_is_refused_with_what_to_do(signed_in, settings):
    settings.OPEN_UPLOAD_MB = 0
    status, said = put(signed_in)
    assert status == 422
    assert "Submit one of them or remove files" in said["message"]
    answer = send(signed_in, **{"file-0": pdf()})
    assert "Submit one of them or remove files" in answer.content.decode()


def test_a_full_disk_is_said_and_the_script_tries_again(signed_in, settings):
    settings.READY_FREE_MB = 10**9
    status, said = put(signed_in)
    assert (status, spooled()) == (507, [])
    assert "no space" in said["message"]
