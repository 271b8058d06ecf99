"""Serves `/batches`: lists submitted batches, and reports their progress and results."""

import hashlib
from dataclasses import asdict
from typing import Annotated, Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import Path, Query, Router, Status
from pydantic import Field

from api.http import keys, problems, request_bodies, submitters, visibility, waiting
from api.http.auth import ApiRequest, Bearer
from api.http.paging import NO_NUL, Cursor, paginate
from api.http.problems import Problem
from api.http.query_times import QueryTime
from api.http.submitters import Submitter
from api.schemas import (
    BatchLine,
    BatchList,
    BatchOut,
    BatchRetryIn,
    EstimateOut,
    ManifestOut,
    ProgressOut,
    ResultOut,
    StuckSiteOut,
    make_responses,
)
from audit.estimates import Estimate
from audit.ledger.actors import PERSON
from ingestion.core.states import SETTLED_STATES, BatchState, DocumentState
from ingestion.documents import batches, progress, results
from ingestion.documents.progress import BatchProgress
from ingestion.intake import retrying
from ingestion.models import Batch
from sites.models import ApiToken, TokenScope

router = Router()
Reference = Annotated[str, Field(max_length=40, pattern=NO_NUL)]
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1, 30


class BatchFilter(Cursor):
    """Describes the query parameters of the list of batches. Empty ones do not filter."""

    status: BatchState | None = None
    site: Annotated[str, Field(max_length=60, pattern=NO_NUL)] = ""
    submitter: Submitter = ""
    since: Annotated[QueryTime | None, Field(description="Submitted then or later.")] = None
    until: Annotated[QueryTime | None, Field(description="Submitted before.")] = None


@router.get(
    "",
    response=make_responses(BatchList),
    auth=Bearer(TokenScope.READ),
    summary="List batches, newest first",
)
def list_batches(
    request: ApiRequest, response: HttpResponse, query: Query[BatchFilter]
) -> BatchList:
    """Return one page of the batches that the token can see, newest first."""
    rows = visibility.list_visible_batches(request.auth)
    if query.status:
        rows = rows.filter(state=query.status)
    if query.site:
        rows = rows.filter(packets__site__site_id=query.site).distinct()
    if query.submitter:
        owner = submitters.find_owner(query.submitter)
        rows = rows.filter(Q(submitted_as=owner) | Q(submitted_by__username=query.submitter))
    if query.since:
        rows = rows.filter(created_at__gte=query.since)
    if query.until:
        rows = rows.filter(created_at__lt=query.until)
    page = paginate(request, response, rows, query)
    names = submitters.name_owners(_get_owner(batch) for batch in page.rows)
    # One query counts the documents of all batches on the page.
    is_divided = Q(documents__state=DocumentState.DIVIDED)  # its parts are counted
    settled = Count("documents", filter=Q(documents__state__in=SETTLED_STATES) & ~is_divided)
    on_page = Batch.objects.filter(pk__in=[batch.pk for batch in page.rows]).order_by()
    counts = {
        key: (total, settled_count)
        for key, total, settled_count in on_page.annotate(
            total=Count("documents", filter=~is_divided), settled=settled
        ).values_list("pk", "total", "settled")
    }
    items = []
    for batch in page.rows:
        total, settled_count = counts[batch.pk]
        items.append(
            BatchLine(
                id=batch.reference,
                status=BatchState(batch.state),
                source=batch.source,
                submitter=names[_get_owner(batch)],
                priority=batch.priority,
                submitted_at=batch.created_at,
                started_at=batch.started_at,
                finished_at=batch.finished_at,
                total=total,
                settled=settled_count,
                url=make_batch_url(request, batch),
            )
        )
    return BatchList(items=items, next=page.next)


