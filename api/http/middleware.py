"""Makes every error under /api a problem (RFC 9457).

This middleware comes before all others except the one that sets the request's id. It therefore
also sees the errors that Django itself returns: an unknown address, a wrong method, a foreign Host
header, an internal error.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from api.http import problems
from api.http.problems import INTERNAL_ERROR_DETAIL, Problem, make_problem_response
from web.shell.response_headers import FILE_POLICY

PREFIX = "/api/"  # and /api itself
_BODY_HEADERS = ("content-type", "content-length")  # of the body that a problem replaces
_DETAILS = {
    400: "The server cannot understand the request.",
    403: "This is not allowed.",
    404: "There is nothing at this address.",
    405: "This address does not support that method. The header Allow lists the methods.",
    500: INTERNAL_ERROR_DETAIL,
}


class ApiMiddleware:
    """Replaces error responses under /api by problems. Forbids caches to store any response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if not f"{request.path}/".startswith(PREFIX):
            return response
        if response.status_code >= 400 and response["Content-Type"] != problems.MEDIA_TYPE:
            response = _replace_by_problem(request, response)
        response.headers.setdefault("Cache-Control", "no-store")
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            # Not every WSGI server leaves out the body. Content-Length stays that of GET.
            length = response.headers.get("Content-Length", str(len(response.content)))
            response.content = b""
            response["Content-Length"] = length
        return response


def _replace_by_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    status = response.status_code
    headers = {name: value for name, value in response.items() if name.lower() not in _BODY_HEADERS}
    headers["Content-Security-Policy"] = FILE_POLICY
    if "Allow" in headers:  # django-ninja writes the methods of a set, in no fixed order
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    detail = _DETAILS.get(status, "The server cannot process the request.")
    return make_problem_response(request, Problem(status, detail, headers=headers))
