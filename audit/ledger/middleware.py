"""Sets the origin of every request: its IDs, and who sent it from which address.

It must be the first middleware, so that errors of the others are logged with the correlation ID.
Django logs a refused request after all middleware, so this middleware has it logged before the ID
is unbound.
"""

import re
import uuid
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.log import log_response
from structlog.contextvars import bound_contextvars

from audit.correlation import parse_correlation_id
from audit.ledger import context

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch  # it is written into entries


class OriginMiddleware:
    """Sets the origin and the correlation ID of a request, and returns both IDs as headers.

    `X-Correlation-ID` is that of the request, if it is well formed. Otherwise it is its
    `X-Request-ID` if that is a UUID, or a new one. `X-Request-ID` is that of the request, if it is
    valid, or the correlation ID.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        correlation_id = str(
            parse_correlation_id(request.headers.get("X-Correlation-ID", ""))
            or parse_correlation_id(given)
            or uuid.uuid4()
        )
        request_id = given if _REQUEST_ID(given) else correlation_id
        request.request_id = request_id  # type: ignore[attr-defined] # as Django sets `user`
        facts = {"request_id": request_id, "address": get_client_address(request)}
        with (
            context.set_origin(context.RequestOrigin(facts, lambda: _identify(request))),
            bound_contextvars(correlation_id=correlation_id),
        ):
            response = self._get_response(request)
            if response.status_code >= 400:  # Django logs each response once.
                log_response(
                    "%s: %s",
                    response.reason_phrase,
                    request.path,
                    response=response,  # type: ignore[arg-type] # Django passes any response
                    request=request,
                )
        response["X-Request-ID"], response["X-Correlation-ID"] = request_id, correlation_id
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
