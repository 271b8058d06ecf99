"""A packet whose files come one by one: over a bad line each is tried again until it is there."""

import base64
import hashlib
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from api import open_packets
from ingestion.intake import open_packets as intake
from ingestion.intake import upload_sessions
from ingestion.models import Batch, Document, OpenPacket, ReceivedPart, Upload
from ingestion.storage import spool
from tests.api.conftest import Program
from tests.api.servers import ask, web_server
from tests.api.test_problems import problem

LETTER, LIFE = b"%PDF-1.7 a letter", b"%PDF-1.7 a life"


def declared(content, filename="IRB.pdf", document_type="irb-approval", **more):
    sha256 = hashlib.sha256(content).hexdigest()
    return {
        "filename": filename,
        "document_type": document_type,
        "sha256": sha256,
        "size": len(content),
    } | more


BOTH = {
    "files": [
        declared(LETTER),
        declared(LIFE, "CV.pdf", "cv", person="Mara Lind"),
    ]
}


def path_of(address):
    return address.removeprefix("http://testserver")


@pytest.fixture
def opened(program):
    """The packet as the interface describes it."""
    response = program.send(BOTH, key="k")
    assert response.status_code == 201, response.content
    return response.json()


def put(program, opened, number, content, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return program.ask(
        "PUT",
        path_of(opened["files"][number]["url"]),
        data=content,
        content_type="application/octet-stream",
        headers=headers,
    )


def spooled():
    folder = spool.get_path("uploads")
    return {f"uploads/{path.name}" for path in folder.iterdir()} if folder.exists() else set()


def submit(program, opened):
    return program.ask("POST", path_of(opened["submit_url"]))


def test_files_are_put_one_by_one_and_submitted_together(program, opened, site):
    assert [each["received"] for each in opened["files"]] == [False, False]
    first = put(program, opened, 0, LETTER)
    assert (first.status_code, first.json()["received"]) == (201, True)
    assert first["ETag"] == f'"{hashlib.sha256(LETTER).hexdigest()}"'
    assert put(program, opened, 1, LIFE).status_code == 201
    response = submit(program, opened)
    assert response.status_code == 202, response.content
    batch = Batch.objects.get()
    assert response["Location"].endswith(f"/api/v1/batches/{batch.reference}")
    documents = {each.doc_id: each for each in batch.documents.all()}
    assert documents.keys() == {"irb-approval", "cv.mara-lind"}
    assert {each.site for each in documents.values()} == {site}
    assert spool.get_path(documents["irb-approval"].spooled).read_bytes() == LETTER
    assert spooled() == {each.spooled for each in documents.values()}, "nothing is kept twice"
    assert not OpenPacket.objects.exists()


def test_nothing_is_registered_before_it_is_complete(program, opened):
    put(program, opened, 1, LIFE)
    said = problem(submit(program, opened), 409)
    assert [each["line"] for each in said["errors"]] == [1]
    assert not Batch.objects.exists()


def test_a_file_that_came_already_is_200(program, opened):
    put(program, opened, 0, LETTER)
    assert put(program, opened, 0, LETTER).status_code == 200
    now = program.get(path_of(opened["url"])).json()
    assert [each["received"] for each in now["files"]] == [True, False]


def test_opening_again_finds_what_has_come(program, opened):
    put(program, opened, 0, LETTER)
    again = program.send(BOTH, key="k")
    assert (again.status_code, again.json()["id"]) == (201, opened["id"])
    assert again["Location"] == opened["url"]
    assert [each["received"] for each in again.json()["files"]] == [True, False]
    other = program.send({"files": BOTH["files"][:1]}, key="k")
    assert problem(other, 422)["type"].endswith("key-reused")


def test_submitting_again_is_the_same_batch(program, opened):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, LIFE)
    first, second = submit(program, opened), submit(program, opened)
    assert (first.status_code, second.status_code) == (202, 202)
    assert first["Location"] == second["Location"]
    by_its_batch = path_of(first["Location"]).replace("batches", "packets")
    assert program.ask("POST", f"{by_its_batch}:submit")["Location"] == first["Location"]
    late = put(program, opened, 0, LETTER)
    problem(late, 409)
    assert late["Location"] == first["Location"]
    assert program.send(BOTH, key="k")["Location"] == first["Location"]
    assert Document.objects.count() == 2


def test_what_is_not_as_declared_is_not_kept(program, opened):
    for content in (LETTER[:-1], LETTER + b"x", LETTER[:-1] + b"x"):
        problem(put(program, opened, 0, content), 422)
    assert not program.get(path_of(opened["url"])).json()["files"][0]["received"]
    assert spooled() == set()


