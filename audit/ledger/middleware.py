"""Around every request: its id, and who asks from where, for all that is recorded meanwhile.

The first of the middlewares: what goes wrong in the others has its request id too.
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

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch  # of a header that goes into logs


class OriginMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _ACCEPTABLE(given) else str(uuid.uuid4())
        vars(request)["request_id"] = request_id
        facts = {"request_id": request_id, "address": client_address(request)}
        with context.set_origin(context.RequestOrigin(facts, lambda: _asker(request))):
            response = self._get_response(request)
        response["X-Request-ID"] = request_id
        return response


def client_address(request: HttpRequest) -> str:
    """The client's. Behind our proxy it is what the proxy added last: the rest anybody can send."""
    address: str = request.META.get("REMOTE_ADDR", "")
    if settings.BEHIND_PROXY:
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        return forwarded if _is_address(forwarded) else address
    return address


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _asker(request: HttpRequest) -> tuple[str, str]:
    """A token's program, or whoever is signed in by now: both say how the ledger names them."""
    asker: Any = getattr(request, "auth", None) or getattr(request, "user", None)
    name: str = getattr(asker, "actor_name", "")
    return (name, str(asker)) if name else ("", "")
