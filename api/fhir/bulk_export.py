"""Serves the export itself: kick-off, status, cancellation and files.

An export is a background job of the kind `fhir_export`, and belongs to the client that requested
it. To all others it does not exist.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from api.fhir.access_tokens import FhirAccess, authenticate
from api.fhir.kick_off import read_export_request
from api.http.outcomes import FhirError, make_outcome_response
from audit import background_jobs, job_estimates
from audit.background_jobs import AuditJob
from ingestion.fhir import export

NDJSON = "application/fhir+ndjson"
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1, 30
RETRY_SECONDS = 60  # after which a client with too many exports may try again
_FILE_NAME = re.compile(r"[1-9]\d{0,5}\.[A-Za-z]+\.ndjson").fullmatch

View = Callable[..., HttpResponseBase]


def answer_with_outcomes(view: View) -> View:
    """Return a view that authenticates the client, and answers FhirError by OperationOutcome."""

    @csrf_exempt
    @wraps(view)
    def answering(request: HttpRequest, *args: object, **named: object) -> HttpResponseBase:
        try:
            return view(request, authenticate(request), *args, **named)
        except FhirError as error:
            return make_outcome_response(request, error)

    return answering


@require_http_methods(["GET", "POST"])
@answer_with_outcomes
def start_export(request: HttpRequest, access: FhirAccess) -> HttpResponseBase:
    """Start an export. Returns 202 with the address of its status in `Content-Location`."""
    wanted = read_export_request(request, access.types)
    url = request.build_absolute_uri()
    try:
        job = background_jobs.request_job(
            export.KIND, {**wanted.arguments, "request": url}, access.client.actor
        )
    except background_jobs.TooManyJobs:
        detail = f"You have {background_jobs.MAX_OPEN_JOBS} exports that have not ended."
        headers = {"Retry-After": str(RETRY_SECONDS)}
        raise FhirError(429, detail, headers=headers) from None
    status_url = request.build_absolute_uri(reverse("fhir_export_status", args=[job.pk]))
    return HttpResponse(
        status=202,
        headers={"Content-Location": status_url, "Preference-Applied": "respond-async"},
    )


@require_http_methods(["GET", "DELETE"])
@answer_with_outcomes
def export_status(request: HttpRequest, access: FhirAccess, number: int) -> HttpResponseBase:
    """Return 202 with the progress, or 200 with the manifest. DELETE cancels, or removes files."""
    job = _find_export(access, number)
    if request.method == "DELETE":
        return _delete(job, access)
    if job.state == AuditJob.State.FAILED:
        # A 5xx status would be retried by clients for minutes.
        raise FhirError(422, f"The export failed. {job.error}")
    if job.state != AuditJob.State.DONE:
        return _make_progress_response(job)
    return _make_manifest_response(request, job)


@require_safe
@answer_with_outcomes
def export_file(
    _request: HttpRequest, access: FhirAccess, number: int, name: str
) -> HttpResponseBase:
    """Return one file of a finished export."""
    job = _find_export(access, number)
    folder = job.result.get("folder", "")
    path = Path(folder) / name
    if not folder or not _FILE_NAME(name) or not path.is_file():
        raise FhirError(404, "There is no such file.")
    type_name = name.split(".")[1]
    if type_name != export.OUTCOME and type_name not in access.types:
        raise FhirError(403, f"The access token does not permit {type_name}.")
    return FileResponse(path.open("rb"), content_type=NDJSON)


def _find_export(access: FhirAccess, number: int) -> AuditJob:
    """Return an export of the client. Raises FhirError 404 if it is deleted or has expired."""
    own = background_jobs.list_jobs().filter(kind=export.KIND, owner=access.client.actor.name)
    job = own.filter(pk=number, cancel_requested_at=None).first()
    if job is None or (job.finished_at and _find_expiry(job.finished_at) <= timezone.now()):
        raise FhirError(404, "There is no such export. It may have been deleted, or has expired.")
    return job


def _find_expiry(finished_at: datetime) -> datetime:
    return finished_at + timedelta(hours=settings.FHIR_EXPORT_HOURS)


def _delete(job: AuditJob, access: FhirAccess) -> HttpResponse:
    """Cancel a job that has not ended, else remove it with its files. Both are on record."""
    try:
        background_jobs.cancel_job(job, access.client.actor)
    except background_jobs.JobAlreadyEnded:
        background_jobs.remove_job(job, by=access.client.actor)
    return HttpResponse(status=202)


def _make_progress_response(job: AuditJob) -> HttpResponse:
    estimate = job_estimates.estimate_job(job)
    wait = min(max(estimate.likely // 10 if estimate else 0, MIN_POLL_SECONDS), MAX_POLL_SECONDS)
    percentage = min(99, 100 * job.done // job.total) if job.total else 0
    progress = f"{percentage}% complete" if job.state == AuditJob.State.RUNNING else "queued"
    return HttpResponse(status=202, headers={"X-Progress": progress, "Retry-After": str(wait)})


def _make_manifest_response(request: HttpRequest, job: AuditJob) -> HttpResponse:
    def describe(file: dict[str, object]) -> dict[str, object]:
        path = reverse("fhir_export_file", args=[job.pk, file["name"]])
        url = request.build_absolute_uri(path)
        return {"type": file["type"], "url": url, "count": file["count"]}

    manifest = {
        "transactionTime": job.result["transaction_time"],
        "request": job.arguments["request"],
        "requiresAccessToken": True,
        "output": [describe(file) for file in job.result["output"]],
        "deleted": [],  # nothing is ever deleted
        "error": [describe(file) for file in job.result["errors"]],
    }
    expires = _find_expiry(job.finished_at or timezone.now())
    return JsonResponse(manifest, headers={"Expires": http_date(expires.timestamp())})
