"""Open packets: files are uploaded one by one, and can be repeated after a lost connection."""

import base64
import hashlib
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from api.uploads import open_packets
from ingestion.intake import open_packets as intake
from ingestion.intake import upload_sessions
from ingestion.models import Batch, Document, OpenPacket, ReceivedPart, Upload
from ingestion.storage import spool
from tests.api.conftest import Program, check_problem
from tests.api.servers import send_request, web_server

LETTER, CURRICULUM = b"%PDF-1.7 a letter", b"%PDF-1.7 a CV"


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
        declared(CURRICULUM, "CV.pdf", "cv", person="Mara Lind"),
    ]
}


def path_of(address):
    return address.removeprefix("http://testserver")


@pytest.fixture
def opened(program):
    """The description of an open packet with two files."""
    response = program.submit(BOTH, key="k")
    assert response.status_code == 201, response.content
    return response.json()


def put(program, opened, number, content, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return program.request(
        "PUT",
        path_of(opened["files"][number]["url"]),
        data=content,
        content_type="application/octet-stream",
        headers=headers,
    )


def spooled_files():
    folder = spool.get_path("uploads")
    return {f"uploads/{path.name}" for path in folder.iterdir()} if folder.exists() else set()


def submit(program, opened):
    return program.request("POST", path_of(opened["submit_url"]))


def test_files_are_uploaded_one_by_one_and_submitted_together(program, opened, site):
    assert [each["received"] for each in opened["files"]] == [False, False]
    first = put(program, opened, 0, LETTER)
    assert (first.status_code, first.json()["received"]) == (201, True)
    assert first["ETag"] == f'"{hashlib.sha256(LETTER).hexdigest()}"'
    assert put(program, opened, 1, CURRICULUM).status_code == 201
    response = submit(program, opened)
    assert response.status_code == 202, response.content
    batch = Batch.objects.get()
    assert response["Location"].endswith(f"/api/v1/batches/{batch.reference}")
    documents = {each.doc_id: each for each in batch.documents.all()}
    assert documents.keys() == {"irb-approval", "cv.mara-lind"}
    assert {each.site for each in documents.values()} == {site}
    assert spool.get_path(documents["irb-approval"].spooled).read_bytes() == LETTER
    assert spooled_files() == {each.spooled for each in documents.values()}, (
        "no file is stored twice"
    )
    assert not OpenPacket.objects.exists()


def test_an_incomplete_packet_cannot_be_submitted(program, opened):
    put(program, opened, 1, CURRICULUM)
    body = check_problem(submit(program, opened), 409)
    assert [each["line"] for each in body["errors"]] == [1]
    assert not Batch.objects.exists()


def test_a_file_that_was_received_before_has_status_200(program, opened):
    put(program, opened, 0, LETTER)
    assert put(program, opened, 0, LETTER).status_code == 200
    now = program.get(path_of(opened["url"])).json()
    assert [each["received"] for each in now["files"]] == [True, False]


def test_opening_a_packet_again_returns_the_received_files(program, opened):
    put(program, opened, 0, LETTER)
    repeated = program.submit(BOTH, key="k")
    assert (repeated.status_code, repeated.json()["id"]) == (201, opened["id"])
    assert repeated["Location"] == opened["url"]
    assert [each["received"] for each in repeated.json()["files"]] == [True, False]
    other = program.submit({"files": BOTH["files"][:1]}, key="k")
    assert check_problem(other, 422)["type"].endswith("key-reused")


def test_submitting_again_returns_the_same_batch(program, opened):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, CURRICULUM)
    first, second = submit(program, opened), submit(program, opened)
    assert (first.status_code, second.status_code) == (202, 202)
    assert first["Location"] == second["Location"]
    by_its_batch = path_of(first["Location"]).replace("batches", "packets")
    assert program.request("POST", f"{by_its_batch}:submit")["Location"] == first["Location"]
    after = put(program, opened, 0, LETTER)
    check_problem(after, 409)
    assert after["Location"] == first["Location"]
    assert program.submit(BOTH, key="k")["Location"] == first["Location"]
    assert Document.objects.count() == 2


def test_a_file_that_differs_from_its_declaration_is_not_stored(program, opened):
    for content in (LETTER[:-1], LETTER + b"x", LETTER[:-1] + b"x"):
        check_problem(put(program, opened, 0, content), 422)
    assert not program.get(path_of(opened["url"])).json()["files"][0]["received"]
    assert spooled_files() == set()


