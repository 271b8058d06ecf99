"""Serves `/admin/ops/jobs/`: background jobs by kind, submitter, status and time, and each job.

A job that has a page of its own, such as an export, is shown there with its result.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.ledger.actors import PERSON
from ingestion import job_kinds
from ingestion.assessment import job as assessment_job
from sites.models import User
from web.operations.job_requests import list_requestable
from web.operations.job_results import describe_result
from web.permissions import VIEW_JOBS
from web.shell import event_labels
from web.shell.access import CHANGE, DOWNLOAD, READ, SignedIn, restrict_page
from web.shell.forms import PlainForm
from web.trail.jobs import render_job

JOBS_PER_PAGE = 50


class JobFilterForm(PlainForm):
    """The filters of the list. Invalid values are ignored."""

    kind = forms.ChoiceField(label=gettext_lazy("Job"), required=False)
    status = forms.ChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        choices=[("", gettext_lazy("All")), *AuditJob.State.choices],
    )
    submitter = forms.CharField(
        label=gettext_lazy("Requested by"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("A user name."),
    )
    since = forms.DateField(
        label=gettext_lazy("From"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    until = forms.DateField(
        label=gettext_lazy("To"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        kinds = [(name, event_labels.label_job(name)) for name in job_kinds.list_kind_names()]
        self.fields["kind"].choices = [("", _("All")), *kinds]  # type: ignore[attr-defined]

    def select(self, jobs: "QuerySet[AuditJob]") -> "QuerySet[AuditJob]":
        """Return the jobs that match."""
        given = self.cleaned_data
        if kind := given.get("kind"):
            jobs = jobs.filter(kind=kind)
        if status := given.get("status"):
            jobs = jobs.filter(state=status)
        if submitter := given.get("submitter"):
            user = User.objects.filter(username=submitter).first()
            jobs = jobs.filter(owner=f"{PERSON}{user.pk}" if user else submitter)
        if since := given.get("since"):
            jobs = jobs.filter(created_at__gte=datetime.combine(since, time.min, UTC))
        if until := given.get("until"):
            day_after = until + timedelta(days=1)
            jobs = jobs.filter(created_at__lt=datetime.combine(day_after, time.min, UTC))
        return jobs


@restrict_page(READ, permission=VIEW_JOBS)
def job_list(request: SignedIn) -> HttpResponse:
    """List the background jobs that match the filters, the newest first."""
    form = JobFilterForm(request.GET)
    form.is_valid()
    jobs = form.select(job_kinds.list_visible_jobs(request.user))
    page = Paginator(jobs, JOBS_PER_PAGE).get_page(request.GET.get("page"))
    names = _name_submitters(page)
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "form": form,
        "page": page,
        "rows": [
            (job, event_labels.label_job(job.kind), names[_get_submitter(job)]) for job in page
        ],
        "query": query.urlencode(),
        "is_filtered": any(form.cleaned_data.values()),
        "requestable": list_requestable(request.user),
    }
    return render(request, "ops/jobs.html", context)


@restrict_page(READ, permission=VIEW_JOBS)
def job_page(request: SignedIn, pk: int) -> HttpResponse:
    """Show the progress of one job, then whether it was done."""
    job = _get_job(request.user, pk)
    can_read = job_kinds.can_read_result(job, request.user)
    context = {
        "label": event_labels.label_job(job.kind),
        "requester": _name_submitters([job])[_get_submitter(job)],
        "can_cancel": job_kinds.can_cancel(job, request.user),
        "result": describe_result(job) if can_read else [],
        "has_file": can_read and _find_file(job) is not None,
    }
    return render_job(request, job, "ops/job", context)


@restrict_page(DOWNLOAD, permission=VIEW_JOBS)
def download_file(request: SignedIn, pk: int) -> FileResponse:
    """Stream the result of an assessment. Raises Http404 if there is none, or it was removed.

    Raises PermissionDenied if the person may not read the results of these jobs.
    """
    job = _get_job(request.user, pk)
    if not job_kinds.can_read_result(job, request.user):
        raise PermissionDenied
    path = _find_file(job)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


@restrict_page(CHANGE, permission=VIEW_JOBS)
def cancel_job(request: SignedIn, pk: int) -> HttpResponse:
    """Cancel a job: at once if it waits, else as soon as its worker notices the request."""
    job = _get_job(request.user, pk)
    if not job_kinds.can_cancel(job, request.user):
        raise PermissionDenied
    try:
        background_jobs.cancel_job(job, request.user.actor)
    except background_jobs.JobAlreadyEnded:
        messages.warning(request, _("The job has ended already, so it was not cancelled."))
    else:
        messages.success(request, _("The job is being cancelled."))
    return redirect("ops_job", job.pk)


def _get_submitter(job: AuditJob) -> str:
    """Return who requested a job: a person also with a token. Rows of early releases differ."""
    return job.owner or job.asked_by


def _name_submitters(jobs: Iterable[AuditJob]) -> dict[str, str]:
    """Return the name of each submitter, of a person with the user name, which filters need."""
    owners = {_get_submitter(job) for job in jobs}
    names = {owner: owner for owner in owners} | event_labels.name_actors(owners)
    keys = [owner.removeprefix(PERSON) for owner in owners if owner.startswith(PERSON)]
    for person in User.objects.filter(pk__in=[key for key in keys if key.isdecimal()]):
        if str(person) != person.username:
            names[person.actor_name] = f"{person} ({person.username})"
    return names


def _get_job(user: User, pk: int) -> AuditJob:
    job = job_kinds.list_visible_jobs(user).filter(pk=pk).first()
    if job is None:
        raise Http404
    return job


def _find_file(job: AuditJob) -> Path | None:
    """Return the file with the result of an assessment, or None. Exports have their own page."""
    path = Path(job.result.get("path", ""))
    return path if job.kind == assessment_job.KIND and path.is_file() else None