def test_a_digest_in_the_header_is_believed_before_a_byte_is_read(program, opened):
    def digest(content):
        return base64.b64encode(hashlib.sha256(content).digest()).decode()

    other = put(program, opened, 0, LETTER, content_digest=f"sha-256=:{digest(LIFE)}:")
    problem(other, 422)
    for broken in ("sha-256=abc", "sha-256=:a:"):
        problem(put(program, opened, 0, LETTER, content_digest=broken), 400)
    unknown = f"md5=:AAAA:, sha-256=:{digest(LETTER)}:"
    assert put(program, opened, 0, LETTER, content_digest=unknown).status_code == 201


def test_another_site_can_neither_see_nor_fill_nor_submit_it(program, stranger, opened):
    problem(stranger.get(path_of(opened["url"])), 404)
    problem(put(stranger, opened, 0, LETTER), 404)
    problem(submit(stranger, opened), 404)
    theirs = stranger.send(BOTH, key="k").json()
    assert theirs["id"] != opened["id"]


def test_what_there_is_not_is_404(program, opened):
    for nowhere in (f"packets/{uuid.uuid4()}", "packets/BAT-2026-0001"):
        problem(program.get(nowhere), 404)
        problem(program.ask("POST", f"{nowhere}:submit"), 404)
    problem(program.ask("PUT", f"{path_of(opened['url'])}/documents/2", data=b"x"), 404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"filename": "IRB.docx"}, "filename"),
        ({"size": 10**9}, "size"),
        ({"sha256": "AB"}, "sha256"),
        ({"document_type": "cv"}, "person"),
        ({"document_type": "x"}, "document_type"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_could_never_be_registered_is_not_opened(program, change, field):
    said = problem(program.send({"files": [declared(LETTER, **change)]}), 422)
    assert (said["errors"][0]["line"], said["errors"][0]["field"]) == (1, field)
    assert not OpenPacket.objects.exists()


def test_a_packet_for_which_nothing_came_for_a_day_is_dropped(program, opened):
    put(program, opened, 0, LETTER)
    OpenPacket.objects.update(touched_at=timezone.now() - OpenPacket.KEPT - timedelta(minutes=1))
    said = problem(program.get(path_of(opened["url"])), 404)
    assert "open it again under the same key" in said["detail"]
    program.send({"files": [declared(LETTER)]}, key="other")
    assert OpenPacket.objects.count() == 1
    assert spooled() == set()


@pytest.mark.django_db(transaction=True)
def test_ten_who_submit_at_once_get_one_batch(program, opened):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, LIFE)

    def once(_):
        try:
            response = submit(Program(program.token, program.secret), opened)
            return response.status_code, response.headers.get("Location")
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as threads:
        answers = set(threads.map(once, range(10)))
    assert len(answers) == 1, answers
    assert Document.objects.count() == 2


def test_who_submits_while_it_is_being_put_away_gets_the_same_batch(program, opened, monkeypatch):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, LIFE)
    first = submit(program, opened)
    look, not_yet = open_packets._submitted, [True]

    def look_once_in_vain(*whose):
        return None if not_yet and not_yet.pop() else look(*whose)

    monkeypatch.setattr(open_packets, "_submitted", look_once_in_vain)
    second = submit(program, opened)
    assert not not_yet
    assert (second.status_code, second["Location"]) == (first.status_code, first["Location"])


@pytest.mark.django_db(transaction=True)
def test_over_the_wire_a_file_that_breaks_off_is_not_kept(program, site, settings):
    large = b"%PDF-1.7" + bytes(3_000_000)
    opened = program.send({"files": [declared(large)]}).json()
    with web_server(settings) as address:
        where = path_of(opened["files"][0]["url"])
        token = f"Bearer {program.secret}"
        length = str(len(large))
        cut = ask(
            address, "PUT", where, body=large[:1_000_000], authorization=token,
            content_length=length, hang_up=True,
        )  # fmt: skip
        assert cut is None
        whole = ask(address, "PUT", where, body=large, authorization=token)
    assert whole.status == 201, whole.body
    assert Upload.objects.get().is_complete
    assert spooled() == {Upload.objects.get().spooled}
    assert not ReceivedPart.objects.exists()


LARGE = b"%PDF-1.7 " + bytes(range(256)) * 100


@pytest.fixture
def large(program):
    return program.send({"files": [declared(LARGE)]}, key="large").json()


def put_part(program, opened, first, last, content=LARGE):
    where = f"bytes {first}-{last - 1}/{len(content)}"
    return put(program, opened, 0, content[first:last], content_range=where)


