"""What an answer means: its status, when to ask again, sign-in pages, and the portal's clock."""

import email.utils
import hashlib
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import httpx2 as httpx

from ingestion.core.errors import (
    AccessRefused,
    NotServed,
    PortalFailing,
    PortalThrottled,
    TooLarge,
    TransientError,
)
from ingestion.reading.pdf.file_type import LOOKED_AT, accepted, is_web_page

BODIES = frozenset({200, 206, 416})  # the last one may say that nothing is left to send
HEALING = frozenset({408, 425, 500, 502, 503, 504})  # answers that another try may change
REFUSED = frozenset({401, 403, 407})
SKEW_SECONDS = 60  # beyond which a portal's clock is worth a word


def raise_for_status(response: httpx.Response) -> None:
    """Raises what the core expects, unless the answer has a body for us."""
    status = response.status_code
    if status in BODIES:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise NotServed("the portal sent an encoding that we did not accept", status=status)
        return
    if status in REFUSED:
        raise AccessRefused(f"{status}: the portal does not let us in", status=status)
    error: TransientError
    if status == 429:
        error = PortalThrottled("429: the portal asked us to slow down", status=status)
    elif status in HEALING:
        error = PortalFailing(f"{status}: the portal cannot serve just now", status=status)
    else:
        raise NotServed(f"the portal answered {status}", status=status)
    error.retry_after = parse_retry_after(response.headers)
    raise error


def is_unchanged(response: httpx.Response) -> bool:
    """The portal has the very bytes that we named in If-None-Match, and no others.

    That one is compared weakly (RFC 9110, 13.1.2), so a portal whose ETag became a weak one may
    say 304 of other bytes: the answer has to name the same one (15.4.5).
    """
    asked = response.request.headers.get("If-None-Match")
    return (
        response.status_code == 304 and asked is not None and asked == response.headers.get("ETag")
    )


def check_size(size: int, max_bytes: int) -> None:
    """Raises TooLarge."""
    if size > max_bytes:
        raise TooLarge(size_mb=math.ceil(size / 1e6), limit_mb=round(max_bytes / 1e6))


def check_not_sign_in_page(head: bytes, headers: Mapping[str, str]) -> None:
    """Raises AccessRefused for a web page in place of a document; `head` are its first bytes.

    No document of ours is a web page. Whatever else it is, the reader finds out and says so.
    """
    head = head[:LOOKED_AT]
    if accepted(head):
        return
    media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if is_web_page(head) or media_type in {"text/html", "application/xhtml+xml"}:
        raise AccessRefused(
            "the portal showed a sign-in page in place of the document",
            status="a sign-in page",
        )


def parse_retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds, from either form of the header (RFC 9110, 10.2.3); None when there is none.

    A date is compared with the answer's own Date header where there is one: the portal's clock
    need not be ours.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    until = _http_date(value)
    if until is None:
        return None
    since = _http_date(headers.get("Date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def get_clock_skew(headers: Mapping[str, str], *, now: datetime | None = None) -> int | None:
    """Seconds by which the portal's clock is ahead of ours; None when it does not say.

    What came out of a cache was dated when it went in (RFC 9110, 5.6.7; RFC 9111, 5.1).
    """
    theirs = _http_date(headers.get("Date", ""))
    if theirs is None:
        return None
    age = headers.get("Age", "").strip()
    skew = theirs - (now or datetime.now(UTC))
    return round(skew.total_seconds()) + (int(age) if age.isdecimal() else 0)


def summarise_response(response: httpx.Response) -> dict[str, str | int]:
    """The facts of an answer that go on record: `core.work.Fetched`."""
    facts: dict[str, str | int] = {}
    if certificate := get_peer_certificate(response):
        facts["certificate_sha256"] = hashlib.sha256(certificate).hexdigest()
    skew = get_clock_skew(response.headers)
    if skew is not None and abs(skew) > SKEW_SECONDS:
        facts["clock_skew_seconds"] = skew
    return facts


def get_peer_certificate(response: httpx.Response) -> bytes:
    """In DER; empty without TLS. Known only while the answer is being read."""
    tls: Any = response.extensions["network_stream"].get_extra_info("ssl_object")
    return (tls.getpeercert(binary_form=True) or b"") if tls else b""


def _http_date(value: str) -> datetime | None:
    with suppress(TypeError, ValueError):
        parsed = email.utils.parsedate_to_datetime(value)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None
