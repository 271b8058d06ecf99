"""Defines errors as `application/problem+json` (RFC 9457), for every response under /api."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from ingestion.intake.manifest import SubmissionFault

MEDIA_TYPE = "application/problem+json"
# Problem types for errors that a program may want to distinguish beyond the status code.
# All other problems have the type "about:blank".
KEY_REUSED = "urn:siteledger:idempotency-key-reused"
KEY_MISSING = "urn:siteledger:idempotency-key-missing"
AT_CAPACITY = "urn:siteledger:at-capacity"
OVER_QUOTA = "urn:siteledger:over-quota"
NOT_REGISTRABLE = "urn:siteledger:not-registrable"
INTERNAL_ERROR_DETAIL = (
    "The server has an internal error. It is logged under the X-Correlation-ID of this response."
)


class Problem(Exception):
    """An error that a view raises and that the interface sends as a problem.

    `type_uri` is the `type` of RFC 9457, and `errors` are the faults of single lines and fields.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        type_uri: str = "about:blank",
        errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail
        self.type_uri = type_uri
        self.errors = [dict(error) for error in errors]
        self.headers = dict(headers or {})


def make_not_found_problem(noun: str) -> Problem:
    """Return the same problem for a missing object and for one that the token cannot see."""
    return Problem(404, f"There is no such {noun}.")


def make_not_registrable_problem(faults: Iterable[SubmissionFault]) -> Problem:
    """Return a problem that lists every fault of a submission with its line and field."""
    errors = [
        {"line": fault.line, "field": fault.field, "message": fault.message} for fault in faults
    ]
    detail = "Nothing was registered. Correct the faults in `errors` and send the submission again."
    return Problem(422, detail, type_uri=NOT_REGISTRABLE, errors=errors)


def make_problem_response(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Return the HTTP response for a problem."""
    try:
        title = HTTPStatus(problem.status).phrase
    except ValueError:  # 460, which tus defines, is not registered at IANA.
        title = "Checksum Mismatch"
    body: dict[str, Any] = {
        "type": problem.type_uri,
        "title": title,
        "status": problem.status,
        "detail": problem.detail,
        "instance": request.path,
        "request_id": get_request_id(request),
    }
    if problem.errors:
        body["errors"] = problem.errors
    response = JsonResponse(
        body, status=problem.status, headers=problem.headers, content_type=MEDIA_TYPE
    )
    # CommonMiddleware sets the length, but this response may replace one that has passed it.
    response["Content-Length"] = str(len(response.content))
    return response


def get_request_id(request: HttpRequest) -> str:
    """Return the request's id, which a middleware sets, or "" without that middleware."""
    return str(getattr(request, "request_id", ""))