def test_a_file_comes_in_parts_and_a_lost_connection_costs_one(program, large):
    first = put_part(program, large, 0, 10_000)
    assert (first.status_code, first["Upload-Offset"]) == (202, "10000")
    assert first.json()["received_bytes"] == 10_000
    again = put_part(program, large, 0, 10_000)  # its answer was lost
    assert (again.status_code, again["Upload-Offset"]) == (409, "10000")
    assert "Send the part that begins there" in again.json()["detail"]
    assert put_part(program, large, 20_000, 25_000).status_code == 409
    assert program.get(path_of(large["url"])).json()["files"][0]["received_bytes"] == 10_000
    assert put_part(program, large, 10_000, 20_000).status_code == 202
    last = put_part(program, large, 20_000, len(LARGE))
    assert (last.status_code, last.json()["received"]) == (201, True)
    assert put_part(program, large, 20_000, len(LARGE)).status_code == 200
    assert submit(program, large).status_code == 202
    document = Document.objects.get()
    assert spool.get_path(document.spooled).read_bytes() == LARGE


class Killed(Exception):
    """Stands for the end of the web server's process."""


def die(*_):
    raise Killed


def test_a_file_whose_parts_all_came_before_the_server_died_is_joined_when_it_is_asked_again(
    program, large, monkeypatch
):
    put_part(program, large, 0, 10_000)
    with monkeypatch.context() as dying:
        dying.setattr(upload_sessions, "finish_upload", die)
        assert put_part(program, large, 10_000, len(LARGE)).status_code == 500
    last = put_part(program, large, 10_000, len(LARGE))
    assert (last.status_code, last.json()["received"]) == (201, True)
    assert submit(program, large).status_code == 202


def test_parts_that_make_another_file_are_dropped_and_it_begins_anew(program, large):
    other = LARGE[:-1] + b"?"
    assert put_part(program, large, 0, 20_000, other).status_code == 202
    answer = put_part(program, large, 20_000, len(LARGE), other)
    assert answer.status_code == 422
    assert "SHA-256" in answer.json()["detail"]
    assert program.get(path_of(large["url"])).json()["files"][0]["received_bytes"] == 0
    assert put(program, large, 0, LARGE).status_code == 201


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("bytes 0-9", 400),
        ("bytes 5-3/{size}", 422),
        ("bytes 0-9/17", 422),
        ("bytes 0-4/{size}", 400),
        ("bytes 0-{size}/{size}", 422),
        ("bytes 0-" + "9" * 40 + "/{size}", 400),
    ],
)
def test_a_part_that_is_described_wrongly_is_refused(program, large, header, status):
    said = header.format(size=len(LARGE))
    assert put(program, large, 0, LARGE[:10], content_range=said).status_code == status


def test_a_part_has_eight_mebibytes_at_most(program, settings):
    content = b"%PDF-1.7 " + bytes(9 * 1024 * 1024)
    opened = program.send({"files": [declared(content)]}, key="huge").json()
    assert put_part(program, opened, 0, len(content), content).status_code == 413
    assert put(program, opened, 0, content).status_code == 201  # whole, as before


def test_more_open_packets_than_the_quota_are_refused_until_one_is_dropped(program, settings):
    settings.OPEN_UPLOADS = 2
    first, _second = (program.send(BOTH, key=f"k{number}").json() for number in range(2))
    refused = program.send(BOTH, key="k2")
    assert refused.status_code == 429
    assert refused.json()["type"] == "urn:siteledger:over-quota"
    dropped = program.ask("DELETE", path_of(first["url"]))
    assert dropped.status_code == 204
    assert program.get(path_of(first["url"])).status_code == 404
    assert program.send(BOTH, key="k2").status_code == 201


def test_a_full_disk_is_said_with_the_time_to_come_back(program, opened, settings):
    settings.READY_FREE_MB = 10**9
    answer = put(program, opened, 0, LETTER)
    assert (answer.status_code, answer["Retry-After"]) == (507, "600")
    assert "no room" in answer.json()["detail"]


def test_another_sites_token_drops_nothing(opened, stranger, program):
    assert stranger.ask("DELETE", path_of(opened["url"])).status_code == 404
    assert program.get(path_of(opened["url"])).status_code == 200


def test_a_request_that_broke_off_does_not_disturb_the_one_that_follows(opened):
    """Both were begun at the same moment: the broken one ends while the other is received."""
    packet = OpenPacket.objects.get()
    first, second = intake.get_or_begin_upload(packet, 0), intake.get_or_begin_upload(packet, 0)
    assert first.pk == second.pk

    def received():
        yield LETTER[:3]
        with pytest.raises(upload_sessions.DigestMismatch):
            upload_sessions.receive_whole_file(first, [LETTER[:2]])
        yield LETTER[3:]

    assert upload_sessions.receive_whole_file(second, received()).is_complete
    assert spooled() == {Upload.objects.get().spooled}
