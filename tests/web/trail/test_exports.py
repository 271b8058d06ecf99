"""Exports: selection, creation in the background, and download."""

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from audit import background_jobs
from audit.export.job import KIND
from audit.ledger import queries
from audit.ledger.queries import EntrySearch
from sites.models import Site, Study
from tests.factories import make_site
from tests.web.trail.conftest import text

PAGE = "/admin/audit/export/"
CHECK = f"{PAGE}check/"


@pytest.fixture
def made(affairs, work, packet):
    """Return the address of a finished export of the complete trail."""
    address = affairs.post(CHECK).url
    work()
    return address


@pytest.fixture
def others(packet):
    """Return a site of another study with a document."""
    site = make_site("0900")
    study = Study.objects.create(protocol_number="OTHER-1")
    Site.objects.filter(pk=site.pk).update(study=study)
    return site


def test_the_page_says_that_no_export_was_requested_yet(affairs):
    assert "No export has been requested yet" in text(affairs.get(PAGE))


def test_the_first_step_keeps_the_earlier_selection(affairs):
    page = affairs.get(f"{PAGE}new/?site=0203&doc_id=cv").content.decode()
    assert 'value="0203"' in page
    assert 'value="cv"' in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", EntrySearch()),
        ("site=0203", EntrySearch(sites=["0203"])),
        ("site=0203&doc_id=irb-approval", EntrySearch(sites=["0203"], doc_id="irb-approval")),
        ("study=SLX-301", EntrySearch(sites=["0203"])),
    ],
)
@pytest.mark.requirement("R11")
def test_the_second_page_shows_the_number_of_entries_and_requests_exactly_these(
    affairs, work, packet, query, expected
):
    number = queries.count_entries(expected)
    page = text(affairs.get(f"{CHECK}?{query}"))
    assert f"Entries {number} " in page
    assert "The audit trail records that you create this export." in page
    address = affairs.post(f"{CHECK}?{query}").url
    work()
    requested = not query  # the complete trail has the entry of this request, too
    assert f"{number + requested} entries" in text(affairs.get(address))


def test_a_packet_is_exported_with_its_batch(affairs, packet):
    affairs.post(f"{CHECK}?packet={packet.reference}")
    chosen = background_jobs.list_latest_jobs(KIND, 1)[0].arguments
    assert chosen["subjects"][0] == packet.batch.subject
    assert len(chosen["subjects"]) == 4
    assert packet.reference in text(affairs.get(PAGE))


def test_a_period_includes_its_last_day(affairs, packet):
    affairs.post(f"{CHECK}?since=2026-01-01&until=2099-01-31")
    chosen = background_jobs.list_latest_jobs(KIND, 1)[0].arguments
    assert chosen["since"] == "2026-01-01T00:00:00.000000Z"
    assert chosen["until"] == "2099-02-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("site=9", "Site 9 does not exist"),
        ("study=9", "Study 9 does not exist"),
        ("packet=9", "Packet 9 does not exist"),
        ("doc_id=cv", "Enter the site number"),
        ("study=OTHER-1&site=0203", "Site 0203 does not belong to this study"),
        ("study=EMPTY-1", "This study has no sites yet"),
        ("since=2026-02-01&until=2026-01-01", "The end date is before the start date"),
    ],
)
def test_an_invalid_selection_is_explained_and_exports_nothing(affairs, others, query, message):
    Study.objects.create(protocol_number="EMPTY-1")
    answer = affairs.post(f"{CHECK}?{query}")
    assert answer.status_code == 400
    assert message in text(answer)
    assert not background_jobs.list_latest_jobs(KIND, 1)


def test_a_selection_without_entries_cannot_be_exported(affairs, packet):
    answer = affairs.post(f"{CHECK}?until=2020-01-01")
    assert "No entries match" in text(answer)
    assert not background_jobs.list_latest_jobs(KIND, 1)


