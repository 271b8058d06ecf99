"""Defines errors under /fhir as OperationOutcome, for every response."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, JsonResponse

from api.http.problems import get_request_id

MEDIA_TYPE = "application/fhir+json"
# The code of an issue (http://hl7.org/fhir/issue-type) for each status that needs no other.
_CODES = {
    400: "invalid",
    401: "login",
    403: "forbidden",
    404: "not-found",
    405: "not-supported",
    410: "not-found",
    413: "too-long",
    422: "processing",
    429: "throttled",
    503: "transient",
}


class FhirError(Exception):
    """An error that a view raises and that is sent as an OperationOutcome."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail
        self.code = code or _CODES.get(status, "exception")
        self.headers = dict(headers or {})


def make_outcome_response(request: HttpRequest, error: FhirError) -> JsonResponse:
    """Return the HTTP response for an error. It names the id of the request."""
    issue: dict[str, Any] = {
        "severity": "error",
        "code": error.code,
        "details": {"text": error.detail},  # which clients show to people
    }
    if request_id := get_request_id(request):
        issue["diagnostics"] = f"Request {request_id}"
    response = JsonResponse(
        {"resourceType": "OperationOutcome", "issue": [issue]},
        status=error.status,
        headers=error.headers,
        content_type=MEDIA_TYPE,
    )
    # CommonMiddleware sets the length, but this response may replace one that has passed it.
    response["Content-Length"] = str(len(response.content))
    return response
