"""The Bulk Data export: kick-off, status, files, cancellation and expiry."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone
from fhir.resources.R4B import get_fhir_model_class
from fhir.resources.R4B.capabilitystatement import CapabilityStatement

from audit import job_runs
from audit.background_jobs import AuditJob
from audit.ledger import queries
from audit.ledger.log import write_time
from ingestion.fhir import export
from ingestion.models import Document
from tests.api.fhir.conftest import EVERY_TYPE, BulkClient, check_outcome, register
from tests.factories import make_batch, make_filed, make_site, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def records(settings, tmp_path):
    """A site with a filed and a waiting document, and their entries."""
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.EXPORT_DIR = tmp_path / "exports"
    site = make_site()
    site.investigator, site.investigator_licence = "Dr. Ana Ruiz", "L-17"
    site.save()
    make_user("mara", sites=(site,), printed_name="Mara Lindqvist")
    make_filed(site, "cv", "ab" * 32)
    make_batch(site)
    return site


def run_all():
    while job_runs.run_next_job():
        pass


def download(client, manifest, key="output"):
    """Return the resources of each type in the files of a manifest, after validating them."""
    found = {}
    for file in manifest[key]:
        answer = client.get(file["url"])
        assert answer.status_code == 200
        assert answer["Content-Type"] == "application/fhir+ndjson"
        lines = b"".join(answer.streaming_content).splitlines()
        assert len(lines) == file["count"]
        for line in lines:
            resource = get_fhir_model_class(file["type"]).model_validate_json(line)
            assert resource.get_resource_type() == file["type"]
            found.setdefault(file["type"], []).append(json.loads(line))
    return found


def finish(client, query=""):
    """Export with this query, and return the manifest."""
    started = client.start(query)
    assert started.status_code == 202, started.content
    run_all()
    done = client.get(started["Content-Location"])
    assert done.status_code == 200, done.content
    return done.json()


def test_an_export_is_kicked_off_polled_and_downloaded(bulk, records):
    bulk.sign_in()
    started = bulk.start("?_outputFormat=application/fhir+ndjson")
    assert (started.status_code, started.content) == (202, b"")
    status_url = started["Content-Location"]
    assert status_url.startswith("http://testserver/fhir/exports/")
    waiting = bulk.get(status_url)
    assert (waiting.status_code, waiting["X-Progress"]) == (202, "queued")
    assert int(waiting["Retry-After"]) >= 1
    run_all()
    done = bulk.get(status_url)
    assert (done.status_code, done["Content-Type"]) == (200, "application/json")
    assert done["Expires"].endswith("GMT")
    manifest = done.json()
    assert manifest["request"].startswith("http://testserver/fhir/$export")
    assert (manifest["requiresAccessToken"], manifest["deleted"], manifest["error"]) == (
        True, [], [],
    )  # fmt: skip
    assert list(download(bulk, manifest)) == EVERY_TYPE


def test_an_export_has_every_entry_document_site_and_person_of_one_moment(bulk, records):
    manifest = finish(bulk.sign_in())
    resources = download(bulk, manifest)
    entries = queries.find_entries(limit=1_000)[::-1]
    kicked_off = [entry.event for entry in entries].index("job.requested")
    assert [each["id"] for each in resources["AuditEvent"]] == [
        entry.hash for entry in entries[: kicked_off + 1]
    ]
    assert manifest["transactionTime"] == write_time(entries[kicked_off].recorded_at)
    assert {each["id"] for each in resources["DocumentReference"]} == {
        f"document-{pk}" for pk in Document.objects.values_list("pk", flat=True)
    }
    by_status = {each["docStatus"] for each in resources["DocumentReference"]}
    assert by_status == {"final", "preliminary"}
    assert {each["extension"][0]["valueCode"] for each in resources["DocumentReference"]} == set(
        Document.objects.values_list("state", flat=True)
    )
    (organization,) = resources["Organization"]
    assert organization["identifier"][0]["value"] == records.site_id
    names = {each["name"][0]["text"] for each in resources["Practitioner"] if "name" in each}
    assert names >= {"Dr. Ana Ruiz", "Mara Lindqvist"}


def test_a_second_export_since_the_first_has_what_was_changed(bulk, records):
    bulk.sign_in()
    first = finish(bulk)
    make_batch(records)
    changed = Document.objects.order_by("pk").last()
    second = download(bulk, finish(bulk, f"?_since={first['transactionTime']}"))
    assert [each["id"] for each in second["DocumentReference"]] == [f"document-{changed.pk}"]
    events = [each["subtype"][0]["code"] for each in second["AuditEvent"]]
    assert events[0] == "job.requested"  # at the very moment of the first export
    assert "document.received" in events
    assert "Organization" not in second
    later = (timezone.now() + timedelta(hours=1)).isoformat().replace("+00:00", "+00:00")
    assert finish(bulk, f"?_since={later}")["output"] == []  # the + is not encoded


def test_an_export_has_only_the_types_that_were_asked_for(bulk, records):
    manifest = finish(bulk.sign_in(), "?_type=Organization,Practitioner")
    assert {file["type"] for file in manifest["output"]} == {"Organization", "Practitioner"}
    bulk.sign_in("system/AuditEvent.rs")
    assert {file["type"] for file in finish(bulk)["output"]} == {"AuditEvent"}
    assert check_outcome(bulk.get(manifest["output"][0]["url"]), 403)["code"] == "forbidden"


def test_large_exports_are_divided_into_files(bulk, records, monkeypatch):
    monkeypatch.setattr(export, "MAX_LINES_PER_FILE", 2)
    manifest = finish(bulk.sign_in(), "?_type=AuditEvent")
    counts = [file["count"] for file in manifest["output"]]
    assert len(counts) > 1
    assert set(counts[:-1]) == {2}
    assert len(download(bulk, manifest)["AuditEvent"]) == sum(counts)


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {"prefer": ""}, 400),
        ("", {"accept": "text/html"}, 400),
        ("?_type=Patient", {}, 400),
        ("?_since=yesterday", {}, 400),
        ("?_since=2026-11-26", {}, 400),
        ("?_since=2026-99-26T00:00:00Z", {}, 400),
        ("?_outputFormat=csv", {}, 400),
        ("?_elements=id", {}, 400),
        ("?patient=1", {}, 400),
    ],
)
def test_a_wrong_kick_off_is_refused_with_an_outcome(bulk, query, headers, status):
    check_outcome(bulk.sign_in().start(query, **headers), status)
    assert not AuditJob.objects.exists()


def test_a_lenient_client_is_told_what_was_ignored(bulk, records):
    bulk.sign_in()
    started = bulk.start(
        "?_elements=id&_type=Organization,Patient", prefer="respond-async, handling=lenient"
    )
    run_all()
    manifest = bulk.get(started["Content-Location"]).json()
    outcomes = download(bulk, manifest, "error")["OperationOutcome"]
    warnings = " ".join(each["issue"][0]["details"]["text"] for each in outcomes)
    assert "_elements" in warnings
    assert "Patient" in warnings
    assert list(download(bulk, manifest)) == ["Organization"]


def test_parameters_can_be_sent_as_a_resource(bulk, records):
    body = {
        "resourceType": "Parameters",
        "parameter": [{"name": "_type", "valueString": "Organization"}],
    }
    headers = {"prefer": "respond-async", "accept": "application/fhir+json"}
    started = bulk.sign_in().request(
        "POST", "/fhir/$export", headers=headers, data=json.dumps(body),
        content_type="application/fhir+json",
    )  # fmt: skip
    assert started.status_code == 202
    run_all()
    assert list(download(bulk, bulk.get(started["Content-Location"]).json())) == ["Organization"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"resourceType": "Parameters", "parameter": 5},
        {"resourceType": "Parameters", "parameter": ["_type"]},
        {"resourceType": "Parameters", "parameter": [{"name": "_type"}]},
    ],
)
def test_a_body_that_is_no_parameters_resource_is_refused(bulk, body):
    headers = {"prefer": "respond-async", "accept": "application/fhir+json"}
    refused = bulk.sign_in().request(
        "POST", "/fhir/$export", headers=headers, data=json.dumps(body),
        content_type="application/fhir+json",
    )  # fmt: skip
    check_outcome(refused, 400)


def test_deleting_cancels_an_export_that_waits_and_removes_the_files_of_another(
    bulk, records, settings
):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    assert bulk.request("DELETE", url).status_code == 202
    check_outcome(bulk.get(url), 404)
    assert not job_runs.run_next_job()
    url = bulk.start()["Content-Location"]
    run_all()
    assert list(settings.EXPORT_DIR.glob("fhir-*"))
    assert bulk.request("DELETE", url).status_code == 202
    check_outcome(bulk.get(url), 404)
    assert not list(settings.EXPORT_DIR.glob("fhir-*"))
    (removed,) = [each for each in queries.find_entries() if each.event == "job.removed"]
    assert removed.actor == bulk.row.actor.name


def test_a_cancelled_export_leaves_no_files(bulk, records, settings, monkeypatch):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    original = job_runs.report_progress

    def cancel_and_report(job, done, total):
        job.is_stop_requested = True  # as its heartbeat does
        original(job, done, total)

    monkeypatch.setattr(job_runs, "report_progress", cancel_and_report)
    run_all()
    assert AuditJob.objects.get().state == "cancelled"
    assert not list(settings.EXPORT_DIR.glob("fhir-*"))
    assert bulk.get(url).status_code == 202  # the client did not ask for it, and may poll


def test_an_export_that_ends_after_its_cancellation_is_cancelled_and_leaves_no_files(
    bulk, records, settings, monkeypatch
):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    write = export.durable.fsync_folder

    def cancel_and_write(folder):  # the last step of the work
        assert bulk.request("DELETE", url).status_code == 202
        write(folder)

    monkeypatch.setattr(export.durable, "fsync_folder", cancel_and_write)
    run_all()
    check_outcome(bulk.get(url), 404)
    job = AuditJob.objects.get()
    assert (job.state, job.result) == ("cancelled", {})
    assert not list(settings.EXPORT_DIR.glob("fhir-*"))
    last = list(queries.list_entries(f"job:{job.pk}"))[-1]
    assert (last.event, last.actor) == ("job.cancelled", bulk.row.actor.name)


def test_an_export_expires(bulk, records, settings):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    run_all()
    file_url = bulk.get(url).json()["output"][0]["url"]
    ended = timezone.now() - timedelta(hours=settings.FHIR_EXPORT_HOURS)
    AuditJob.objects.update(finished_at=ended)
    check_outcome(bulk.get(url), 404)
    check_outcome(bulk.get(file_url), 404)
    export.remove_expired_exports()
    assert not AuditJob.objects.exists()
    assert not list(settings.EXPORT_DIR.glob("fhir-*"))


def test_a_failed_export_is_no_server_error(bulk, records, settings, tmp_path):
    bulk.sign_in()
    settings.EXPORT_DIR = tmp_path / "no-folder"
    settings.EXPORT_DIR.write_text("a file")
    url = bulk.start()["Content-Location"]
    run_all()
    check_outcome(bulk.get(url), 422)


def test_another_client_sees_nothing_of_an_export(bulk, records, rsa_key):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    run_all()
    other = BulkClient(register("other", rsa_key), rsa_key).sign_in()
    check_outcome(other.get(url), 404)
    check_outcome(other.get(bulk.get(url).json()["output"][0]["url"]), 404)
    check_outcome(other.request("DELETE", url), 404)


def test_a_file_name_leads_nowhere_else(bulk, records):
    bulk.sign_in()
    url = bulk.start()["Content-Location"]
    run_all()
    for name in ("..%2f..%2fetc%2fpasswd", "2.Patient.ndjson", "x", "0.AuditEvent.ndjson"):
        assert bulk.get(f"{url}/{name}").status_code == 404


def test_clients_find_out_how_to_authenticate_and_what_they_can_export(client, db):
    answer = client.get("/fhir/metadata")
    assert answer["Content-Type"] == "application/fhir+json"
    statement = CapabilityStatement.model_validate_json(answer.content)
    assert statement.rest[0].operation[0].name == "export"
    smart = client.get("/fhir/.well-known/smart-configuration").json()
    assert smart["token_endpoint"] == "http://testserver/fhir/auth/token"
    assert smart["token_endpoint_auth_methods_supported"] == ["private_key_jwt"]


def test_an_unknown_address_is_answered_with_an_outcome(client, db):
    for path in ("/fhir/Patient", "/fhir/$everything"):
        assert check_outcome(client.get(path), 404)["code"] == "not-found"
    assert check_outcome(client.post("/fhir/metadata"), 405)["code"] == "not-supported"
