"""A packet whose files come one by one: over a bad line each is tried again until it is there."""

import base64
import hashlib
import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ingestion.api import gathered
from ingestion.intake import gathering
from ingestion.models import Batch, Document
from ingestion.stores import spool
from tests.ingestion.api.conftest import Program
from tests.ingestion.api.servers import ask, web_server
from tests.ingestion.api.test_problems import problem

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
    assert spool.path_of(documents["irb-approval"].spooled).read_bytes() == LETTER
    assert list(spool.path_of("gathering").iterdir()) == [], "nothing is kept twice"


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
    folder = spool.path_of(f"gathering/{opened['id']}")
    assert [each.name for each in folder.iterdir()] == ["packet.json"]


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
    assert not spool.path_of("gathering").exists()


def test_a_packet_for_which_nothing_came_for_a_day_is_dropped(program, opened):
    folder = spool.path_of(f"gathering/{opened['id']}")
    long_ago = time.time() - gathering.KEPT_SECONDS - 1
    os.utime(folder, (long_ago, long_ago))
    program.send({"files": [declared(LETTER)]}, key="other")
    problem(program.get(path_of(opened["url"])), 404)
    assert not folder.exists()


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
    look, not_yet = gathered._submitted, [True]
    monkeypatch.setattr(
        gathered, "_submitted", lambda *whose: None if not_yet and not_yet.pop() else look(*whose)
    )
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
    stored = spool.path_of(f"gathering/{opened['id']}")
    assert sorted(each.name for each in stored.iterdir()) == ["0", "packet.json"]
