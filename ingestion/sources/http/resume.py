"""Continues interrupted downloads with range requests (RFC 9110, section 14).

A download is only continued over a strong ETag. If the parts do not fit exactly, the download
starts again: half of one version and half of another would be a file that never existed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2 as httpx

from ingestion.core.errors import BodyTruncated, NotServed
from ingestion.sources.http.digests import read_claimed_digest
from ingestion.sources.http.partial_file import ResumeState

_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,15})-(\d{1,15})|\*)/(\d{1,15})")
# RFC 9110, section 8.8.3; weak ETags start with W/. The length fits the database column, and other
# characters than ASCII could not be sent back unchanged.
_STRONG_ETAG = re.compile(r'"[\x21\x23-\x7e]{0,198}"')


@dataclass(frozen=True, slots=True)
class BodyStart:
    """Says where the bytes of a response belong in the file."""

    offset: int  # bytes
    state: ResumeState  # of the whole file
    has_body: bool = True


def get_strong_etag(headers: Mapping[str, str]) -> str:
    """Return the strong ETag, or "".

    A weak ETag says only that two files have the same meaning, not the same bytes.
    """
    etag = headers.get("ETag", "").strip()
    return etag if _STRONG_ETAG.fullmatch(etag) else ""


def build_range_headers(state: ResumeState, size: int) -> dict[str, str]:
    """Return headers that ask for the bytes after the first `size`.

    The portal sends the whole file instead if it has changed.
    """
    if not size:
        return {}
    return {"Range": f"bytes={size}-", "If-Range": state.etag}


def locate_body(
    response: httpx.Response, state: ResumeState, size: int, manifest_sha256: str
) -> BodyStart:
    """Return where the body of a response with status 200, 206 or 416 belongs.

    `size` bytes were kept from an earlier response, and `state` describes that response.

    Raises BodyTruncated if the response does not continue them; then they are useless. Raises
    NotServed for a part of a file that was requested as a whole, and for a body whose end could not
    be recognised.
    """
    headers = response.headers
    if response.status_code == 200:
        length = headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        claim = read_claimed_digest(manifest_sha256, headers, whole=True)
        is_chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
        if total is None and not is_chunked and not claim:
            # The body ends with the connection, so a truncated one could not be recognised.
            raise NotServed("neither length nor digest", status="200, without length or digest")
        return BodyStart(0, ResumeState(get_strong_etag(headers), total, claim))
    if not size:
        raise NotServed("a part of a file, not the whole file", status=response.status_code)
    claim = read_claimed_digest(manifest_sha256, headers, whole=False) or state.claim
    content_range = _parse_content_range(headers)
    if response.status_code == 416 and content_range == (size, size, size):
        return BodyStart(size, ResumeState(state.etag, size, claim), has_body=False)
    if response.status_code == 206 and content_range is not None:
        first, end, total = content_range
        is_same_version = headers.get("ETag", state.etag).strip() == state.etag
        is_rest = first == size and end == total and state.total in {None, total}
        if is_same_version and is_rest:
            return BodyStart(size, ResumeState(state.etag, total, claim))
    raise BodyTruncated(f"{response.status_code}: the response does not continue the kept bytes")


def _parse_content_range(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    """Return the first byte, the byte after the last, and the total.

    `bytes */N`, which names only the total, gives N for all three.
    """
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if match is None:
        return None
    total = int(match[3])
    return (total, total, total) if match[1] is None else (int(match[1]), int(match[2]) + 1, total)
