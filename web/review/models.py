"""Serves `/admin/review/models/`: models of document types, their comparison and activation.

QA leads see what a model judges better and worse, and activate it with a signature.
"""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS
from ingestion.core.states import DocumentState
from ingestion.documents.active_model import BUILT_IN_MODEL, find_active_model, find_model
from ingestion.learning import activation, rejudgement, training
from ingestion.learning.activation import ActivationRefused
from ingestion.learning.comparison import Change
from ingestion.learning.decided_documents import count_decisions_since
from ingestion.models import LearnedModel, ModelActivation
from ingestion.rules.document_types import RULES_VERSION, TYPES
from ingestion.rules.finding_texts import get_short_text
from web.permissions import ACTIVATE_MODELS, VIEW_MODELS
from web.shell.access import CHANGE, FORM, READ, SignedIn, restrict_page
from web.shell.forms import SignedForm, make_action_reason_field
from web.shell.state_display import get_state_label
from web.trail.jobs import POLL_MILLISECONDS

MAX_REPORTS = 5  # of one model, the newest first
MAX_JOBS_SEARCHED = 100

CHANGE_LABELS = {
    Change.WORSE: gettext_lazy("Worse"),
    Change.BETTER: gettext_lazy("Better"),
    Change.OTHER: gettext_lazy("A different wrong type"),
}


class ActivationForm(SignedForm):
    """Signs the activation of a model, with the reason."""

    reason = make_action_reason_field(
        gettext_lazy("Reason"),
        gettext_lazy("Describe why, with the figures that you considered."),
        max_length=MAX_REASON_CHARACTERS,
    )
    seen_version = forms.IntegerField(widget=forms.HiddenInput)


@restrict_page(READ, permission=VIEW_MODELS)
def model_list(request: SignedIn) -> HttpResponse:
    """List the models and activations, and the last training."""
    last = LearnedModel.objects.order_by("pk").last()
    jobs = background_jobs.list_latest_jobs(training.KIND, 1)
    context = {
        "models": LearnedModel.objects.defer("content").order_by("-pk"),
        "active": find_active_model(),
        "activations": ModelActivation.objects.select_related("model").order_by("-number"),
        "new_decisions": count_decisions_since(last.decisions if last else ()),
        "training": jobs[0] if jobs else None,
        "can_activate": request.user.has_perm(ACTIVATE_MODELS),
    }
    return render(request, "review/models.html", context)


@restrict_page(READ, permission=VIEW_MODELS)
def model_page(request: SignedIn, pk: int) -> HttpResponse:
    """Show how a model judges the documents of the sites kept apart, file by file."""
    model = _get_model(str(pk))
    if model is None:
        raise Http404
    comparison = model.comparison
    changes = [
        {
            **each,
            "label": CHANGE_LABELS[Change(each["change"])],
            "names": [_name_type(each[key]) for key in ("type", "before", "after")],
        }
        for each in comparison["changes"]
    ]
    changes.sort(key=lambda each: list(CHANGE_LABELS).index(Change(each["change"])))
    context = {
        "model": model,
        "active": find_active_model(),
        "comparison": comparison,
        "figures": _list_figures(comparison),
        "changes": changes,
        "types": [(_name_type(slug), counts) for slug, counts in comparison["types"].items()],
        "is_current": model.rules_version == RULES_VERSION,
        "can_activate": request.user.has_perm(ACTIVATE_MODELS),
        **_report_context(str(pk)),
    }
    return render(request, "review/model.html", context)


@restrict_page(CHANGE, permission=ACTIVATE_MODELS)
def train_now(request: SignedIn) -> HttpResponse:
    """Request a training, which a worker does in the background."""
    training.request_training(request.user)
    messages.success(request, _("A model is being trained. Reload this page to see the result."))
    return redirect("models")


