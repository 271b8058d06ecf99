"""Interprets responses of portals: status, waiting time, sign-in pages, and the portal's clock."""

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
from ingestion.reading.pdf.file_type import HEADER_WINDOW_BYTES, is_web_page, match_media_type

BODY_STATUSES = frozenset({200, 206, 416})  # 416 can say that no bytes are left to send
TRANSIENT_STATUSES = frozenset({408, 425, 500, 502, 503, 504})  # another request may succeed
REFUSED_STATUSES = frozenset({401, 403, 407})
MAX_CLOCK_SKEW_SECONDS = 60  # a larger difference of a portal's clock is recorded


def raise_for_status(response: httpx.Response) -> None:
    """Raise the error of `core.errors` that the status stands for, unless there is a body."""
    status = response.status_code
    if status in BODY_STATUSES:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise NotServed("the portal sent an encoding that was not accepted", status=status)
        return
    if status in REFUSED_STATUSES:
        raise AccessRefused(f"{status}: the portal refused the credentials", status=status)
    error: TransientError
    if status == 429:
        error = PortalThrottled("429: the portal asked for fewer requests", status=status)
    elif status in TRANSIENT_STATUSES:
        error = PortalFailing(f"{status}: the portal cannot serve at the moment", status=status)
    else:
        raise NotServed(f"the portal answered {status}", status=status)
    error.retry_after = parse_retry_after(response.headers)
    raise error


def is_unchanged(response: httpx.Response) -> bool:
    """Return whether the portal still has exactly the bytes that If-None-Match named.

    That header is compared weakly (RFC 9110, section 13.1.2), so a portal whose ETag became a weak
    one may answer 304 for other bytes. The response therefore has to name the same ETag
    (section 15.4.5).
    """
    sent_etag = response.request.headers.get("If-None-Match")
    return (
        response.status_code == 304
        and sent_etag is not None
        and sent_etag == response.headers.get("ETag")
    )


def check_size(size: int, max_bytes: int) -> None:
    """Raise TooLarge if `size` bytes are more than `max_bytes`."""
    if size > max_bytes:
        raise TooLarge(size_mb=math.ceil(size / 1e6), limit_mb=round(max_bytes / 1e6))


def check_not_sign_in_page(head: bytes, headers: Mapping[str, str]) -> None:
    """Raise AccessRefused for a web page in place of a document. `head` is its beginning.

    No accepted document is a web page. The reader judges all other content.
    """
    head = head[:HEADER_WINDOW_BYTES]
    if match_media_type(head):
        return
    media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if is_web_page(head) or media_type in {"text/html", "application/xhtml+xml"}:
        raise AccessRefused(
            "the portal sent a sign-in page in place of the document",
            status="a sign-in page",
        )


def parse_retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds of Retry-After, in either form (RFC 9110, section 10.2.3), or None.

    A date is compared with the Date header of the response if there is one, because the portal's
    clock may be wrong.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    until = _parse_http_date(value)
    if until is None:
        return None
    since = _parse_http_date(headers.get("Date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def get_clock_skew(headers: Mapping[str, str], *, now: datetime | None = None) -> int | None:
    """Return by how many seconds the portal's clock is ahead of ours; None without a Date header.

    A response from a cache has the date at which it was stored (RFC 9110, section 5.6.7; RFC 9111,
    section 5.1).
    """
    date = _parse_http_date(headers.get("Date", ""))
    if date is None:
        return None
    age = headers.get("Age", "").strip()
    skew = date - (now or datetime.now(UTC))
    return round(skew.total_seconds()) + (int(age) if age.isdecimal() else 0)


def summarise_response(response: httpx.Response) -> dict[str, str | int]:
    """Return the facts of a response that are recorded: see `core.ports.Fetched`."""
    facts: dict[str, str | int] = {}
    if certificate := get_peer_certificate(response):
        facts["certificate_sha256"] = hashlib.sha256(certificate).hexdigest()
    skew = get_clock_skew(response.headers)
    if skew is not None and abs(skew) > MAX_CLOCK_SKEW_SECONDS:
        facts["clock_skew_seconds"] = skew
    return facts


def get_peer_certificate(response: httpx.Response) -> bytes:
    """Return the portal's certificate in DER, or b"" without TLS.

    It is only available while the body is being read.
    """
    tls: Any = response.extensions["network_stream"].get_extra_info("ssl_object")
    return (tls.getpeercert(binary_form=True) or b"") if tls else b""


def _parse_http_date(value: str) -> datetime | None:
    with suppress(TypeError, ValueError):
        parsed = email.utils.parsedate_to_datetime(value)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None
