"""Serves `/jobs`: requests background jobs, follows and cancels them, and sends their files.

A job runs in a worker (`audit.job_runs`), and `ingestion.job_kinds` defines what can be
requested. Tokens need the scope `jobs`, and belong to a member of staff.
"""

import hashlib
from pathlib import Path as FilePath
from typing import Annotated, Any

from django.http import FileResponse, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import Path, Query, Router, Status
from pydantic import Field

from api.batches import MAX_POLL_SECONDS, MIN_POLL_SECONDS, describe_estimate
from api.http import keys, problems, request_bodies, submitters, waiting
from api.http.auth import ApiRequest, Bearer
from api.http.paging import MAX_ROW_NUMBER, NO_NUL, Cursor, paginate
from api.http.problems import Problem
from api.http.query_times import QueryTime
from api.http.submitters import Submitter
from api.schemas import JobIn, JobLine, JobList, JobOut, JobProgressOut, make_responses
from audit import background_jobs, job_estimates
from audit.background_jobs import AuditJob
from audit.estimates import Estimate
from audit.export import job as export_job
from ingestion import job_kinds
from ingestion.intake.submission import IdempotencyKeyReused
from sites.models import ApiToken, TokenScope, User

router = Router()
RETRY_SECONDS = 60  # after which an owner with too many jobs may try again
Number = Annotated[int, Field(ge=1, le=MAX_ROW_NUMBER)]
Kind = Annotated[str, Field(max_length=40, pattern=NO_NUL)]
BODY: dict[str, Any] = {
    "parameters": [keys.OPENAPI_PARAMETER, waiting.OPENAPI_PARAMETER],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": request_bodies.add_schema(JobIn)}},
    },
}


class JobFilter(Cursor):
    """Describes the query parameters of the list of jobs. Empty ones do not filter."""

    kind: Kind = ""
    status: AuditJob.State | None = None
    submitter: Submitter = ""
    since: Annotated[QueryTime | None, Field(description="Submitted then or later.")] = None
    until: Annotated[QueryTime | None, Field(description="Submitted before.")] = None


@router.post(
    "",
    response=make_responses(JobOut, 200, 202, errors=(400, 411, 413)),
    auth=Bearer(TokenScope.JOBS),
    summary="Request a background job",
    openapi_extra=BODY,
)
def request_job(request: ApiRequest, response: HttpResponse) -> Any:
    """Request a background job. Returns 202 with its address in `Location`.

    The person of the token needs the permission of the kind.
    """
    token, key, user = request.auth, keys.read_key(request), _get_person(request.auth)
    body = request_bodies.validate(JobIn, request_bodies.read_json(request))
    try:
        job = job_kinds.request_job(
            body.kind,
            body.parameters,
            user=user,
            by=token.actor,
            owner=token.owner,
            priority=body.priority,
            idempotency_key=keys.qualify_key(token, key),
        )
    except job_kinds.UnknownKind:
        known = ", ".join(sorted(job_kinds.KINDS))
        message = f"There is no such kind of job. Kinds: {known}."
        raise Problem(422, message, errors=[{"field": "kind", "message": message}]) from None
    except job_kinds.MayNotRequest:
        detail = f"The person of the token may not request jobs of the kind {body.kind}."
        raise Problem(403, detail) from None
    except background_jobs.JobKeyReused as error:
        raise IdempotencyKeyReused(str(error)) from None
    except background_jobs.TooManyJobs:
        number = background_jobs.MAX_OPEN_JOBS
        detail = f"You have {number} jobs that have not ended. Wait for one, or cancel one."
        headers = {"Retry-After": str(RETRY_SECONDS)}
        raise Problem(429, detail, type_uri=problems.OVER_QUOTA, headers=headers) from None
    response["Location"] = _make_url(request, job)
    return _make_response(request, response, job, user)


@router.get(
    "",
    response=make_responses(JobList),
    auth=Bearer(TokenScope.JOBS),
    summary="List background jobs, newest first",
)
def list_jobs(request: ApiRequest, response: HttpResponse, query: Query[JobFilter]) -> JobList:
    """Return one page of the jobs that the person of the token can see, newest first."""
    rows = job_kinds.list_visible_jobs(_get_person(request.auth))
    values = {
        "kind": query.kind,
        "state": query.status,
        "owner": submitters.find_owner(query.submitter),
        "created_at__gte": query.since,
        "created_at__lt": query.until,
    }
    rows = rows.filter(**{name: value for name, value in values.items() if value})
    page = paginate(request, response, rows, query)
    names = submitters.name_owners(job.owner for job in page.rows)
    items = [JobLine(**_describe_line(request, job, names)) for job in page.rows]
    return JobList(items=items, next=page.next)


@router.get(
    "/{number}",
    response=make_responses(JobOut, 200, 202, errors=(404,)) | {304: None},
    auth=Bearer(TokenScope.JOBS),
    summary="Get one background job: 202 until it has ended, then 200",
    openapi_extra={"parameters": [waiting.OPENAPI_PARAMETER]},
)
def one_job(request: ApiRequest, response: HttpResponse, number: Path[Number]) -> Any:
    """Return one job with its progress, then its result.

    With `Prefer: wait=N` (at most 20 seconds), the response is sent when the job has ended.
    """
    user = _get_person(request.auth)
    return _make_response(request, response, _find_job(user, number), user)


