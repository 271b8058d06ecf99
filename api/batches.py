"""What was submitted, and how far it is: `/batches`."""

import hashlib
from typing import Annotated, Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import Path, Query, Router, Status
from pydantic import Field

from api import problems, visibility, waiting
from api.auth import ApiRequest, Bearer
from api.paging import Cursor, page
from api.problems import Problem
from api.schemas import (
    BatchLine,
    BatchList,
    BatchOut,
    ManifestOut,
    ProgressOut,
    ResultOut,
    answers,
)
from ingestion.core.states import SETTLED_STATES, BatchState
from ingestion.documents import batches, progress, results
from ingestion.documents.progress import BatchProgress
from ingestion.documents.transitions import Actor
from ingestion.models import Batch
from sites.models import ApiToken, TokenScope

router = Router()
Reference = Annotated[str, Field(max_length=40, pattern=r"^[^\x00]*$")]
SHORTEST_POLL, LONGEST_POLL = 1, 30  # seconds


class BatchFilter(Cursor):
    status: BatchState | None = None
    site: Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")] = ""


@router.get(
    "", response=answers(BatchList), auth=Bearer(TokenScope.READ), summary="Batches, newest first"
)
def list_batches(
    request: ApiRequest, response: HttpResponse, asked: Query[BatchFilter]
) -> BatchList:
    rows = visibility.batches(request.auth)
    if asked.status:
        rows = rows.filter(state=asked.status)
    if asked.site:
        rows = rows.filter(packets__site__site_id=asked.site).distinct()
    shown = page(request, response, rows, asked)
    return BatchList(items=_lines(request, shown.rows), next=shown.next)