def test_a_wrong_digest_in_the_header_is_refused_before_the_body_is_read(program, opened):
    def digest(content):
        return base64.b64encode(hashlib.sha256(content).digest()).decode()

    other = put(program, opened, 0, LETTER, content_digest=f"sha-256=:{digest(CURRICULUM)}:")
    check_problem(other, 422)
    for broken in ("sha-256=abc", "sha-256=:a:"):
        check_problem(put(program, opened, 0, LETTER, content_digest=broken), 400)
    unknown = f"md5=:AAAA:, sha-256=:{digest(LETTER)}:"
    assert put(program, opened, 0, LETTER, content_digest=unknown).status_code == 201


def test_another_site_cannot_see_fill_or_submit_an_open_packet(program, other_program, opened):
    check_problem(other_program.get(path_of(opened["url"])), 404)
    check_problem(put(other_program, opened, 0, LETTER), 404)
    check_problem(submit(other_program, opened), 404)
    theirs = other_program.submit(BOTH, key="k").json()
    assert theirs["id"] != opened["id"]


def test_unknown_packets_and_files_are_not_found(program, opened):
    for path in (f"packets/{uuid.uuid4()}", "packets/BAT-2026-0001"):
        check_problem(program.get(path), 404)
        check_problem(program.request("POST", f"{path}:submit"), 404)
    check_problem(program.request("PUT", f"{path_of(opened['url'])}/documents/2", data=b"x"), 404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"filename": "IRB.xlsx"}, "filename"),
        ({"size": 10**9}, "size"),
        ({"sha256": "AB"}, "sha256"),
        ({"document_type": "cv"}, "person"),
        ({"document_type": "x"}, "document_type"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_packet_with_faults_is_not_opened(program, change, field):
    body = check_problem(program.submit({"files": [declared(LETTER, **change)]}), 422)
    assert (body["errors"][0]["line"], body["errors"][0]["field"]) == (1, field)
    assert not OpenPacket.objects.exists()


def test_an_open_packet_without_activity_for_a_day_is_deleted(program, opened):
    put(program, opened, 0, LETTER)
    OpenPacket.objects.update(touched_at=timezone.now() - OpenPacket.KEPT - timedelta(minutes=1))
    body = check_problem(program.get(path_of(opened["url"])), 404)
    assert "open it again with the same key" in body["detail"]
    program.submit({"files": [declared(LETTER)]}, key="other")
    assert OpenPacket.objects.count() == 1
    assert spooled_files() == set()


@pytest.mark.django_db(transaction=True)
def test_ten_concurrent_submissions_of_a_packet_make_one_batch(program, opened):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, CURRICULUM)

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


def test_a_submission_during_another_one_returns_the_same_batch(program, opened, monkeypatch):
    put(program, opened, 0, LETTER)
    put(program, opened, 1, CURRICULUM)
    first = submit(program, opened)
    find, is_first_call = open_packets.find_submitted_batch, [True]

    def find_nothing_at_first(*args):
        return None if is_first_call and is_first_call.pop() else find(*args)

    monkeypatch.setattr(open_packets, "find_submitted_batch", find_nothing_at_first)
    second = submit(program, opened)
    assert not is_first_call
    assert (second.status_code, second["Location"]) == (first.status_code, first["Location"])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_server_does_not_store_a_truncated_file(program, site, settings):
    large = b"%PDF-1.7" + bytes(3_000_000)
    opened = program.submit({"files": [declared(large)]}).json()
    with web_server(settings) as address:
        where = path_of(opened["files"][0]["url"])
        token = f"Bearer {program.secret}"
        length = str(len(large))
        cut = send_request(
            address, "PUT", where, body=large[:1_000_000], authorization=token,
            content_length=length, hang_up=True,
        )  # fmt: skip
        assert cut is None
        whole = send_request(address, "PUT", where, body=large, authorization=token)
    assert whole.status == 201, whole.body
    assert Upload.objects.get().is_complete
    assert spooled_files() == {Upload.objects.get().spooled}
    assert not ReceivedPart.objects.exists()


LARGE = b"%PDF-1.7 " + bytes(range(256)) * 100


@pytest.fixture
def large(program):
    return program.submit({"files": [declared(LARGE)]}, key="large").json()