@router.get(
    "/{reference}",
    response=make_responses(BatchOut, 200, 202, errors=(404,)) | {304: None},
    auth=Bearer(TokenScope.READ),
    summary="Get one batch: 202 while it is being processed, 200 when it is final",
    openapi_extra={"parameters": [waiting.OPENAPI_PARAMETER]},
)
def one_batch(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """Return one batch.

    With `Prefer: wait=N` (at most 20 seconds), the response is sent when the batch is final.
    """
    return make_batch_response(request, response, find_batch(request.auth, reference))


@router.delete(
    "/{reference}",
    response=make_responses(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT, TokenScope.OPERATE),
    summary="Cancel a batch",
)
def cancel_batch(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """Cancel a batch. Documents that are filed stay on file.

    The status is 202 until the last worker has stopped. The request can be repeated.
    """
    token = request.auth
    batch = find_batch(token, reference)
    # A token can cancel batches of its own owner. The batches of others need the scope `operate`
    # and a person who has the permission.
    can_cancel = batches.can_cancel(batch, actor=token.owner) or (
        token.may(TokenScope.OPERATE) and batches.can_cancel(batch, user=token.user)
    )
    if not can_cancel:
        raise Problem(403, "Only the submitter of a batch and operations can cancel it.")
    if batch.state != BatchState.CANCELLED:
        try:
            batches.cancel_batch(batch, by=token.actor)
        except batches.AlreadyFinal as error:
            raise Problem(409, f"There is nothing to cancel: {error}.") from None
    return make_batch_response(request, response, batch)


@router.post(
    "/{reference}/retries",
    response=make_responses(BatchOut, 200, 202, errors=(400, 404, 409, 411, 413)),
    auth=Bearer(TokenScope.SUBMIT, TokenScope.OPERATE),
    summary="Retry the held documents and the failed downloads of a batch",
    openapi_extra={
        "parameters": [keys.OPENAPI_PARAMETER, waiting.OPENAPI_PARAMETER],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": request_bodies.add_schema(BatchRetryIn)}},
        },
    },
)
def retry_batch(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """Queue the held documents of a batch and its failed downloads again, with new attempts.

    The batch keeps its state, and the status is 202 until these documents are settled.
    """
    token = request.auth
    batch, key = find_batch(token, reference), keys.read_key(request)
    body = request_bodies.validate(BatchRetryIn, request_bodies.read_json(request))
    is_operator = token.user is not None and token.user.has_perm("ingestion.retry_document")
    if batch.submitted_as != token.owner and not (token.may(TokenScope.OPERATE) and is_operator):
        raise Problem(403, "Only the submitter of a batch and operations can retry it.")
    try:
        retrying.retry_batch(
            batch,
            by=token.actor,
            owner=token.owner,
            key=keys.qualify_key(token, key),
            reason=body.reason,
        )
    except retrying.RetryRefused as error:
        raise Problem(409, str(error)) from None
    return make_accepted_response(request, response, batch)


@router.get(
    "/{reference}/manifest",
    response=make_responses(ManifestOut, errors=(404, 409)) | {304: None},
    auth=Bearer(TokenScope.READ),
    summary="Get the result of each document of a final batch",
)
def batch_manifest(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """Return the result of each document of a batch.

    Responds with problem 409 and `Retry-After` (seconds) until the batch is final, and with 304 if
    `If-None-Match` has the current ETag.
    """
    batch = find_batch(request.auth, reference)
    current = progress.get_progress(batch)
    if not current.is_final:
        headers = {"Retry-After": str(_poll_seconds(current))}
        raise Problem(409, "The batch is not final yet.", headers=headers)
    documents = [
        ResultOut.model_validate(result.as_json()) for result in results.list_results(batch)
    ]
    manifest = ManifestOut(batch=batch.reference, status=current.state, documents=documents)
    response["ETag"] = etag = _weak_etag(manifest.model_dump_json())
    return _not_modified(request, response, etag) or manifest


def find_batch(token: ApiToken, reference: str) -> Batch:
    """Return a batch that the token can see. Raises Problem 404."""
    batch = visibility.list_visible_batches(token).filter(reference=reference).first()
    if batch is None:
        raise problems.make_not_found_problem("batch")
    return batch


def make_batch_url(request: HttpRequest, batch: Batch) -> str:
    """Return the absolute URL of the batch in the interface."""
    return request.build_absolute_uri(reverse("api:one_batch", args=[batch.reference]))


def make_accepted_response(request: ApiRequest, response: HttpResponse, batch: Batch) -> Any:
    """Return the response to a submission: the batch, with its address in `Location`."""
    response["Location"] = make_batch_url(request, batch)
    return make_batch_response(request, response, batch)


def make_batch_response(request: ApiRequest, response: HttpResponse, batch: Batch) -> Any:
    """Return the batch with status 200 if it is final, else 202.

    Waits first if the request has `Prefer: wait=N` and a thread may wait. Otherwise the preference
    is ignored, and `Preference-Applied` is missing in the response.
    """
    current = None
    if seconds := waiting.parse_wait_seconds(request.headers.get("Prefer", "")):
        with waiting.waiting_threads.reserve() as is_reserved:
            if is_reserved:
                response["Preference-Applied"] = f"wait={seconds}"
                current = progress.wait_until_final(batch, seconds)
    if current is None:
        current = progress.get_progress(batch)
    patch_vary_headers(response, ["Prefer"])
    response["Content-Location"] = make_batch_url(request, batch)
    response["X-Progress"] = f"{current.settled}/{current.total} documents"
    if not current.is_final:
        response["Retry-After"] = str(_poll_seconds(current))
    # The tag changes with the results of the documents, and not with every second that passes.
    # `states` and `codes` are sorted.
    response["ETag"] = etag = _weak_etag(
        repr(
            (
                current.batch,
                current.state,
                current.step,
                current.states,
                current.codes,
                [stuck.as_json() for stuck in current.stuck_sites],
            )
        )
    )
    if request.method == "GET" and (not_modified := _not_modified(request, response, etag)):
        return not_modified
    return Status(200 if current.is_final else 202, _describe_batch(request, batch, current))


def _not_modified(request: HttpRequest, response: HttpResponse, etag: str) -> HttpResponse | None:
    """Return a response 304 with the headers of the full response, or None if it has changed."""
    conditional = get_conditional_response(request, etag=etag)
    if conditional is not None:
        for name in ("Content-Location", "ETag", "Preference-Applied", "Retry-After", "X-Progress"):
            if response.has_header(name):
                conditional[name] = response[name]
        patch_vary_headers(conditional, ["Prefer"])
    return conditional


def _poll_seconds(current: BatchProgress) -> int:
    """Return a tenth of the batch's age in whole seconds, within bounds.

    Long batches are polled less often. Retry-After is never a date: some clients parse a date with
    parseInt, and then poll without a pause.
    """
    return min(max(round(current.seconds / 10), MIN_POLL_SECONDS), MAX_POLL_SECONDS)


def describe_estimate(estimate: Estimate | None) -> EstimateOut | None:
    """Return an estimate as responses state it."""
    return EstimateOut(**asdict(estimate)) if estimate else None


def _get_owner(batch: Batch) -> str:
    """Return who submitted the batch, as rows name it."""
    return f"{PERSON}{batch.submitted_by_id}" if batch.submitted_by_id else batch.submitted_as


def _weak_etag(content: str) -> str:
    return f'W/"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


def _describe_batch(request: HttpRequest, batch: Batch, current: BatchProgress) -> BatchOut:
    url, owner = make_batch_url(request, batch), _get_owner(batch)
    return BatchOut(
        id=batch.reference,
        status=current.state,
        source=batch.source,
        submitter=submitters.name_owners([owner])[owner],
        priority=batch.priority,
        submitted_at=batch.created_at,
        started_at=batch.started_at,
        finished_at=batch.finished_at,
        progress=ProgressOut(
            step=current.step,
            total=current.total,
            files=current.files,
            settled=current.settled,
            percentage=current.percentage,
            estimated_seconds_remaining=current.estimated_seconds_remaining,
            estimate=describe_estimate(current.estimate),
        ),
        states=current.states,
        codes=current.codes,
        stuck_sites=[StuckSiteOut(**stuck.as_json()) for stuck in current.stuck_sites],
        error_code=batch.error_code,
        cancel_requested_at=batch.cancel_requested_at,
        packets=list(batch.packets.order_by("pk").values_list("reference", flat=True)),
        url=url,
        manifest_url=f"{url}/manifest",
    )
