"""Serves `/admin/ops/jobs/new/<kind>/`: requests the jobs that have no page of their own."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit import background_jobs
from audit.export import job as export_job
from audit.verification import runs
from ingestion import job_kinds
from ingestion.assessment import job as assessment_job
from ingestion.backup import job as backup_job
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.learning import rejudgement, training
from ingestion.storage import archive_verification
from sites.models import User
from web.permissions import VIEW_JOBS
from web.shell import event_labels
from web.shell.access import FORM, SignedIn, restrict_page
from web.shell.forms import PlainForm


class JobForm(PlainForm):
    """The form of a kind of jobs without parameters, and the base of all others.

    `request_key` makes a repeated click return the first job.
    """

    request_key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)

    def get_parameters(self) -> dict[str, Any]:
        """Return the parameters that were entered, for `job_kinds.request_job`."""
        return {name: value for name, value in self.cleaned_data.items() if name != "request_key"}


class ArchiveVerificationForm(JobForm):
    """The parameters of `job_kinds.ArchiveParameters`."""

    part = forms.ChoiceField(
        label=gettext_lazy("Files to read"),
        choices=[
            ("all", gettext_lazy("All files")),
            ("today", gettext_lazy("Today's part, so that each file is read once a month")),
        ],
    )

    def get_parameters(self) -> dict[str, Any]:
        """Return whether only today's part is read."""
        return {"rolling": self.cleaned_data["part"] == "today"}


class AssessmentForm(JobForm):
    """The parameters of `job_kinds.AssessmentParameters` that people need."""

    folder = forms.ChoiceField(
        label=gettext_lazy("Corpus"), help_text=gettext_lazy("A folder in ASSESSMENT_DIR.")
    )
    site = forms.CharField(
        label=gettext_lazy("Site"),
        required=False,
        max_length=160,
        help_text=gettext_lazy(
            "The number of the site that sent the files. Without it, checks that need the register "
            "are skipped."
        ),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        folders = [(name, name) for name in assessment_job.list_folders()]
        self.fields["folder"].choices = folders  # type: ignore[attr-defined]


FORMS: Mapping[str, type[JobForm]] = {
    archive_verification.KIND: ArchiveVerificationForm,
    assessment_job.KIND: AssessmentForm,
    backup_job.KIND: JobForm,
}
PAGES: Mapping[str, str] = {  # of the other kinds
    export_job.KIND: "trail_export_choose",
    runs.KIND: "trail_chain",
    training.KIND: "models",
    rejudgement.KIND: "models",
}


def list_requestable(user: User) -> list[tuple[str, str]]:
    """Return the address and the label of each kind of jobs that a person can request."""
    return [
        (
            reverse("ops_job_new", args=[name]) if name in FORMS else reverse(PAGES[name]),
            event_labels.label_job(name),
        )
        for name, kind in job_kinds.KINDS.items()
        if user.has_perm(kind.permission)
    ]


@restrict_page(FORM, permission=VIEW_JOBS)
def new_job(request: SignedIn, kind: str) -> HttpResponse:
    """Show the form of a kind of jobs. With POST, request the job and show its page."""
    if kind not in FORMS:
        raise Http404
    if not request.user.has_perm(job_kinds.KINDS[kind].permission):
        raise PermissionDenied
    form = FORMS[kind](request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            job = job_kinds.request_job(
                kind,
                form.get_parameters(),
                user=request.user,
                by=request.user.actor,
                owner=request.user.actor_name,
                priority=background_jobs.DEFAULT_PRIORITY,
                idempotency_key=f"page:{request.user.pk}:{form.cleaned_data['request_key']}",
            )
        except SubmissionRefused as refused:
            _show_faults(form, refused.faults)
        except background_jobs.JobKeyReused:
            form.add_error(None, _("This form was sent before. Open it again to request a job."))
        except background_jobs.TooManyJobs:
            number = background_jobs.MAX_OPEN_JOBS
            sentence = _("You have {number} jobs that have not ended. Wait for one, or cancel one.")
            form.add_error(None, sentence.format(number=number))
        else:
            return redirect("ops_job", job.pk)
    context = {"form": form, "label": event_labels.label_job(kind)}
    return render(request, "ops/job_new.html", context, status=400 if form.errors else 200)


def _show_faults(form: JobForm, faults: Iterable[SubmissionFault]) -> None:
    for fault in faults:
        name = fault.field.removeprefix("parameters.")
        form.add_error(name if name in form.fields else None, fault.message)
