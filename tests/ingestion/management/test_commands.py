"""Tests of commands: names, exit codes and output, on which scripts rely."""

import datetime
import json
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from ingestion.core.limiter import RequestRate
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import leases, portal_limit_rows
from ingestion.documents import progress
from ingestion.management import waiting
from ingestion.models import Batch, Chunk, Document, PortalLimitState
from ingestion.operations import work_status
from tests import steps
from tests.factories import make_batch, make_filed, make_site
from tests.ingestion.hosts import environment, eventually

pytestmark = pytest.mark.django_db
CODE = "PORTAL_UNAVAILABLE"


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture
def manifest(tmp_path):
    """Return a function that writes a manifest and returns its path. Arguments change lines."""

    def write(*changes):
        site = make_site("1001")
        lines = [
            {
                "site_id": "1001",
                "doc_id": f"doc-{number}",
                "url": f"{site.portal.base_url}{number}.pdf",
                "schema_version": "v2.1",
            }
            | change
            for number, change in enumerate(changes)
        ]
        file = tmp_path / "manifest.ndjson"
        file.write_text("\n".join(map(json.dumps, lines)))
        return str(file)

    return write


def reject_all(code="DOWNLOAD_FAILED", *, held=False):
    """Reject or hold all due documents, as after failed requests."""
    for lease in leases.claim_due_chunks(10, by="here:1:1"):
        for item in lease.items:
            steps.give_up(item.document, lease.lease_id, code, {}, held=held)
        leases.return_chunk(lease.chunk, lease.lease_id)


@pytest.fixture
def work_between_polls(monkeypatch):
    """Finish the batch that a command waits for before its second poll."""
    until_final = progress.follow_until_final
    monkeypatch.setattr(
        progress,
        "follow_until_final",
        lambda batch: until_final(batch, sleep=lambda _: reject_all()),
    )


def test_a_manifest_is_registered_and_its_batch_is_named(manifest, capsys):
    call_command("ingest_manifest", manifest({}, {}))
    batch = Batch.objects.get()
    assert capsys.readouterr().out.startswith(f"Batch {batch.reference}: QUEUED, 0 of 2 documents")


def test_the_json_form_has_the_keys_that_scripts_read(manifest, capsys):
    call_command("ingest_manifest", manifest({}), as_json=True)
    result = json.loads(capsys.readouterr().out)
    keys = {"batch", "status", "documents", "files", "states", "codes", "seconds", "stuck_sites"}
    assert set(result) == keys
    assert (result["documents"], result["files"]) == (1, 1)
    assert result["states"] == {"RECEIVED": 1}


def test_a_faulty_manifest_registers_nothing_and_names_every_fault(manifest):
    with pytest.raises(CommandError) as refused:
        call_command("ingest_manifest", manifest({}, {"site_id": "9"}, {"schema_version": "v1"}))
    message = str(refused.value)
    assert "nothing was registered; 2 faults:" in message
    assert "line 2: site_id" in message
    assert "line 3: schema_version" in message
    assert not Batch.objects.exists()


def test_a_dry_run_registers_nothing(manifest, capsys):
    call_command("ingest_manifest", manifest({}), dry_run=True)
    assert capsys.readouterr().out == "1 documents would be registered.\n"
    assert not Batch.objects.exists()


