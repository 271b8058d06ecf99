"""Under /api, the promise that each error is a problem.

Before all middlewares but that of the request's id, so that it sees what Django itself answers
too: no such address, no such method, a host that is not ours, an error of ours.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from api import problems
from api.problems import Problem
from web.shell.response_headers import FILE_POLICY

PREFIX = "/api/"  # and /api itself
_OF_THE_PAGE = ("content-type", "content-length")  # of what is put in its place
_SAID = {
    400: "The request cannot be understood.",
    403: "This is not allowed.",
    404: "There is nothing at this address.",
    405: "This address does not know that method; the header Allow names those that it knows.",
    500: "An error of ours. It is logged under this request_id.",
}


class ApiMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        is_api = f"{request.path}/".startswith(PREFIX)
        return _as_api(request, response) if is_api else response


def _as_api(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code >= 400 and response["Content-Type"] != problems.MEDIA_TYPE:
        response = _as_problem(request, response)
    response.headers.setdefault("Cache-Control", "no-store")
    if request.method == "HEAD" and isinstance(response, HttpResponse):
        # As long as it would be, and without it: not every WSGI server leaves the body out.
        length = response.headers.get("Content-Length", str(len(response.content)))
        response.content = b""
        response["Content-Length"] = length
    return response


def _as_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    status = response.status_code
    headers = {name: value for name, value in response.items() if name.lower() not in _OF_THE_PAGE}
    headers["Content-Security-Policy"] = FILE_POLICY
    if "Allow" in headers:  # ninja has them in the order of a set
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    said = _SAID.get(status, "The request cannot be answered.")
    return problems.answer(request, Problem(status, said, headers=headers))