@pytest.mark.requirement("R11")
def test_a_finished_export_lists_its_files_and_the_command_for_inspectors(affairs, made):
    page = text(affairs.get(made))
    content = b"".join(affairs.get(f"{made}file/").streaming_content)
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        manifest = package.read("manifest.json")
        entries = package.read("entries.ndjson")
    assert hashlib.sha256(manifest).hexdigest() in page
    assert f"entries.ndjson {hashlib.sha256(entries).hexdigest()}" in page
    assert "verify_trail.py . --vkey KEY --known CHECKPOINT-OR-HEAD KEY is" in page
    assert "This is a partial export" not in page


def test_a_partial_export_says_so_beside_the_command_for_inspectors(affairs, work, packet):
    address = affairs.post(f"{CHECK}?packet={packet.reference}").url
    work()
    page = text(affairs.get(address))
    assert "verify_trail.py . --vkey KEY --known CHECKPOINT-OR-HEAD --part" in page
    assert "This is a partial export" in page


@pytest.mark.requirement("R07")
@pytest.mark.requirement("R11")
def test_creation_and_download_of_an_export_are_recorded(affairs, work, packet):
    address = affairs.post(f"{CHECK}?packet={packet.reference}").url
    work()
    taken = affairs.get(f"{address}file/")
    with zipfile.ZipFile(io.BytesIO(b"".join(taken.streaming_content))) as package:
        lines = package.read("entries.ndjson").decode().splitlines()
    assert len(lines) == len(queries.list_entries(*packet.list_subjects()))
    events = [entry.event for entry in queries.find_entries()]
    assert events[:4] == [
        "ledger.export_downloaded", "job.done", "ledger.exported", "job.requested",
    ]  # fmt: skip


def test_an_export_is_streamed_as_an_attachment(affairs, made):
    answer = affairs.get(f"{made}file/")
    assert answer.streaming
    name = Path(background_jobs.list_latest_jobs(KIND, 1)[0].result["path"]).name
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "no-store" in answer.headers["Cache-Control"]
    assert b"".join(answer.streaming_content).startswith(b"PK")


def test_an_unfinished_export_cannot_be_downloaded(affairs, packet):
    address = affairs.post(CHECK).url
    assert "Creating the export" in text(affairs.get(address))
    assert affairs.get(f"{address}file/").status_code == 404


def test_a_removed_package_is_reported_as_removed(affairs, made):
    Path(background_jobs.list_latest_jobs(KIND, 1)[0].result["path"]).unlink()
    assert "no longer available" in text(affairs.get(made))
    assert affairs.get(f"{made}file/").status_code == 404


def test_a_failed_export_shows_the_reason(affairs, work, packet, settings):
    address = affairs.post(CHECK).url
    settings.EXPORT_DIR.write_text("no folder")
    work()
    assert "The job failed. FileExistsError" in text(affairs.get(address))
    assert "Failed" in text(affairs.get(PAGE))


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("role", ["QA reviewers", "Operations"])
def test_only_regulatory_affairs_can_export_and_download(as_role, made, role):
    client = as_role(role)
    for address in (PAGE, f"{PAGE}new/", CHECK, made, f"{made}file/"):
        assert client.get(address).status_code == 403
    assert client.post(CHECK).status_code == 403


def test_other_roles_cannot_see_exports(client, mara, made):
    client.force_login(mara)
    assert client.get(f"{made}file/").status_code == 403
    client.logout()
    assert client.get(f"{made}file/").url == f"/login/?next={made}file/"


def test_a_verification_job_is_not_shown_as_an_export(affairs, packet):
    check = affairs.post("/admin/audit/verify/now/").url
    assert affairs.get(check).status_code == 200
    assert affairs.get(check.replace("/verify/", "/export/")).status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_exports(
    affairs, packet, django_assert_max_num_queries
):
    for _ in range(10):
        affairs.post(CHECK)
    with django_assert_max_num_queries(7):
        affairs.get(PAGE)