@router.get(
    "/{reference}",
    response=answers(BatchOut, 200, 202, errors=(404,)) | {304: None},
    auth=Bearer(TokenScope.READ),
    summary="One batch: 202 while it is worked on, 200 when it is final",
    openapi_extra={"parameters": [waiting.DESCRIBED]},
)
def one_batch(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """With `Prefer: wait=N` (at most 20) it is answered early when it becomes final."""
    return standing(request, response, of(request.auth, reference))


@router.delete(
    "/{reference}",
    response=answers(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT, TokenScope.OPERATE),
    summary="Cancel a batch",
)
def cancel_batch(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    """What is on file stays. 202 until its last worker has let go; again and again is harmless."""
    found = of(request.auth, reference)
    if not _may_cancel(request.auth, found):
        raise Problem(403, "A batch is cancelled by who submitted it, or by operations.")
    if found.state != BatchState.CANCELLED:
        try:
            batches.cancel_batch(found, by=Actor(request.auth.actor, request.auth.role))
        except batches.AlreadyFinal as error:
            raise Problem(409, f"There is nothing to cancel: {error}.") from None
    return standing(request, response, found)


@router.get(
    "/{reference}/manifest",
    response=answers(ManifestOut, errors=(404, 409)) | {304: None},
    auth=Bearer(TokenScope.READ),
    summary="What became of each document",
)
def batch_manifest(request: ApiRequest, response: HttpResponse, reference: Path[Reference]) -> Any:
    found = of(request.auth, reference)
    now = progress.get_progress(found)
    if not now.is_final:
        headers = {"Retry-After": str(_poll_hint(now))}
        raise Problem(409, "The batch is not final yet.", headers=headers)
    said = [ResultOut.model_validate(each.as_json()) for each in results.list_results(found)]
    manifest = ManifestOut(batch=found.reference, status=now.state, documents=said)
    response["ETag"] = etag = _tag(manifest.model_dump_json())
    return _unchanged(request, response, etag) or manifest


def _may_cancel(token: ApiToken, batch: Batch) -> bool:
    """Its owner's own; anybody's only for who may operate, and with a token that may."""
    if batches.can_cancel(batch, actor=token.owner):
        return True
    return token.may(TokenScope.OPERATE) and batches.can_cancel(batch, user=token.user)


def of(token: ApiToken, reference: str) -> Batch:
    found = visibility.batches(token).filter(reference=reference).first()
    if found is None:
        raise problems.not_found("batch")
    return found


def address(request: HttpRequest, batch: Batch) -> str:
    return request.build_absolute_uri(reverse("api:one_batch", args=[batch.reference]))


def accepted(request: ApiRequest, response: HttpResponse, batch: Batch) -> Any:
    response["Location"] = address(request, batch)
    return standing(request, response, batch)


def standing(request: ApiRequest, response: HttpResponse, batch: Batch) -> Any:
    """Where it stands, after the wait that the request prefers: 200 when it is final, else 202."""
    now = _looked_at(request, response, batch)
    patch_vary_headers(response, ["Prefer"])
    response["Content-Location"] = address(request, batch)
    response["X-Progress"] = f"{now.settled}/{now.total} documents"
    if not now.is_final:
        response["Retry-After"] = str(_poll_hint(now))
    response["ETag"] = etag = _etag(now)
    if request.method == "GET" and (unchanged := _unchanged(request, response, etag)):
        return unchanged
    return Status(200 if now.is_final else 202, _out(request, batch, now))


def _looked_at(request: ApiRequest, response: HttpResponse, batch: Batch) -> BatchProgress:
    seconds = waiting.preferred(request.headers.get("Prefer", ""))
    if not seconds:
        return progress.get_progress(batch)
    with waiting.seats.one() as seated:
        if not seated:
            return progress.get_progress(batch)
        response["Preference-Applied"] = f"wait={seconds}"
        return progress.wait_until_final(batch, seconds)


def _unchanged(request: HttpRequest, response: HttpResponse, etag: str) -> HttpResponse | None:
    """304, with the headers that the whole answer would have."""
    conditional = get_conditional_response(request, etag=etag)
    if conditional is not None:
        for name in ("Content-Location", "ETag", "Preference-Applied", "Retry-After", "X-Progress"):
            if response.has_header(name):
                conditional[name] = response[name]
        patch_vary_headers(conditional, ["Prefer"])
    return conditional


def _poll_hint(now: BatchProgress) -> int:
    """A tenth of its age, within bounds: seldom asked when it takes long. Whole seconds always.

    Clients in use parse a date in Retry-After with parseInt, and then poll without a pause.
    """
    return min(max(round(now.seconds / 10), SHORTEST_POLL), LONGEST_POLL)


def _etag(now: BatchProgress) -> str:
    """Weak: it changes with what became of the documents, not with every second that passes.

    `states` and `codes` are sorted.
    """
    return _tag(repr((now.batch, now.state, now.step, now.states, now.codes)))


def _tag(said: str) -> str:
    return f'W/"{hashlib.sha256(said.encode()).hexdigest()[:32]}"'


def _out(request: HttpRequest, batch: Batch, now: BatchProgress) -> BatchOut:
    url = address(request, batch)
    return BatchOut(
        id=batch.reference,
        status=now.state,
        source=batch.source,
        priority=batch.priority,
        submitted_at=batch.created_at,
        started_at=batch.started_at,
        finished_at=batch.finished_at,
        progress=ProgressOut(
            step=now.step,
            total=now.total,
            settled=now.settled,
            percentage=now.percentage,
            estimated_seconds_remaining=now.estimated_seconds_remaining,
        ),
        states=now.states,
        codes=now.codes,
        error_code=batch.error_code,
        cancel_requested_at=batch.cancel_requested_at,
        packets=list(batch.packets.order_by("pk").values_list("reference", flat=True)),
        url=url,
        manifest_url=f"{url}/manifest",
    )


def _lines(request: HttpRequest, rows: list[Batch]) -> list[BatchLine]:
    """Counted for the whole page at once."""
    settled = Count("documents", filter=Q(documents__state__in=SETTLED_STATES))
    counted = Batch.objects.filter(pk__in=[batch.pk for batch in rows]).order_by()
    counts = counted.annotate(total=Count("documents"), settled=settled).values_list(
        "pk", "total", "settled"
    )
    by_batch = {key: (total, done) for key, total, done in counts}
    return [_line(request, batch, *by_batch[batch.pk]) for batch in rows]


def _line(request: HttpRequest, batch: Batch, total: int, settled: int) -> BatchLine:
    return BatchLine(
        id=batch.reference,
        status=BatchState(batch.state),
        source=batch.source,
        priority=batch.priority,
        submitted_at=batch.created_at,
        started_at=batch.started_at,
        finished_at=batch.finished_at,
        total=total,
        settled=settled,
        url=address(request, batch),
    )
