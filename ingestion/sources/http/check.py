"""One portal asked for nothing: can it be reached, does it believe us, what time is it there.

One HEAD of its base address, or a GET whose body is not read where it knows no HEAD.
"""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2 as httpx

from ingestion.core.errors import IngestionError
from ingestion.core.limits import Limits
from ingestion.core.ports import PortalTerms
from ingestion.sources.http.address_policy import Resolve, system_resolver
from ingestion.sources.http.client import translate_errors
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.credentials import reference
from ingestion.sources.http.redirects import send_request
from ingestion.sources.http.responses import (
    HEALING,
    REFUSED,
    SKEW_SECONDS,
    get_clock_skew,
    get_peer_certificate,
)

NO_HEAD = frozenset({405, 501})
WRONG_CLOCK_SECONDS = 300  # signed addresses and tokens are refused beyond it
RENEW_DAYS = 14  # before a certificate ends


@dataclass(frozen=True, slots=True)
class PortalRemark:
    is_good: bool
    sentence: str


async def check_portal(
    terms: PortalTerms,
    limits: Limits,
    *,
    waits: tuple[float, float] = (0.0, 0.0),
    resolve: Resolve = system_resolver,
) -> list[PortalRemark]:
    """What there is to say about the portal, good and bad, in the order in which it was seen.

    `waits`: seconds from now on until each of two requests may go.
    """
    remarks, begun = [_rate(terms)], time.monotonic()
    try:
        line = await asyncio.to_thread(PortalConnection.open, terms, limits, resolve)
    except IngestionError as error:
        return [*remarks, PortalRemark(False, f"{error}.")]
    try:
        with translate_errors(terms.timeout_seconds):
            for method, wait in zip(("HEAD", "GET"), waits, strict=True):
                await asyncio.sleep(begun + wait - time.monotonic())
                async with asyncio.timeout(terms.timeout_seconds):
                    found = await _ask(line, method)
                if found:
                    break
            remarks += found
    except IngestionError as error:
        remarks.append(PortalRemark(False, f"It cannot be asked: {error}."))
    finally:
        await line.aclose()
    return remarks


async def _ask(line: PortalConnection, method: str) -> list[PortalRemark]:
    """Nothing when the portal does not know the method and there is another one."""
    async with send_request(line, line.terms.base_url, {}, method=method) as response:
        if method == "HEAD" and response.status_code in NO_HEAD:
            return []
        return [remark for of in _REMARKS for remark in of(line, response)]


def _rate(terms: PortalTerms) -> PortalRemark:
    return PortalRemark(
        True,
        f"It is asked {terms.rate_per_second:g} times a second at most, {terms.burst} at once, "
        f"over {terms.max_in_flight} connections; an answer may take {terms.timeout_seconds:g} s.",
    )


def _answer(line: PortalConnection, response: httpx.Response) -> Iterator[PortalRemark]:
    status = response.status_code
    address, *_ = response.extensions["network_stream"].get_extra_info("server_addr")
    serves = status not in HEALING and status != 429
    word = "answered" if serves else "cannot serve just now: it answered"
    yield PortalRemark(serves, f"{response.url.host} ({address}) {word} {status}.")


def _tls(line: PortalConnection, response: httpx.Response) -> Iterator[PortalRemark]:
    certificate = get_peer_certificate(response)
    tls = response.extensions["network_stream"].get_extra_info("ssl_object")
    if not certificate:
        yield PortalRemark(True, "Nothing is encrypted: it is asked over http, as its row allows.")
        return
    ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(tls.getpeercert()["notAfter"]), UTC)
    yield PortalRemark(
        (ends - datetime.now(UTC)).days >= RENEW_DAYS,
        f"{tls.version()}; its certificate is good until {ends:%Y-%m-%d} "
        f"(SHA-256 {hashlib.sha256(certificate).hexdigest()}).",
    )


def _credentials(line: PortalConnection, response: httpx.Response) -> Iterator[PortalRemark]:
    name, header = reference("SECRET", line.terms.key), line.terms.secret_header
    sent = (
        f"with {name} in {header}" if line.has_secret else f"without a secret ({name} is not set)"
    )
    if response.status_code in REFUSED:
        yield PortalRemark(False, f"It does not let us in: we asked {sent}.")
    else:
        yield PortalRemark(True, f"It lets us in: we asked {sent}.")


def _clock(line: PortalConnection, response: httpx.Response) -> Iterator[PortalRemark]:
    skew = get_clock_skew(response.headers)
    if skew is None:
        yield PortalRemark(True, "It does not say what time it is there.")
    elif abs(skew) <= SKEW_SECONDS:
        yield PortalRemark(True, "Its clock agrees with ours.")
    else:
        side = "ahead of" if skew > 0 else "behind"
        yield PortalRemark(
            abs(skew) <= WRONG_CLOCK_SECONDS, f"Its clock is {abs(skew)} s {side} ours."
        )


_REMARKS: tuple[Callable[[PortalConnection, httpx.Response], Iterator[PortalRemark]], ...] = (
    _answer,
    _tls,
    _credentials,
    _clock,
)
