"""Checks a portal without fetching a document: reachability, TLS, credentials and clock.

It sends a HEAD request for the portal's base address, or a GET request whose body is not read if
the portal does not support HEAD.
"""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2 as httpx

from ingestion.core.errors import IngestionError
from ingestion.core.limits import Limits
from ingestion.core.ports import PortalTerms
from ingestion.sources.address_policy import Resolve, resolve_host
from ingestion.sources.http.client import translate_errors
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.redirects import send_request
from ingestion.sources.http.responses import (
    MAX_CLOCK_SKEW_SECONDS,
    REFUSED_STATUSES,
    TRANSIENT_STATUSES,
    get_clock_skew,
    get_peer_certificate,
)

NO_HEAD_STATUSES = frozenset({405, 501})
MAX_TOLERABLE_SKEW_SECONDS = 300  # beyond it, portals refuse signed addresses and tokens
MIN_CERTIFICATE_DAYS = 14  # for which the portal's certificate should still be valid


@dataclass(frozen=True, slots=True)
class PortalRemark:
    """Describes one result of the check, in a sentence."""

    is_good: bool
    sentence: str


async def check_portal(
    terms: PortalTerms,
    limits: Limits,
    *,
    waits: tuple[float, float] = (0.0, 0.0),
    resolve: Resolve = resolve_host,
) -> list[PortalRemark]:
    """Return remarks about the portal, good and bad, in the order of the checks.

    `waits` are the seconds from now until each of two requests may start.
    """
    begun_at = time.monotonic()
    remarks = [
        PortalRemark(
            True,
            f"Limit: {terms.rate_per_second:g} requests per second, {terms.burst} at once, over "
            f"{terms.max_in_flight} connections. Timeout: {terms.timeout_seconds:g} s.",
        )
    ]
    try:
        connection = await asyncio.to_thread(PortalConnection.open, terms, limits, resolve)
    except IngestionError as error:
        return [*remarks, PortalRemark(False, f"{error}.")]
    try:
        with translate_errors(terms.timeout_seconds):
            for method, wait in zip(("HEAD", "GET"), waits, strict=True):
                await asyncio.sleep(begun_at + wait - time.monotonic())
                async with (
                    asyncio.timeout(terms.timeout_seconds),
                    send_request(connection, terms.base_url, {}, method=method) as response,
                ):
                    if method == "HEAD" and response.status_code in NO_HEAD_STATUSES:
                        continue
                    remarks += _remarks_on(response, connection)
                    break
    except IngestionError as error:
        remarks.append(PortalRemark(False, f"The request failed: {error}."))
    finally:
        await connection.aclose()
    return remarks


def _remarks_on(response: httpx.Response, connection: PortalConnection) -> Iterator[PortalRemark]:
    status = response.status_code
    address, *_ = response.extensions["network_stream"].get_extra_info("server_addr")
    is_serving = status not in TRANSIENT_STATUSES and status != 429
    verb = "answered" if is_serving else "cannot serve at the moment: it answered"
    yield PortalRemark(is_serving, f"{response.url.host} ({address}) {verb} {status}.")
    yield _remark_on_tls(response)
    sent = "; ".join(
        f"with {each.reference} in {each.header}"
        if each.value
        else f"without a secret ({each.reference} is not set)"
        for each in connection.credentials.headers
    )
    if status in REFUSED_STATUSES:
        yield PortalRemark(False, f"The portal refused the request, sent {sent}.")
    else:
        yield PortalRemark(True, f"The portal accepted the request, sent {sent}.")
    yield _remark_on_clock(response)


def _remark_on_tls(response: httpx.Response) -> PortalRemark:
    certificate = get_peer_certificate(response)
    if not certificate:
        return PortalRemark(
            True, "The connection is not encrypted (http), as the portal's settings allow."
        )
    tls = response.extensions["network_stream"].get_extra_info("ssl_object")
    ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(tls.getpeercert()["notAfter"]), UTC)
    return PortalRemark(
        (ends - datetime.now(UTC)).days >= MIN_CERTIFICATE_DAYS,
        f"{tls.version()}; the certificate is valid until {ends:%Y-%m-%d} "
        f"(SHA-256 {hashlib.sha256(certificate).hexdigest()}).",
    )


def _remark_on_clock(response: httpx.Response) -> PortalRemark:
    skew = get_clock_skew(response.headers)
    if skew is None:
        return PortalRemark(True, "The portal does not send its time.")
    if abs(skew) <= MAX_CLOCK_SKEW_SECONDS:
        return PortalRemark(True, "The portal's clock agrees with ours.")
    side = "ahead of" if skew > 0 else "behind"
    return PortalRemark(
        abs(skew) <= MAX_TOLERABLE_SKEW_SECONDS, f"The portal's clock is {abs(skew)} s {side} ours."
    )
