"""Sets the origin of every request: its ID, and who sent it from which address.

It must be the first middleware, so that errors of the others are logged with the request ID.
"""

import re
import uuid
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from audit.ledger import context

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch  # the header is written to logs


class OriginMiddleware:
    """Sets the origin of a request, and returns its ID in the header X-Request-ID.

    The ID is that of the same header of the request, if it is valid, or a new one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _REQUEST_ID(given) else str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined] # as Django sets `user`
        facts = {"request_id": request_id, "address": get_client_address(request)}
        with context.set_origin(context.RequestOrigin(facts, lambda: _identify(request))):
            response = self._get_response(request)
        response["X-Request-ID"] = request_id
        return response


def get_client_address(request: HttpRequest) -> str:
    """Return the IP address of the client.

    Behind our proxy it is the last address in X-Forwarded-For, which the proxy added. Clients can
    send any addresses before it.
    """
    address: str = request.META.get("REMOTE_ADDR", "")
    if settings.BEHIND_PROXY:
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        try:
            ip_address(forwarded)
        except ValueError:
            return address
        return forwarded
    return address


def _identify(request: HttpRequest) -> tuple[str, str]:
    """Return the names of the token's program or of the person who is signed in by now."""
    account: Any = getattr(request, "auth", None) or getattr(request, "user", None)
    name: str = getattr(account, "actor_name", "")
    return (name, str(account)) if name else ("", "")