def test_a_missing_manifest_is_reported_without_a_traceback(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("ingest_manifest", str(tmp_path / "nothing.ndjson"))


@pytest.mark.usefixtures("work_between_polls")
def test_waiting_ends_with_the_batch_and_prints_its_result(manifest, capsys):
    call_command("ingest_manifest", manifest({}), wait=True, as_json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["status"] == BatchState.COMPLETED
    assert result["codes"] == {"DOWNLOAD_FAILED": 1}


@pytest.mark.usefixtures("work_between_polls")
def test_waiting_without_a_worker_prints_a_warning(manifest, capsys, monkeypatch):
    monkeypatch.setattr(waiting, "SILENCE_SECONDS", -1.0)
    call_command("ingest_manifest", manifest({}), wait=True)
    assert "No worker is running" in capsys.readouterr().err


def test_documents_that_wait_for_their_portal_do_not_count_as_unattended():
    make_batch()
    assert work_status.is_work_unattended()
    Chunk.objects.update(next_dispatch_at="2030-01-01T00:00:00Z")
    assert not work_status.is_work_unattended()


def test_the_files_of_a_folder_are_registered_as_a_batch(tmp_path, capsys):
    make_site("1001")
    folder = tmp_path / "packet"
    folder.mkdir()
    (folder / "cv_whitfield.pdf").write_bytes(b"%PDF-")
    call_command("ingest_folder", str(folder), site="1001")
    assert Document.objects.get().doc_id == "cv_whitfield"


def test_a_folder_for_an_unknown_site_is_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no site '9'"):
        call_command("ingest_folder", str(tmp_path), site="9")


def test_pull_registers_one_batch_for_each_key(capsys):
    site = make_site("1001")
    make_filed(site, "doc-1", "a" * 64)
    for _ in range(2):
        call_command("pull", "1001", key="monday")
    assert Batch.objects.filter(source="pull").count() == 1
    assert capsys.readouterr().out.count("0 of 1 documents settled") == 2


def test_pull_refuses_a_portal_without_documents_or_answers():
    with pytest.raises(CommandError, match="there is no site '9'"):
        call_command("pull", "9")
    site = make_site("1001")
    with pytest.raises(CommandError, match="has served no documents"):
        call_command("pull", "1001")
    make_filed(site, "doc-1", "a" * 64)
    PortalLimitState.objects.create(
        portal=site.portal, breaker="OPEN", probe_at=1_900_000_000_000_000
    )
    with pytest.raises(CommandError, match="does not answer; it is tried next at"):
        call_command("pull", "1001")


def test_status_counts_waiting_documents_and_workers(capsys):
    make_batch(documents=3)
    leases.claim_due_chunks(1, by="here:17:1")
    call_command("status", as_json=True)
    status = json.loads(capsys.readouterr().out)
    assert (status["chunks_running"], status["documents_unsettled"]) == (1, 3)
    assert status["workers"] == ["here:17"]
    assert (status["ring_unanswered"], status["failed_tasks"]) == (False, 0)
    call_command("status")
    assert "here:17" in capsys.readouterr().out


def test_recover_prints_the_number_of_orphaned_chunks(capsys):
    make_batch()
    leases.claim_due_chunks(1, by="dead:1:1")
    Chunk.objects.update(lease_expires_at="2026-01-01T00:00:00Z")
    call_command("recover")
    assert capsys.readouterr().out.startswith("Made 1 chunk of silent workers due again")
    assert Document.objects.get().state == DocumentState.RECEIVED


def test_status_names_portals_that_are_down_or_fully_used(capsys):
    down, busy = (make_site(number).portal for number in ("1001", "1002"))
    until = datetime.datetime(2040, 12, 1, tzinfo=datetime.UTC).timestamp()
    PortalLimitState.objects.create(portal=down, breaker="OPEN", probe_at=until * 1e6)
    portal_limit_rows.reserve_tokens(
        busy.pk, RequestRate.of(busy.rate_per_second, busy.burst), 5000
    )
    call_command("status", as_json=True)
    status = json.loads(capsys.readouterr().out)
    assert status["portals_down"] == ["site-1001 (OPEN, next probe 2040-12-01 00:00:00 UTC)"]
    assert list(status["portal_use"]) == ["site-1002"]
    call_command("status")
    assert "site-1001" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "retried"),
    [
        ({}, 2),
        ({"code": "CAPACITY"}, 0),
        ({"site": "1001"}, 1),
        ({"site": "1001", "code": CODE}, 1),
    ],
)
def test_retry_selects_held_documents_by_code_and_site(options, retried, capsys):
    make_batch(make_site("1001"))
    make_batch(make_site("1002"))
    reject_all(CODE, held=True)
    call_command("retry", **options)
    assert capsys.readouterr().out == f"{retried} documents are in the queue again.\n"
    assert Document.objects.filter(state=DocumentState.RECEIVED).count() == retried


