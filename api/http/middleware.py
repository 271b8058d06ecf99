"""Makes every error under /api a problem (RFC 9457), and under /fhir an OperationOutcome.

This middleware comes before all others except the one that sets the request's id. It therefore
also sees the errors that Django itself returns: an unknown address, a wrong method, a foreign Host
header, an internal error.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from api.http import outcomes, problems
from api.http.outcomes import FhirError, make_outcome_response
from api.http.problems import INTERNAL_ERROR_DETAIL, Problem, make_problem_response
from web.shell.response_headers import FILE_POLICY

PREFIX = "/api/"  # and /api itself
FHIR_PREFIX = "/fhir/"
OAUTH_MEDIA_TYPE = "application/json"  # of errors of the token endpoint (RFC 6749, 5.2)
_ERROR_MEDIA_TYPES = {
    PREFIX: {problems.MEDIA_TYPE},
    FHIR_PREFIX: {outcomes.MEDIA_TYPE, OAUTH_MEDIA_TYPE},
}
_BODY_HEADERS = ("content-type", "content-length")  # of the body that a problem replaces
_DETAILS = {
    400: "The server cannot understand the request.",
    403: "This is not allowed.",
    404: "There is nothing at this address.",
    405: "This address does not support that method. The header Allow lists the methods.",
    500: INTERNAL_ERROR_DETAIL,
}


class ApiMiddleware:
    """Replaces error responses of the interfaces. Forbids caches to store any response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        address = f"{request.path}/"
        prefix = next((each for each in _ERROR_MEDIA_TYPES if address.startswith(each)), None)
        if prefix is None:
            return response
        media_type = response.headers.get("Content-Type", "")
        if response.status_code >= 400 and media_type not in _ERROR_MEDIA_TYPES[prefix]:
            response = _replace_error(request, response, prefix)
        response.headers.setdefault("Cache-Control", "no-store")
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            # Not every WSGI server leaves out the body. Content-Length stays that of GET.
            length = response.headers.get("Content-Length", str(len(response.content)))
            response.content = b""
            response["Content-Length"] = length
        return response


def _replace_error(request: HttpRequest, response: HttpResponseBase, prefix: str) -> HttpResponse:
    status = response.status_code
    headers = {name: value for name, value in response.items() if name.lower() not in _BODY_HEADERS}
    headers["Content-Security-Policy"] = FILE_POLICY
    if "Allow" in headers:  # django-ninja writes the methods of a set, in no fixed order
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    detail = _DETAILS.get(status, "The server cannot process the request.")
    if prefix == FHIR_PREFIX:
        return make_outcome_response(request, FhirError(status, detail, headers=headers))
    return make_problem_response(request, Problem(status, detail, headers=headers))
