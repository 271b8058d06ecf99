"""Runs FHIR Bulk Data exports as background jobs, which write NDJSON files into EXPORT_DIR.

The whole export reads one snapshot of the database. `transactionTime` is the time of the last entry
of the ledger in it, so that the next export with `_since` begins where this one ended: an entry
that is appended later has a later time, or the same one, and `_since` includes equal times.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.export import fhir
from audit.export.trail import read_lines_since
from audit.files import durable
from audit.ledger import queries
from audit.ledger.log import write_time
from audit.ledger.queries import EntrySearch
from ingestion.backup.databases import read_from_snapshot
from ingestion.documents.downloads import get_media_type
from ingestion.fhir import resources
from ingestion.models import Document
from sites.models import Site, User

KIND = "fhir_export"
EVERY_TYPE = ("AuditEvent", "DocumentReference", "Organization", "Practitioner")
MAX_LINES_PER_FILE = 100_000
ROWS_PER_PAGE = 500  # whose last entries are looked up together
OUTCOME = "OperationOutcome"

Lines = Iterator[bytes]
Progress = Callable[[int], object]  # is called with the number of resources that were written


def run_fhir_export_job(job: AuditJob) -> Mapping[str, Any]:
    """Write the resources that the job names, and return what the manifest states about them."""
    arguments = job.arguments
    since = datetime.fromisoformat(arguments["since"]) if arguments["since"] else None
    base = Path(settings.EXPORT_DIR)
    for leftover in base.glob(f"fhir-{job.pk}-*"):  # of a worker that died
        shutil.rmtree(leftover, ignore_errors=True)
    folder = base / f"fhir-{job.pk}-{job.attempts}"
    folder.mkdir(parents=True, mode=0o700)
    try:
        with read_from_snapshot():
            time = queries.get_last_recorded_at() or datetime.now(UTC)
            total = sum(_count(name, since) for name in arguments["types"])
            done, output = 0, []
            for name in arguments["types"]:
                report = partial(_report, job, done, total)
                files = list(_write_files(folder, name, _MAKERS[name](since), report))
                done += sum(file["count"] for file in files)
                output += files
        errors = list(_write_files(folder, OUTCOME, _make_outcomes(arguments["warnings"])))
        durable.fsync_folder(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return {
        "folder": str(folder),
        "transaction_time": write_time(time),
        "output": output,
        "errors": errors,
    }


def discard_folder(job: AuditJob) -> None:
    """Remove the files of an export. They may be gone already."""
    if folder := job.result.get("folder"):
        shutil.rmtree(folder, ignore_errors=True)


def remove_expired_exports() -> int:
    """Remove the exports whose files are not offered any more. Returns how many."""
    before = timezone.now() - timedelta(hours=settings.FHIR_EXPORT_HOURS)
    return background_jobs.remove_expired_jobs(before, kind=KIND)


def measure_export(arguments: Mapping[str, Any]) -> int:
    """Return about how many resources an export with these arguments writes."""
    since = datetime.fromisoformat(arguments["since"]) if arguments["since"] else None
    return sum(_count(name, since) for name in arguments["types"])


def _report(job: AuditJob, before: int, total: int, written: int) -> None:
    done = before + written
    job_runs.report_progress(job, done, max(total, done))


def _write_files(
    folder: Path, name: str, lines: Lines, report: Progress = lambda _written: None
) -> Iterator[dict[str, Any]]:
    """Write lines into files of at most MAX_LINES_PER_FILE, and yield the facts about each."""
    written, number = 0, 0
    first = next(lines, None)
    while first is not None:
        number += 1
        count, path = 0, folder / f"{number}.{name}.ndjson"
        with path.open("xb") as out:
            for line in chain([first], islice(lines, MAX_LINES_PER_FILE - 1)):
                out.write(line + b"\n")
                count += 1
                report(written + count)
            durable.sync(out)
        written += count
        yield {"type": name, "name": path.name, "count": count, "size": path.stat().st_size}
        first = next(lines, None)


def _count(name: str, since: datetime | None) -> int:
    """Return how many resources of a type there are. With `since`, it is an upper bound."""
    if name == "AuditEvent":
        return queries.count_entries(EntrySearch(since=since))
    if name == "DocumentReference":
        return Document.objects.count()
    if name == "Organization":
        return Site.objects.count()
    return User.objects.count() + Site.objects.exclude(investigator="").count()


def _make_audit_events(since: datetime | None) -> Lines:
    for line in read_lines_since(since):
        yield fhir.make_audit_event(line)


def _make_document_references(since: datetime | None) -> Lines:
    rows = Document.objects.select_related("site").order_by("pk")
    for document, updated_at in _read_changed(rows, since):
        media_type = get_media_type(document.filename)
        yield orjson.dumps(
            resources.make_document_reference(
                document, updated_at=updated_at, media_type=media_type
            )
        )


def _make_organizations(since: datetime | None) -> Lines:
    rows = Site.objects.select_related("study").order_by("pk")
    for site, updated_at in _read_changed(rows, since):
        yield orjson.dumps(resources.make_organization(site, updated_at=updated_at))


def _make_practitioners(since: datetime | None) -> Lines:
    for user, updated_at in _read_changed(User.objects.order_by("pk"), since):
        yield orjson.dumps(resources.make_practitioner_of_account(user, updated_at=updated_at))
    sites = Site.objects.exclude(investigator="").order_by("pk")
    for site, updated_at in _read_changed(sites, since):
        yield orjson.dumps(resources.make_practitioner_of_site(site, updated_at=updated_at))


def _read_changed(rows: "QuerySet[Any]", since: datetime | None) -> Iterator[tuple[Any, datetime]]:
    """Yield rows that were changed at `since` or later, with the time of their last entry.

    A row without an entry, from before the ledger knew its kind, has the time of the first entry.
    """
    oldest = queries.get_first_recorded_at() or datetime.now(UTC)
    after = 0
    while page := list(rows.filter(pk__gt=after)[:ROWS_PER_PAGE]):
        times = queries.find_last_recorded({row.subject for row in page})
        for row in page:
            updated_at = times.get(row.subject, oldest)
            if since is None or updated_at >= since:
                yield row, updated_at
        after = page[-1].pk


def _make_outcomes(warnings: list[str]) -> Lines:
    """Yield an OperationOutcome for each parameter that was ignored, because it was asked for."""
    for warning in warnings:
        issue = {"severity": "warning", "code": "not-supported", "details": {"text": warning}}
        yield orjson.dumps({"resourceType": OUTCOME, "issue": [issue]})


_MAKERS: Mapping[str, Callable[[datetime | None], Lines]] = {
    "AuditEvent": _make_audit_events,
    "DocumentReference": _make_document_references,
    "Organization": _make_organizations,
    "Practitioner": _make_practitioners,
}