@restrict_page(CHANGE, permission=ACTIVATE_MODELS)
def request_report(request: SignedIn, name: str) -> HttpResponse:
    """Request the report of what a model would decide differently about filed documents."""
    model = _get_model(name)
    parameters = {"model": name}
    background_jobs.request_job(
        rejudgement.KIND, parameters, request.user.actor, parameters=parameters
    )
    messages.success(request, _("A report is being made. Reload this page to see it."))
    return redirect("model", model.pk) if model else redirect("built_in_model")


@restrict_page(READ, permission=VIEW_MODELS)
def built_in_page(request: SignedIn) -> HttpResponse:
    """Show the built-in model, with the reports of what it would decide differently."""
    context = {
        "active": find_active_model(),
        "rules": RULES_VERSION,
        "can_activate": request.user.has_perm(ACTIVATE_MODELS),
        **_report_context(BUILT_IN_MODEL),
    }
    return render(request, "review/built_in_model.html", context)


@restrict_page(FORM, permission=ACTIVATE_MODELS)
@sensitive_post_parameters("password")
def activate_model(request: SignedIn, name: str) -> HttpResponse:
    """Show the form of an activation. With POST, activate the model."""
    model = _get_model(name)
    is_rollback = model in activation.list_earlier_models()
    meaning = activation.ROLLBACK_MEANING if is_rollback else activation.ACTIVATION_MEANING
    form = ActivationForm(request.POST or None, initial={"seen_version": activation.get_version()})
    if form.is_valid() and (by := form.sign(request.user, meaning, ACTIVATE_MODELS)):
        try:
            activation.activate(
                model,
                reason=form.cleaned_data["reason"],
                expected_version=form.cleaned_data["seen_version"],
                user=request.user,
                by=by,
            )
        except ActivationRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(
                request,
                _("The model is active. Documents are judged with it from now on."),
            )
            return redirect("models")
    context = {
        "model": model,
        "name": name,
        "form": form,
        "is_rollback": is_rollback,
        "meaning": meaning,
        "active": find_active_model(),
    }
    status = 400 if form.errors else 200
    return render(request, "review/activate_model.html", context, status=status)


def _get_model(name: str) -> LearnedModel | None:
    """Return the model of this name, or None for the built-in one. Raises Http404."""
    try:
        return find_model(name)
    except (LearnedModel.DoesNotExist, ValueError) as error:
        raise Http404 from error


def _list_figures(comparison: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Return the figures of both models: label, active model, this model."""
    labels = {
        "right": _("Correct type recognised"),
        "right_first": _("Correct type proposed first"),
        "right_in_three": _("Correct type among three proposals"),
        "unrecognised": _("Type not recognised: QA decides"),
        "wrong": _("Wrong type recognised"),
    }
    before, after = comparison["before"], comparison["after"]
    return [(label, before[name], after[name]) for name, label in labels.items()]


def _report_context(name: str) -> dict[str, Any]:
    jobs = [
        job
        for job in background_jobs.list_latest_jobs(rejudgement.KIND, MAX_JOBS_SEARCHED)
        if job.arguments.get("model") == name
    ]
    return {
        "name": name,
        "reports": [
            (job, [_name_difference(each) for each in job.result.get("differences", [])])
            for job in jobs[:MAX_REPORTS]
        ],
        "is_running": any(
            job.state in {AuditJob.State.WAITING, AuditJob.State.RUNNING} for job in jobs
        ),
        "poll": POLL_MILLISECONDS,
    }


def _name_difference(each: dict[str, Any]) -> dict[str, Any]:
    """Return a difference of a report with the words that pages use for types and states."""
    return {
        **each,
        "was_type": _name_type(each["was_type"]),
        "was_state": get_state_label(DocumentState(each["was_state"])),
        "type": _name_type(each["type"]),
        "state": get_state_label(DocumentState(each["state"])),
        "reasons": [get_short_text(code) for code in each["codes"]],
    }


def _name_type(slug: str) -> str:
    return TYPES[slug].name if slug in TYPES else slug or _("No type")