def put_part(program, opened, first, last, content=LARGE):
    where = f"bytes {first}-{last - 1}/{len(content)}"
    return put(program, opened, 0, content[first:last], content_range=where)


def test_a_file_is_uploaded_in_parts_and_only_a_lost_part_is_repeated(program, large):
    first = put_part(program, large, 0, 10_000)
    assert (first.status_code, first["Upload-Offset"]) == (202, "10000")
    assert first.json()["received_bytes"] == 10_000
    repeated = put_part(program, large, 0, 10_000)  # as if its response was lost
    assert (repeated.status_code, repeated["Upload-Offset"]) == (409, "10000")
    assert "Send the part that begins there" in repeated.json()["detail"]
    assert put_part(program, large, 20_000, 25_000).status_code == 409
    assert program.get(path_of(large["url"])).json()["files"][0]["received_bytes"] == 10_000
    assert put_part(program, large, 10_000, 20_000).status_code == 202
    last = put_part(program, large, 20_000, len(LARGE))
    assert (last.status_code, last.json()["received"]) == (201, True)
    assert put_part(program, large, 20_000, len(LARGE)).status_code == 200
    assert submit(program, large).status_code == 202
    document = Document.objects.get()
    assert spool.get_path(document.spooled).read_bytes() == LARGE


class ServerStopped(Exception):
    """Represents the end of the web server process."""


def stop_server(*_):
    raise ServerStopped


def test_parts_that_a_stopped_server_did_not_join_are_joined_by_the_next_request(
    program, large, monkeypatch
):
    put_part(program, large, 0, 10_000)
    with monkeypatch.context() as context:
        context.setattr(upload_sessions, "finish_upload", stop_server)
        assert put_part(program, large, 10_000, len(LARGE)).status_code == 500
    last = put_part(program, large, 10_000, len(LARGE))
    assert (last.status_code, last.json()["received"]) == (201, True)
    assert submit(program, large).status_code == 202


def test_parts_of_another_file_are_deleted_and_the_upload_starts_again(program, large):
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
def test_a_part_with_a_wrong_content_range_is_refused(program, large, header, status):
    content_range = header.format(size=len(LARGE))
    assert put(program, large, 0, LARGE[:10], content_range=content_range).status_code == status


def test_a_part_has_at_most_eight_mebibytes(program, settings):
    content = b"%PDF-1.7 " + bytes(9 * 1024 * 1024)
    opened = program.submit({"files": [declared(content)]}, key="huge").json()
    assert put_part(program, opened, 0, len(content), content).status_code == 413
    assert put(program, opened, 0, content).status_code == 201  # the whole file in one request


def test_open_packets_beyond_the_quota_are_refused_until_one_is_deleted(program, settings):
    settings.OPEN_UPLOADS = 2
    first, _second = (program.submit(BOTH, key=f"k{number}").json() for number in range(2))
    refused = program.submit(BOTH, key="k2")
    assert refused.status_code == 429
    assert refused.json()["type"] == "urn:siteledger:over-quota"
    dropped = program.request("DELETE", path_of(first["url"]))
    assert dropped.status_code == 204
    assert program.get(path_of(first["url"])).status_code == 404
    assert program.submit(BOTH, key="k2").status_code == 201


def test_a_full_disk_has_status_507_with_a_time_to_retry(program, opened, settings):
    settings.READY_FREE_MB = 10**9
    answer = put(program, opened, 0, LETTER)
    assert (answer.status_code, answer["Retry-After"]) == (507, "600")
    assert "no space" in answer.json()["detail"]


def test_another_site_cannot_delete_an_open_packet(opened, other_program, program):
    assert other_program.request("DELETE", path_of(opened["url"])).status_code == 404
    assert program.get(path_of(opened["url"])).status_code == 200


def test_a_truncated_request_does_not_disturb_a_concurrent_one(opened):
    """The truncated request ends while the other one is being received."""
    packet = OpenPacket.objects.get()
    first, second = intake.get_or_begin_upload(packet, 0), intake.get_or_begin_upload(packet, 0)
    assert first.pk == second.pk

    def received():
        yield LETTER[:3]
        with pytest.raises(upload_sessions.DigestMismatch):
            upload_sessions.receive_whole_file(first, [LETTER[:2]])
        yield LETTER[3:]

    assert upload_sessions.receive_whole_file(second, received()).is_complete
    assert spooled_files() == {Upload.objects.get().spooled}
