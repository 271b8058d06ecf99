"""`/admin/audit/export/`: choose, see what it will hold, have it made, and take it away.

Two steps before the work begins, each an address of its own, so that Back goes back.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.export.job import KIND
from audit.ledger import queries
from audit.ledger.log import ledger, record, write_time
from audit.ledger.queries import EntrySearch
from ingestion.models import Packet
from sites.models import User
from web.permissions import EXPORT
from web.shell import event_labels
from web.shell.access import FORM, READ, SignedIn, page
from web.trail import export_package
from web.trail.forms import ExportForm, midnight, midnight_after
from web.trail.jobs import is_job_done, render_job
from web.trail.timelines import list_packet_subjects

EXPORTS_SHOWN = 20


@page(READ, permission=EXPORT)
def export_list(request: SignedIn) -> HttpResponse:
    made = background_jobs.latest_jobs(KIND, EXPORTS_SHOWN)
    names = event_labels.name_actors(job.asked_by for job in made)
    rows = [(job, names.get(job.asked_by, job.asked_by), describe_selection(job)) for job in made]
    return render(request, "trail/exports.html", {"rows": rows})


@page(READ, permission=EXPORT)
def choose_export(request: SignedIn) -> HttpResponse:
    """Step 1. What is in the address is chosen already."""
    return render(
        request, "trail/export_choose.html", {"form": ExportForm(initial=_given(request))}
    )


@page(FORM, permission=EXPORT)
def confirm_export(request: SignedIn) -> HttpResponse:
    """Step 2: how much that is. Posted, it is asked for."""
    form = ExportForm(request.GET)
    if not form.is_valid():
        return render(request, "trail/export_choose.html", {"form": form}, status=400)
    search = _search(form.cleaned_data)
    entries = queries.count_entries(search)
    if request.method == "POST" and entries:
        chosen_by = {"role": request.user.role}
        arguments = _arguments(form.cleaned_data, search) | chosen_by
        job = background_jobs.request_job(KIND, arguments, request.user.actor_name)
        return redirect("trail_export", job.pk)
    choice = [(form.fields[name].label, name, value) for name, value in _chosen(form).items()]
    context = {"choice": choice, "entries": entries, "query": request.GET.urlencode()}
    return render(request, "trail/export_confirm.html", context)


@page(READ, permission=EXPORT)
def export_page(request: HttpRequest, pk: int) -> HttpResponse:
    job = _job(pk)
    made = export_package.read_package(Path(job.result["path"])) if is_job_done(job) else None
    return render_job(
        request, job, "trail/export", {"made": made, "chosen": describe_selection(job)}
    )


@page(READ, permission=EXPORT)
def download_export(request: SignedIn, pk: int) -> FileResponse:
    """Streamed. What was removed since, or is not ready, is not there."""
    job = _job(pk)
    path = Path(job.result.get("path", ""))
    if not is_job_done(job) or not path.is_file():
        raise Http404
    _enter(job, path, request.user)
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


def _enter(job: AuditJob, path: Path, person: User) -> None:
    """On record before the first byte leaves: no entry, no bytes."""
    with ledger():
        record(
            "ledger.export_downloaded",
            subject=f"download:{uuid4()}",
            by=person.actor,
            sha256=job.result.get("manifest", ""),
            detail={"export": job.pk, "file": path.name},
        )


def describe_selection(job: AuditJob) -> str:
    """Return the selection of an export, as people read it."""
    given = job.arguments
    values = {
        _("Packet {value}"): given.get("packet"),
        _("Document {value}"): given.get("doc_id"),
        _("Study {value}"): given.get("study"),
        _("Site {value}"): next(iter(given.get("sites", [])), "") if not given.get("study") else "",
        _("From {value}"): given.get("since", "")[:10],
        _("Before {value}"): given.get("until", "")[:10],
    }
    parts = [label.format(value=value) for label, value in values.items() if value]
    return ", ".join(parts) or _("Complete audit trail")


def _job(pk: int) -> AuditJob:
    job = background_jobs.find_job(KIND, pk)
    if job is None:
        raise Http404
    return job


def _given(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "") for name in ExportForm.base_fields}


def _chosen(form: ExportForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in form.fields if form.cleaned_data[name]}


def _search(given: Mapping[str, Any]) -> EntrySearch:
    packet = given["packet"] and Packet.objects.select_related("batch").get(
        reference=given["packet"]
    )
    return EntrySearch(
        sites=given["sites"],
        subjects=list_packet_subjects(packet) if packet else [],
        doc_id=given["doc_id"],
        since=midnight(given["since"]),
        until=midnight_after(given["until"]),
    )


def _arguments(given: Mapping[str, Any], search: EntrySearch) -> dict[str, Any]:
    """Plain text, for the job's row."""
    return {
        "sites": list(search.sites),
        "study": given["study"],
        "doc_id": search.doc_id,
        "packet": given["packet"],
        "subjects": list(search.subjects),
        "since": write_time(search.since) if search.since else "",
        "until": write_time(search.until) if search.until else "",
    }
