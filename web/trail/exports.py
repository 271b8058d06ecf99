"""Serves `/admin/audit/export/`: select, confirm, create and download an export of the trail.

The selection has two steps, each with its own address, so that the Back button of browsers works.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.export import job as export_job
from audit.export.job import KIND
from audit.ledger import queries
from audit.ledger.log import write_time
from audit.ledger.queries import EntrySearch
from ingestion.models import Packet
from web.permissions import EXPORT_LEDGER
from web.shell import event_labels
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.trail import export_package
from web.trail.forms import ExportForm, get_midnight, get_midnight_after
from web.trail.jobs import is_job_done, render_job

MAX_EXPORTS_SHOWN = 20


@restrict_page(READ, permission=EXPORT_LEDGER)
def export_list(request: SignedIn) -> HttpResponse:
    """List the latest exports, with who requested them and what they contain."""
    jobs = background_jobs.list_latest_jobs(KIND, MAX_EXPORTS_SHOWN)
    names = event_labels.name_actors(job.asked_by for job in jobs)
    rows = [(job, names.get(job.asked_by, job.asked_by), describe_selection(job)) for job in jobs]
    return render(request, "trail/exports.html", {"rows": rows})


@restrict_page(READ, permission=EXPORT_LEDGER)
def choose_export(request: SignedIn) -> HttpResponse:
    """Show step 1. The parameters of the address prefill the form."""
    initial = {name: request.GET.get(name, "") for name in ExportForm.base_fields}
    return render(request, "trail/export_choose.html", {"form": ExportForm(initial=initial)})


@restrict_page(FORM, permission=EXPORT_LEDGER)
def confirm_export(request: SignedIn) -> HttpResponse:
    """Show step 2, the number of entries. With POST, request the export."""
    form = ExportForm(request.GET)
    if not form.is_valid():
        return render(request, "trail/export_choose.html", {"form": form}, status=400)
    selection = form.cleaned_data
    search = _build_search(selection)
    entries = queries.count_entries(search)
    if request.method == "POST" and entries:
        arguments = {
            "sites": list(search.sites),
            "study": selection["study"],
            "doc_id": search.doc_id,
            "packet": selection["packet"],
            "subjects": list(search.subjects),
            "since": write_time(search.since) if search.since else "",
            "until": write_time(search.until) if search.until else "",
        }
        names = ("study", "doc_id", "packet", "since", "until")
        parameters = {"site": selection["site"], **{name: arguments[name] for name in names}}
        job = background_jobs.request_job(
            KIND,
            arguments,
            request.user.actor,
            parameters={name: value for name, value in parameters.items() if value},
        )
        return redirect("trail_export", job.pk)
    choices = [
        (field.label, name, selection[name])
        for name, field in form.fields.items()
        if selection[name]
    ]
    context = {"choices": choices, "entries": entries, "query": request.GET.urlencode()}
    return render(request, "trail/export_confirm.html", context)


@restrict_page(READ, permission=EXPORT_LEDGER)
def export_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the progress of an export, then its contents."""
    job = _get_job(pk)
    package = export_package.read_package(Path(job.result["path"])) if is_job_done(job) else None
    context = {"package": package, "selection": describe_selection(job)}
    return render_job(request, job, "trail/export", context)


@restrict_page(READ, permission=EXPORT_LEDGER)
def download_export(request: SignedIn, pk: int) -> FileResponse:
    """Stream the package. Raises Http404 if it is not ready, or was removed since."""
    job = _get_job(pk)
    path = Path(job.result.get("path", ""))
    if not is_job_done(job) or not path.is_file():
        raise Http404
    export_job.record_download(job, by=request.user.actor)
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


def describe_selection(job: AuditJob) -> str:
    """Return the selection of an export in words."""
    arguments = job.arguments
    site = "" if arguments.get("study") else next(iter(arguments.get("sites", [])), "")
    values = {
        _("Packet {value}"): arguments.get("packet"),
        _("Document {value}"): arguments.get("doc_id"),
        _("Study {value}"): arguments.get("study"),
        _("Site {value}"): site,
        _("From {value}"): arguments.get("since", "")[:10],
        _("Before {value}"): arguments.get("until", "")[:10],
    }
    parts = [label.format(value=value) for label, value in values.items() if value]
    return ", ".join(parts) or _("Complete audit trail")


def _get_job(pk: int) -> AuditJob:
    job = background_jobs.find_job(KIND, pk)
    if job is None:
        raise Http404
    return job


def _build_search(selection: Mapping[str, Any]) -> EntrySearch:
    subjects = []
    if selection["packet"]:
        packets = Packet.objects.select_related("batch")
        subjects = packets.get(reference=selection["packet"]).list_subjects()
    return EntrySearch(
        sites=selection["sites"],
        subjects=subjects,
        doc_id=selection["doc_id"],
        since=get_midnight(selection["since"]),
        until=get_midnight_after(selection["until"]),
    )
