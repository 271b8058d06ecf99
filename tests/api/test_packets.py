"""Submitting: what is registered, what is refused, and that repeating is harmless."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from audit.ledger.queries import timeline
from ingestion.models import Batch, Document
from ingestion.storage import spool
from tests.api.conftest import Program, make_token
from tests.api.servers import ask, web_server
from tests.api.test_problems import problem
from tests.ingestion.hosts import worker_host

CV = {"document_type": "irb-approval", "file": "IRB.pdf"}


def pdf(name="IRB.pdf", content=b"%PDF-1.7 a letter"):
    return SimpleUploadedFile(name, content, "application/pdf")


def test_a_manifest_is_accepted_and_says_where_to_look(program, site, make_line):
    response = program.send({"priority": 3, "documents": [make_line(site)]})
    assert response.status_code == 202
    batch = Batch.objects.get()
    address = f"http://testserver/api/v1/batches/{batch.reference}"
    assert response["Location"] == response["Content-Location"] == address
    assert int(response["Retry-After"]) >= 1
    assert response["X-Progress"] == "0/1 documents"
    said = response.json()
    assert (said["id"], said["status"], said["priority"]) == (batch.reference, "QUEUED", 3)
    assert said["url"] == address
    assert batch.documents.get().doc_id == "cv-1"


def test_what_a_program_submits_is_on_record_as_its_tokens_doing(program, site, make_line):
    program.send({"documents": [make_line(site)]})
    batch = Batch.objects.get()
    for subject in (batch.subject, batch.documents.get().subject):
        entry = timeline(subject)[0]
        assert (entry.actor, entry.role) == (program.token.actor, "site system")


def test_files_come_with_what_each_of_them_is(program, site):
    packet = {
        "documents": [CV, {"file": "CV Lind.pdf", "document_type": "cv", "person": "Mara Lind"}]
    }
    response = program.send_files(packet, files=[pdf(), pdf("CV Lind.pdf", b"%PDF-1.7 a life")])
    assert response.status_code == 202, response.content
    documents = {each.doc_id: each for each in Document.objects.all()}
    assert documents.keys() == {"irb-approval", "cv.mara-lind"}
    cv = documents["cv.mara-lind"]
    assert (cv.filename, cv.site) == ("CV Lind.pdf", site)
    assert spool.get_path(cv.spooled).read_bytes() == b"%PDF-1.7 a life"


def test_the_part_that_describes_the_files_may_be_a_file_itself(program, site):
    described = SimpleUploadedFile("packet.json", json.dumps({"documents": [CV]}).encode())
    headers = {"idempotency-key": "k", "authorization": f"Bearer {program.secret}"}
    parts = {"packet": described, "files": pdf()}
    response = program._client.post("/api/v1/packets", parts, headers=headers)
    assert response.status_code == 202, response.content


@pytest.mark.parametrize("key", ["", '""', '"a', "a b", "x" * 129, '"a","b"'])
def test_without_a_key_nothing_is_registered(program, site, make_line, key):
    body = json.dumps({"documents": [make_line(site)]})
    headers = {"idempotency-key": key} if key else {}
    response = program.ask(
        "POST", "packets", data=body, content_type="application/json", headers=headers
    )
    assert problem(response, 400)["type"].endswith("key-missing")
    assert not Batch.objects.exists()


def test_the_same_key_gives_the_same_batch_quoted_or_not(program, site, make_line):
    body = {"documents": [make_line(site)]}
    first, second = program.send(body, key="k-1"), program.send(body, key='"k-1"')
    assert second.status_code == 202
    assert first["Location"] == second["Location"]
    assert Batch.objects.count() == Document.objects.count() == 1


def test_files_sent_again_are_not_kept_twice(program, site):
    for _ in range(2):
        response = program.send_files({"documents": [CV]}, key="k", files=pdf())
        assert response.status_code == 202
    assert Document.objects.count() == 1
    assert len(list(spool.get_path("uploads").iterdir())) == 1


def test_two_sites_may_use_the_same_key(program, stranger, site, make_line):
    mine = program.send({"documents": [make_line(site)]}, key="k-1")
    theirs = stranger.send({"documents": [make_line(stranger.token.site)]}, key="k-1")
    assert {mine.status_code, theirs.status_code} == {202}
    assert mine["Location"] != theirs["Location"]
    assert stranger.get(mine.json()["url"].removeprefix("http://testserver")).status_code == 404


def test_a_sites_tokens_stand_for_each_other(program, site, make_line):
    body = {"documents": [make_line(site)]}
    newer = Program(*make_token(site=site))
    assert program.send(body, key="k")["Location"] == newer.send(body, key="k")["Location"]


def test_every_fault_of_a_manifest_is_named_with_its_line_and_field(
    program, stranger, site, make_line
):
    lines = [
        make_line(site),
        make_line(stranger.token.site, doc_id="a"),
        make_line(site, doc_id="b", schema_version="v9"),
        "no object",
        make_line(site),
        make_line(site, doc_id="c", filename="a\0b"),
    ]
    said = problem(program.send({"documents": lines}), 422)
    assert [(each["line"], each["field"]) for each in said["errors"]] == [
        (2, "site_id"),
        (3, "schema_version"),
        (4, ""),
        (5, "doc_id"),
        (6, "filename"),
    ]
    assert said["errors"][0]["message"].startswith("there is no site '0999'")
    assert not Batch.objects.exists()


def test_another_site_and_none_at_all_are_refused_in_the_same_words(
    program, stranger, site, make_line
):
    said = []
    for number in ("0999", "7777"):
        lines = [make_line(site, site_id=number)]
        said.append(problem(program.send({"documents": lines}), 422)["errors"][0]["message"])
    assert said[0].replace("0999", "7777") == said[1]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 400),
        ('{"documents": ["\\ud800"]}', 400),
        (b"\xff\xfe", 400),
        ("[" * 5000, 400),
        ("[]", 422),
        ("null", 422),
        ('{"documents": []}', 422),
        ('{"documents": {}}', 422),
        ('{"documents": [null], "priority": 11}', 422),
        ('{"documents": [[]], "colour": "red"}', 422),
    ],
    ids=str,
)
def test_a_body_that_is_no_manifest_is_refused(program, body, status):
    response = program.send(body)
    problem(response, status)
    assert not Batch.objects.exists()


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/pdf", ""])
def test_another_content_type_is_415_and_told_the_right_ones(program, kind):
    headers = {"idempotency-key": "k"}
    response = program.ask("POST", "packets", data="x", content_type=kind, headers=headers)
    problem(response, 415)
    assert response["Accept"] == "application/json, multipart/form-data"


def test_a_manifest_that_is_too_large_is_413_unread(program, settings):
    settings.MAX_MANIFEST_MB = 1
    problem(program.send(b" " * 1_000_001), 413)


def test_a_file_that_is_too_large_is_413(program, settings):
    settings.MAX_DOCUMENT_MB = 1
    said = problem(
        program.send_files({"documents": [CV]}, files=pdf(content=b"x" * 1_000_001)), 413
    )
    assert "IRB.pdf" in said["detail"]


def test_more_parts_than_we_take_are_413(program, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    parts = {f"part-{number}": pdf() for number in range(3)}
    problem(program.send_files({"documents": [CV]}, **parts), 413)


def test_a_multipart_body_that_breaks_off_is_400(program):
    headers = {"idempotency-key": "k"}
    kind = "multipart/form-data"
    problem(program.ask("POST", "packets", data="x", content_type=kind, headers=headers), 400)


@pytest.mark.parametrize(
    ("packet", "parts", "where"),
    [
        ({"documents": [CV]}, {}, (1, "file")),
        ({"documents": [CV | {"file": "a.docx"}]}, {"files": pdf("a.docx")}, (1, "file")),
        ({"documents": [CV]}, {"files": pdf(content=b"")}, (1, "file")),
        ({"documents": [CV]}, {"files": [pdf(), pdf()]}, (1, "file")),
        ({"documents": [CV]}, {"files": [pdf(), pdf("b.pdf")]}, (0, "files")),
        ({"documents": [CV]}, {"files": pdf(), "more": pdf()}, (0, "more")),
        ({"documents": [CV | {"document_type": "x"}]}, {"files": pdf()}, (1, "document_type")),
        ({"documents": [CV | {"document_type": "cv"}]}, {"files": pdf()}, (1, "person")),
        ({"documents": [CV, CV]}, {"files": pdf()}, (1, "document_type")),
        ({"documents": [CV, {"file": 7}]}, {"files": pdf()}, (2, "file")),
        ({"documents": [CV], "site_id": "0999"}, {"files": pdf()}, (0, "site_id")),
        ({"documents": []}, {}, (0, "documents")),
    ],
    ids=[
        "no such file", "no type that we take", "empty", "two of a name", "not described",
        "no part", "no such type", "nobody's", "twice the same", "a number", "another site",
        "nothing",
    ],
)  # fmt: skip
def test_every_fault_of_files_is_named(program, stranger, packet, parts, where):
    said = problem(program.send_files(packet, **parts), 422)
    assert (said["errors"][0]["line"], said["errors"][0]["field"]) == where
    assert not Batch.objects.exists()
    assert not spool.get_path("uploads").exists(), "nothing is left in the spool"


def test_files_without_their_description_are_refused(program):
    headers = {"idempotency-key": "k", "authorization": f"Bearer {program.secret}"}
    response = program._client.post("/api/v1/packets", {"files": pdf()}, headers=headers)
    assert "packet" in problem(response, 422)["detail"]


def test_operations_say_which_site_their_files_are_for(ops, site):
    said = problem(ops.send_files({"documents": [CV]}, files=pdf()), 422)
    assert said["errors"][0]["field"] == "site_id"
    response = ops.send_files({"documents": [CV], "site_id": "0203"}, files=pdf())
    assert response.status_code == 202
    assert Batch.objects.get().submitted_by == ops.token.user


@pytest.mark.django_db(transaction=True)
def test_twenty_equal_submissions_at_once_make_one_batch(program, site, make_line):
    body = {"documents": [make_line(site)]}

    def send(_):
        try:
            response = Program(program.token, program.secret).send(body, key="k-1")
            return response.status_code, response.headers.get("Location")
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as threads:
        answers = set(threads.map(send, range(20)))
    assert len(answers) == 1, answers
    assert answers.pop()[0] == 202
    assert Batch.objects.count() == Document.objects.count() == 1


def test_the_same_key_for_something_else_is_refused(program, site, make_line):
    program.send({"documents": [make_line(site)]}, key="k")
    other = program.send({"documents": [make_line(site, doc_id="other")]}, key="k")
    assert problem(other, 422)["type"].endswith("key-reused")
    urgent = program.send({"documents": [make_line(site)], "priority": 1}, key="k")
    problem(urgent, 422)
    assert Document.objects.count() == 1


def test_more_than_can_be_kept_up_with_is_429_and_says_when(program, site, make_line, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    body = {"documents": [make_line(site), make_line(site, doc_id="b")]}
    assert program.send(body, key="k").status_code == 202
    full = program.send({"documents": [make_line(site, doc_id="c")]})
    assert problem(full, 429)["type"].endswith("at-capacity")
    assert int(full["Retry-After"]) >= 1
    assert full["RateLimit"] == f'"unfinished-documents";r=0;t={full["Retry-After"]}'
    assert full["RateLimit-Policy"] == '"unfinished-documents";q=2'
    assert program.send(body, key="k").status_code == 202, "what is on record attaches"


def test_what_can_never_be_worked_is_refused_for_good(program, site, make_line, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    lines = [make_line(site), make_line(site, doc_id="b")]
    said = problem(program.send({"documents": lines}), 422)
    assert "split it" in said["errors"][0]["message"]


@pytest.mark.django_db(transaction=True)
def test_a_flood_is_answered_with_202_and_429_alone(program, site, make_line, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 5

    def send(number):
        try:
            lines = [make_line(site, doc_id=f"doc-{number}")]
            own = Program(program.token, program.secret)
            return own.send({"documents": lines}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, range(40)))
    assert answers.count(202) == Document.objects.count() == 5
    assert answers.count(429) == 35


@pytest.mark.django_db(transaction=True)
def test_over_the_wire_a_body_without_a_length_is_411_and_a_stranger_401(program, site, settings):
    with web_server(settings) as address:
        headers = {"authorization": f"Bearer {program.secret}", "idempotency_key": "k"}
        headers |= {"content_type": "application/json"}
        chunked = ask(address, "POST", "/api/v1/packets", body=iter([b"{}"]), **headers)
        assert chunked.status == 411
        stranger = ask(address, "POST", "/api/v1/packets", body=b"x" * 1_000_000)
        assert stranger.status == 401
        unknown = ask(address, "POST", "/api/v1/nothing", body=b"{}")
        assert unknown.status == 404
        assert int(unknown.headers["Content-Length"]) == len(unknown.body)


@pytest.mark.django_db(transaction=True)
def test_over_the_wire_a_submission_is_waited_for_until_it_is_done(
    program, site, make_line, settings
):
    """The portal refuses the connection: a worker finds that out, and holds the document."""
    impatient = {"FETCH_TRIES": "1", "DOCUMENT_DEADLINE_SECONDS": "0"}
    with worker_host(settings, **impatient), web_server(settings) as address:
        body = json.dumps({"documents": [make_line(site)]})
        headers = {"authorization": f"Bearer {program.secret}", "idempotency_key": "k"}
        headers |= {"content_type": "application/json", "prefer": "wait=20"}
        answer = ask(address, "POST", "/api/v1/packets", body=body, **headers)
    assert answer.status == 200, answer.body
    assert answer.headers["Preference-Applied"] == "wait=20"
    said = json.loads(answer.body)
    assert (said["status"], said["states"]) == ("COMPLETED", {"HELD": 1})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"documents": [],\n "documents": []}', 'the name "documents" is given twice'),
        ('{"priority": %s}' % ("9" * 5_000), "more than 300 digits"),
        ('{"priority": NaN}', "NaN is not a JSON number"),
        (b'{"priority": "\xff"}', "not encoded as UTF-8"),
    ],
    ids=["twice", "long", "nan", "bytes"],
)
def test_json_that_can_be_read_in_two_ways_is_refused(program, body, why):
    answer = program.send(body)
    assert answer.status_code == 400
    assert why in answer.json()["detail"]