@pytest.mark.parametrize("options", [{"code": "BAD_LUCK"}, {"site": "9"}])
def test_retry_refuses_an_unknown_code_or_site(options):
    with pytest.raises(CommandError, match="there is no"):
        call_command("retry", **options)


def run(settings, *arguments, **options):
    """Run manage.py in a process of its own, and return the finished process."""
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, env=environment(settings, **options), capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_manifest_is_refused_with_exit_code_75_at_capacity(manifest, settings):
    make_batch(make_site("9001"), documents=2)
    options = {"MAX_UNFINISHED_DOCUMENTS": "2", "LOG_FORMAT": "text"}
    result = run(settings, "ingest_manifest", manifest({}), **options)
    assert result.returncode == 75
    assert "Nothing was registered. Try again in 10 minutes." in result.stderr
    assert "Traceback" not in result.stderr
    assert Batch.objects.count() == 1


def test_a_folder_is_refused_with_exit_code_75_at_capacity(tmp_path, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    make_batch(make_site("1001"), documents=2)
    folder = tmp_path / "packet"
    folder.mkdir()
    (folder / "cv_whitfield.pdf").write_bytes(b"%PDF-")
    with pytest.raises(CommandError, match="Try again in 10 minutes") as full:
        call_command("ingest_folder", str(folder), site="1001")
    assert full.value.returncode == 75


def test_a_manifest_of_too_many_chunks_is_refused_with_its_numbers(manifest, settings):
    settings.CHUNK_SIZE = settings.MAX_CHUNKS = 1
    with pytest.raises(CommandError, match="2 documents of 1 sites make 2 chunks"):
        call_command("ingest_manifest", manifest({}, {}))


def test_a_repeated_manifest_with_the_same_key_is_the_same_batch(manifest, capsys):
    file = manifest({}, {})
    for _ in range(2):
        call_command("ingest_manifest", file, key="nightly-17")
    batch = Batch.objects.get()
    assert capsys.readouterr().out.count(f"Batch {batch.reference}: QUEUED") == 2


def test_a_key_that_was_used_for_another_manifest_is_an_error(manifest):
    call_command("ingest_manifest", file := manifest({}), key="nightly-17")
    with pytest.raises(CommandError, match="'nightly-17' was used for another submission"):
        call_command("ingest_manifest", file, key="nightly-17", priority=1)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killing_a_waiting_command_does_not_affect_the_work(manifest, settings):
    command = [sys.executable, "manage.py", "ingest_manifest", manifest({}, {}), "--wait"]
    with subprocess.Popen(command, env=environment(settings)) as process:
        batch = eventually(Batch.objects.first)
        [lease] = leases.claim_due_chunks(1, by="here:1:1")
        process.kill()
    assert leases.renew([lease.lease_id]) == {lease.lease_id}
    for item in lease.items:
        steps.give_up(item.document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED


def test_a_batch_is_cancelled_by_its_reference(capsys):
    batch = make_batch(documents=2)
    call_command("cancel", batch.reference)
    result = capsys.readouterr().out
    assert result.startswith(f"Batch {batch.reference}: CANCELLED, 2 of 2 documents settled")


@pytest.mark.parametrize(
    ("reference", "message"), [("BAT-1", "there is no batch 'BAT-1'"), ("", "is CANCELLED already")]
)
def test_an_unknown_or_finished_batch_cannot_be_cancelled(reference, message):
    batch = make_batch()
    call_command("cancel", batch.reference)
    with pytest.raises(CommandError, match=message):
        call_command("cancel", reference or batch.reference)


def test_a_refusal_has_exit_code_1(tmp_path, settings):
    file = tmp_path / "empty.ndjson"
    file.write_text("")
    result = run(settings, "ingest_manifest", str(file), LOG_FORMAT="text")
    assert result.returncode == 1
    assert "The manifest is empty. List at least one document." in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_missing_secret_key_is_reported_with_the_setting(settings):
    variables = environment(settings) | {
        "SECRET_KEY": "",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_FORMAT": "text",
    }
    command = [sys.executable, "manage.py", "check"]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "(config.E001) SECRET_KEY is not set." in result.stderr
    assert "HINT: Set SECRET_KEY=" in result.stderr
