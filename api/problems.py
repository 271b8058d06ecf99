"""What went wrong, as RFC 9457 says it: `application/problem+json`, for every error under /api."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from ingestion.intake.manifest import SubmissionFault

MEDIA_TYPE = "application/problem+json"
# Kinds that a program may want to tell apart beyond the status. The rest are "about:blank".
KEY_REUSED = "urn:siteledger:idempotency-key-reused"
KEY_MISSING = "urn:siteledger:idempotency-key-missing"
AT_CAPACITY = "urn:siteledger:at-capacity"
OVER_QUOTA = "urn:siteledger:over-quota"
NOT_REGISTRABLE = "urn:siteledger:not-registrable"


class Problem(Exception):
    """Raised by a view; the interface answers with it."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str = "about:blank",
        errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail
        self.kind = kind
        self.errors = [dict(error) for error in errors]
        self.headers = dict(headers or {})


def not_found(what: str) -> Problem:
    """The same for what there is not and for what there is for others only."""
    return Problem(404, f"There is no such {what}.")


def refused(faults: Iterable[SubmissionFault]) -> Problem:
    """Every fault of a submission, with its line and field. Nothing was registered."""
    errors = [
        {"line": fault.line, "field": fault.field, "message": fault.message} for fault in faults
    ]
    detail = "Nothing was registered. Mend what `errors` names and send it again."
    return Problem(422, detail, kind=NOT_REGISTRABLE, errors=errors)


def answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    body: dict[str, Any] = {
        "type": problem.kind,
        "title": _title(problem.status),
        "status": problem.status,
        "detail": problem.detail,
        "instance": request.path,
        "request_id": request_id(request),
    }
    if problem.errors:
        body["errors"] = problem.errors
    response = JsonResponse(
        body, status=problem.status, headers=problem.headers, content_type=MEDIA_TYPE
    )
    # CommonMiddleware would; but this may be the answer that takes the place of its own.
    response["Content-Length"] = str(len(response.content))
    return response


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 460 of tus is not registered
        return "Checksum Mismatch"


def request_id(request: HttpRequest) -> str:
    """Given by the middleware; a test's bare request has none."""
    return str(vars(request).get("request_id", ""))
