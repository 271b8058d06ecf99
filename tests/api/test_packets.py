"""Submissions: what is registered, what is refused, and repeated requests."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from audit.ledger.queries import list_entries
from ingestion.intake import open_packets
from ingestion.intake.submission_schemas import DeclaredDetails
from ingestion.models import Batch, Document, OpenPacket
from ingestion.storage import spool
from tests.api.conftest import Program, check_problem, make_token
from tests.api.servers import send_request, web_server
from tests.ingestion.hosts import worker_host

CV = {"document_type": "irb-approval", "file": "IRB.pdf"}


def pdf(name="IRB.pdf", content=b"%PDF-1.7 a letter"):
    return SimpleUploadedFile(name, content, "application/pdf")


def test_an_accepted_manifest_returns_the_address_of_its_batch(program, site, make_line):
    response = program.submit({"priority": 3, "documents": [make_line(site)]})
    assert response.status_code == 202
    batch = Batch.objects.get()
    address = f"http://testserver/api/v1/batches/{batch.reference}"
    assert response["Location"] == response["Content-Location"] == address
    assert int(response["Retry-After"]) >= 1
    assert response["X-Progress"] == "0/1 documents"
    body = response.json()
    assert (body["id"], body["status"], body["priority"]) == (batch.reference, "QUEUED", 3)
    assert body["url"] == address
    assert batch.documents.get().doc_id == "cv-1"


def test_a_submission_is_recorded_with_the_token_as_actor(program, site, make_line):
    program.submit({"documents": [make_line(site)]})
    batch = Batch.objects.get()
    for subject in (batch.subject, batch.documents.get().subject):
        entry = list_entries(subject)[0]
        assert (entry.actor, entry.role) == (program.token.actor_name, "site system")


def test_files_are_registered_with_their_descriptions(program, site):
    packet = {
        "documents": [CV, {"file": "CV Lind.pdf", "document_type": "cv", "person": "Mara Lind"}]
    }
    response = program.submit_files(packet, files=[pdf(), pdf("CV Lind.pdf", b"%PDF-1.7 a CV")])
    assert response.status_code == 202, response.content
    documents = {each.doc_id: each for each in Document.objects.all()}
    assert documents.keys() == {"irb-approval", "cv.mara-lind"}
    cv = documents["cv.mara-lind"]
    assert (cv.filename, cv.site) == ("CV Lind.pdf", site)
    assert spool.get_path(cv.spooled).read_bytes() == b"%PDF-1.7 a CV"


def test_the_part_that_describes_the_files_may_be_a_file(program, site):
    described = SimpleUploadedFile("packet.json", json.dumps({"documents": [CV]}).encode())
    headers = {"idempotency-key": "k", "authorization": f"Bearer {program.secret}"}
    parts = {"packet": described, "files": pdf()}
    response = program._client.post("/api/v1/packets", parts, headers=headers)
    assert response.status_code == 202, response.content


@pytest.mark.parametrize("key", ["", '""', '"a', "a b", "x" * 129, '"a","b"'])
def test_a_submission_without_a_valid_key_is_refused(program, site, make_line, key):
    body = json.dumps({"documents": [make_line(site)]})
    headers = {"idempotency-key": key} if key else {}
    response = program.request(
        "POST", "packets", data=body, content_type="application/json", headers=headers
    )
    assert check_problem(response, 400)["type"].endswith("key-missing")
    assert not Batch.objects.exists()


def test_the_same_key_returns_the_same_batch_with_or_without_quotes(program, site, make_line):
    body = {"documents": [make_line(site)]}
    first, second = program.submit(body, key="k-1"), program.submit(body, key='"k-1"')
    assert second.status_code == 202
    assert first["Location"] == second["Location"]
    assert Batch.objects.count() == Document.objects.count() == 1


def test_files_that_are_submitted_again_are_stored_once(program, site):
    for _ in range(2):
        response = program.submit_files({"documents": [CV]}, key="k", files=pdf())
        assert response.status_code == 202
    assert Document.objects.count() == 1
    assert len(list(spool.get_path("uploads").iterdir())) == 1


def test_two_sites_can_use_the_same_key(program, other_program, site, make_line):
    mine = program.submit({"documents": [make_line(site)]}, key="k-1")
    theirs = other_program.submit({"documents": [make_line(other_program.token.site)]}, key="k-1")
    assert {mine.status_code, theirs.status_code} == {202}
    assert mine["Location"] != theirs["Location"]
    assert (
        other_program.get(mine.json()["url"].removeprefix("http://testserver")).status_code == 404
    )


def test_the_tokens_of_one_site_share_their_keys(program, site, make_line):
    body = {"documents": [make_line(site)]}
    newer = Program(*make_token(site=site))
    assert program.submit(body, key="k")["Location"] == newer.submit(body, key="k")["Location"]


def test_all_faults_of_a_manifest_are_reported_with_line_and_field(
    program, other_program, site, make_line
):
    lines = [
        make_line(site),
        make_line(other_program.token.site, doc_id="a"),
        make_line(site, doc_id="b", schema_version="v9"),
        "no object",
        make_line(site),
        make_line(site, doc_id="c", filename="a\0b"),
    ]
    body = check_problem(program.submit({"documents": lines}), 422)
    assert [(each["line"], each["field"]) for each in body["errors"]] == [
        (2, "site_id"),
        (3, "schema_version"),
        (4, ""),
        (5, "doc_id"),
        (6, "filename"),
    ]
    assert body["errors"][0]["message"].startswith("There is no site '0999' ")
    assert not Batch.objects.exists()


def test_another_site_and_an_unknown_site_are_refused_with_the_same_message(
    program, other_program, site, make_line
):
    messages = []
    for number in ("0999", "7777"):
        lines = [make_line(site, site_id=number)]
        messages.append(
            check_problem(program.submit({"documents": lines}), 422)["errors"][0]["message"]
        )
    assert messages[0].replace("0999", "7777") == messages[1]


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
def test_a_body_that_is_not_a_manifest_is_refused(program, body, status):
    response = program.submit(body)
    check_problem(response, status)
    assert not Batch.objects.exists()


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/pdf", ""])
def test_another_content_type_is_refused_with_the_accepted_ones(program, kind):
    headers = {"idempotency-key": "k"}
    response = program.request("POST", "packets", data="x", content_type=kind, headers=headers)
    check_problem(response, 415)
    assert response["Accept"] == "application/json, multipart/form-data"


def test_a_manifest_that_is_too_large_has_status_413(program, settings):
    settings.MAX_MANIFEST_MB = 1
    check_problem(program.submit(b" " * 1_000_001), 413)


def test_a_file_that_is_too_large_has_status_413(program, settings):
    settings.MAX_DOCUMENT_MB = 1
    body = check_problem(
        program.submit_files({"documents": [CV]}, files=pdf(content=b"x" * 1_000_001)), 413
    )
    assert "IRB.pdf" in body["detail"]


def test_too_many_parts_have_status_413(program, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    parts = {f"part-{number}": pdf() for number in range(3)}
    check_problem(program.submit_files({"documents": [CV]}, **parts), 413)


def test_a_truncated_multipart_body_has_status_400(program):
    headers = {"idempotency-key": "k"}
    kind = "multipart/form-data"
    check_problem(
        program.request("POST", "packets", data="x", content_type=kind, headers=headers), 400
    )


@pytest.mark.parametrize(
    ("packet", "parts", "where"),
    [
        ({"documents": [CV]}, {}, (1, "file")),
        ({"documents": [CV | {"file": "a.xlsx"}]}, {"files": pdf("a.xlsx")}, (1, "file")),
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
        "unknown file", "unsupported file type", "empty file", "two files of one name",
        "undescribed file", "unknown part", "unknown document type", "no person", "duplicate line",
        "number as name", "another site", "no documents",
    ],
)  # fmt: skip
def test_faults_of_files_are_reported_with_line_and_field(
    program, other_program, packet, parts, where
):
    body = check_problem(program.submit_files(packet, **parts), 422)
    assert (body["errors"][0]["line"], body["errors"][0]["field"]) == where
    assert not Batch.objects.exists()
    assert not spool.get_path("uploads").exists(), "the spool is empty"


def test_files_without_their_description_are_refused(program):
    headers = {"idempotency-key": "k", "authorization": f"Bearer {program.secret}"}
    response = program._client.post("/api/v1/packets", {"files": pdf()}, headers=headers)
    assert "packet" in check_problem(response, 422)["detail"]


def test_operations_have_to_name_the_site_of_their_files(ops, site):
    body = check_problem(ops.submit_files({"documents": [CV]}, files=pdf()), 422)
    assert body["errors"][0]["field"] == "site_id"
    response = ops.submit_files({"documents": [CV], "site_id": "0203"}, files=pdf())
    assert response.status_code == 202
    assert Batch.objects.get().submitted_by == ops.token.user


@pytest.mark.django_db(transaction=True)
def test_twenty_equal_concurrent_submissions_make_one_batch(program, site, make_line):
    body = {"documents": [make_line(site)]}

    def send(_):
        try:
            response = Program(program.token, program.secret).submit(body, key="k-1")
            return response.status_code, response.headers.get("Location")
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as threads:
        answers = set(threads.map(send, range(20)))
    assert len(answers) == 1, answers
    assert answers.pop()[0] == 202
    assert Batch.objects.count() == Document.objects.count() == 1


def test_the_same_key_with_other_content_is_refused(program, site, make_line):
    program.submit({"documents": [make_line(site)]}, key="k")
    other = program.submit({"documents": [make_line(site, doc_id="other")]}, key="k")
    assert check_problem(other, 422)["type"].endswith("key-reused")
    urgent = program.submit({"documents": [make_line(site)], "priority": 1}, key="k")
    check_problem(urgent, 422)
    assert Document.objects.count() == 1


def test_a_submission_at_capacity_has_status_429_with_a_time_to_retry(
    program, site, make_line, settings
):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    body = {"documents": [make_line(site), make_line(site, doc_id="b")]}
    assert program.submit(body, key="k").status_code == 202
    full = program.submit({"documents": [make_line(site, doc_id="c")]})
    assert check_problem(full, 429)["type"].endswith("at-capacity")
    assert int(full["Retry-After"]) >= 1
    assert full["RateLimit"] == f'"unfinished-documents";r=0;t={full["Retry-After"]}'
    assert full["RateLimit-Policy"] == '"unfinished-documents";q=2'
    assert program.submit(body, key="k").status_code == 202, "a registered submission is returned"


def test_a_submission_that_is_larger_than_the_capacity_is_refused(
    program, site, make_line, settings
):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    lines = [make_line(site), make_line(site, doc_id="b")]
    body = check_problem(program.submit({"documents": lines}), 422)
    assert "Divide the batch" in body["errors"][0]["message"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_submissions_beyond_the_capacity_have_status_429(
    program, site, make_line, settings
):
    settings.MAX_UNFINISHED_DOCUMENTS = 5

    def send(number):
        try:
            lines = [make_line(site, doc_id=f"doc-{number}")]
            own = Program(program.token, program.secret)
            return own.submit({"documents": lines}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, range(40)))
    assert answers.count(202) == Document.objects.count() == 5
    assert answers.count(429) == 35


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_server_returns_411_without_a_length_and_401_without_a_token(
    program, site, settings
):
    with web_server(settings) as address:
        headers = {"authorization": f"Bearer {program.secret}", "idempotency_key": "k"}
        headers |= {"content_type": "application/json"}
        chunked = send_request(address, "POST", "/api/v1/packets", body=iter([b"{}"]), **headers)
        assert chunked.status == 411
        without_token = send_request(address, "POST", "/api/v1/packets", body=b"x" * 1_000_000)
        assert without_token.status == 401
        unknown = send_request(address, "POST", "/api/v1/nothing", body=b"{}")
        assert unknown.status == 404
        assert int(unknown.headers["Content-Length"]) == len(unknown.body)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_server_waits_for_the_batch_of_a_submission(program, site, make_line, settings):
    """The portal refuses the connection, so a worker holds the document."""
    one_attempt = {"FETCH_TRIES": "1", "DOCUMENT_DEADLINE_SECONDS": "0"}
    with worker_host(settings, **one_attempt), web_server(settings) as address:
        body = json.dumps({"documents": [make_line(site)]})
        headers = {"authorization": f"Bearer {program.secret}", "idempotency_key": "k"}
        headers |= {"content_type": "application/json", "prefer": "wait=20"}
        answer = send_request(address, "POST", "/api/v1/packets", body=body, **headers)
    assert answer.status == 200, answer.body
    assert answer.headers["Preference-Applied"] == "wait=20"
    batch = json.loads(answer.body)
    assert (batch["status"], batch["states"]) == ("COMPLETED", {"HELD": 1})


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
def test_ambiguous_or_invalid_json_is_refused(program, body, why):
    answer = program.submit(body)
    assert answer.status_code == 400
    assert why in answer.json()["detail"]


DECLARED = {
    "language": "fr",
    "person": {"name": "Ana Ruiz", "role": "Sub-investigator"},
    "version": "2.1",
}


def test_a_manifest_of_version_2_1_declares_language_person_and_version(program, site, make_line):
    response = program.submit({"documents": [make_line(site, document_type="cv", **DECLARED)]})
    assert response.status_code == 202
    document = Document.objects.get()
    body = program.get(f"documents/{document.pk}").json()
    assert body["schema_version"] == "v2.1"
    assert body["declared"] == {
        "person": "Ana Ruiz",
        "person_role": "Sub-investigator",
        "language": "fra",
        "version": "2.1",
    }


def test_files_of_version_2_1_may_name_a_person_as_text_or_as_an_object(program, site):
    line = {"file": "CV.pdf", "document_type": "cv"}
    as_object = {**line, **DECLARED}
    program.submit_files({"documents": [as_object]}, files=pdf("CV.pdf", b"%PDF-1.7 one"), key="a")
    program.submit_files(
        {"documents": [{**line, "person": "Ana Ruiz"}]}, files=pdf("CV.pdf"), key="b"
    )
    described, plain = Document.objects.order_by("pk")
    assert described.doc_id == plain.doc_id == "cv.ana-ruiz"
    assert (described.person_role, plain.person_role) == ("Sub-investigator", "")
    assert (described.declared_language, described.declared_version) == ("fra", "2.1")


def test_files_of_version_2_0_are_registered_as_before(program, site):
    line = {"file": "CV.pdf", "document_type": "cv", "person": "Ana Ruiz"}
    packet = {"schema_version": "v2.0", "documents": [line]}
    assert program.submit_files(packet, files=pdf("CV.pdf"), key="a").status_code == 202
    assert Document.objects.get().schema_version == "v2.0"
    refused = {"schema_version": "v2.0", "documents": [{**line, "language": "fr"}]}
    body = check_problem(program.submit_files(refused, files=pdf("CV.pdf"), key="b"), 422)
    message = "Schema version v2.0 does not permit this. Send it with v2.1."
    assert body["errors"] == [{"line": 1, "field": "language", "message": message}]
    refused = {"schema_version": "v2.0", "documents": [{**line, "person": {"name": "Ana Ruiz"}}]}
    body = check_problem(program.submit_files(refused, files=pdf("CV.pdf"), key="c"), 422)
    assert body["errors"] == [{"line": 1, "field": "person", "message": message}]


def test_files_of_an_unsupported_version_are_refused_with_the_supported_ones(program, site):
    packet = {"schema_version": "v3.0", "documents": "not read"}
    body = check_problem(program.submit_files(packet, files=pdf("CV.pdf"), key="a"), 422)
    message = "The schema version 'v3.0' is not supported. Send 'v2.0' or 'v2.1'."
    assert [(each["field"], each["message"]) for each in body["errors"]] == [
        ("schema_version", message)
    ]
    assert not Document.objects.exists()


def test_an_open_packet_keeps_what_its_files_declare(program, site):
    content = b"%PDF-1.7 a CV"
    digest = hashlib.sha256(content).hexdigest()
    file = {"filename": "CV.pdf", "document_type": "cv", "sha256": digest, "size": len(content)}
    opened = program.submit({"files": [{**file, **DECLARED}]}, key="open").json()
    packet = OpenPacket.objects.get(pk=opened["id"])
    (declared,) = open_packets.list_declared_files(packet)
    upload = declared.as_upload(ContentFile(content))
    assert (upload.person, upload.schema_version) == ("Ana Ruiz", "v2.1")
    assert upload.details == DeclaredDetails("Sub-investigator", "fra", "2.1")
    plain = program.submit({"schema_version": "v2.0", "files": [file | {"person": "Bo"}]}, key="2")
    (stored,) = OpenPacket.objects.get(pk=plain.json()["id"]).files
    assert set(stored) == {*file, "person", "schema_version"}