@router.delete(
    "/{number}",
    response=make_responses(JobOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.JOBS),
    summary="Cancel a background job",
)
def cancel_job(request: ApiRequest, response: HttpResponse, number: Path[Number]) -> Any:
    """Cancel a job. The status is 202 until its worker has stopped. The request can be repeated.

    The job can still be read. Only its submitter and operations can cancel it.
    """
    user = _get_person(request.auth)
    job = _find_job(user, number)
    if not job_kinds.can_cancel(job, user):
        raise Problem(403, "Only the submitter of a job and operations can cancel it.")
    if job.state != AuditJob.State.CANCELLED:
        try:
            background_jobs.cancel_job(job, request.auth.actor)
        except background_jobs.JobAlreadyEnded as error:
            raise Problem(409, f"There is nothing to cancel: {error}.") from None
    return _make_response(request, response, job, user)


@router.get(
    "/{number}/file",
    response=make_responses(None, errors=(404, 409)),
    auth=Bearer(TokenScope.JOBS),
    summary="Download the file that a job wrote: an export, or the result of an assessment",
    openapi_extra={
        "responses": {
            200: {
                "content": {
                    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
                }
            }
        }
    },
)
def job_file(request: ApiRequest, number: Path[Number]) -> Any:
    """Return the file of a job. The download of an export is recorded in the ledger.

    Responds with problem 409 and `Retry-After` (seconds) until the job has ended.
    """
    user = _get_person(request.auth)
    job = _find_job(user, number)
    is_readable = job_kinds.can_read_result(job, user)
    if is_readable and not job.is_final:
        seconds = _choose_poll_seconds(job_estimates.estimate_job(job))
        raise Problem(409, "The job has not ended yet.", headers={"Retry-After": str(seconds)})
    path = _find_file(job)
    if path is None or not is_readable:
        raise problems.make_not_found_problem("file")
    if job.kind == export_job.KIND:
        export_job.record_download(job, by=request.auth.actor)
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


def _get_person(token: ApiToken) -> User:
    """Return the person of the token. Raises Problem 403 for the token of a site."""
    if token.user is None:
        raise Problem(403, "Only tokens of members of staff can use background jobs.")
    return token.user


def _find_job(user: User, number: int) -> AuditJob:
    """Return a job that the person can see. Raises Problem 404."""
    job = job_kinds.list_visible_jobs(user).filter(pk=number).first()
    if job is None:
        raise problems.make_not_found_problem("job")
    return job


def _find_file(job: AuditJob) -> FilePath | None:
    path = job.result.get("path")
    return FilePath(path) if path and FilePath(path).is_file() else None


def _make_url(request: HttpRequest, job: AuditJob, view: str = "one_job") -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=[job.pk]))


def _make_response(request: ApiRequest, response: HttpResponse, job: AuditJob, user: User) -> Any:
    """Return the job with status 200 if it has ended, else 202.

    Waits first if the request has `Prefer: wait=N` and a thread may wait.
    """
    if seconds := waiting.parse_wait_seconds(request.headers.get("Prefer", "")):
        with waiting.waiting_threads.reserve() as is_reserved:
            if is_reserved:
                response["Preference-Applied"] = f"wait={seconds}"
                background_jobs.wait_until_ended(job, seconds)
    patch_vary_headers(response, ["Prefer"])
    response["Content-Location"] = _make_url(request, job)
    response["X-Progress"] = f"{_count_percentage(job)} %"
    estimate = job_estimates.estimate_job(job)
    if not job.is_final:
        response["Retry-After"] = str(_choose_poll_seconds(estimate))
    facts = repr((job.pk, job.state, job.done, job.total, job.attempts, job.cancel_requested_at))
    response["ETag"] = etag = f'W/"{hashlib.sha256(facts.encode()).hexdigest()[:32]}"'
    if request.method == "GET":
        conditional = get_conditional_response(request, etag=etag)
        if conditional is not None:
            for name, value in response.items():
                conditional.setdefault(name, value)
            return conditional
    body = _describe_job(request, job, user, estimate)
    return Status(200 if job.is_final else 202, body)


def _choose_poll_seconds(estimate: Estimate | None) -> int:
    """Return a tenth of the likely remaining time in whole seconds, within bounds."""
    likely = estimate.likely if estimate else 0
    return min(max(round(likely / 10), MIN_POLL_SECONDS), MAX_POLL_SECONDS)


def _count_percentage(job: AuditJob) -> int:
    if job.state == AuditJob.State.DONE:
        return 100
    return min(99, 100 * job.done // job.total) if job.total else 0


def _describe_line(request: HttpRequest, job: AuditJob, names: dict[str, str]) -> dict[str, Any]:
    return {
        "id": job.pk,
        "kind": job.kind,
        "status": job.state,
        "submitter": names[job.owner],
        "priority": job.priority,
        "submitted_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "url": _make_url(request, job),
    }


def _describe_job(
    request: HttpRequest, job: AuditJob, user: User, estimate: Estimate | None
) -> JobOut:
    is_readable = job_kinds.can_read_result(job, user)
    result = {name: value for name, value in job.result.items() if name != "path"}
    has_file = is_readable and _find_file(job) is not None
    return JobOut(
        **_describe_line(request, job, submitters.name_owners([job.owner])),
        parameters=job.parameters if is_readable else None,
        attempts=job.attempts,
        progress=JobProgressOut(
            done=job.done,
            total=job.total,
            percentage=_count_percentage(job),
            estimate=describe_estimate(estimate),
        ),
        cancel_requested_at=job.cancel_requested_at,
        error=job.error,
        result=result if is_readable and job.state == AuditJob.State.DONE else None,
        file_url=_make_url(request, job, "job_file") if has_file else None,
    )
