"""Going on where a portal broke off: ranges (RFC 9110, 14), only over a strong ETag.

What does not fit exactly is begun anew: half of one version and half of another would hash to
nothing that anybody ever signed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2 as httpx

from ingestion.core.errors import BodyTruncated, NotServed
from ingestion.sources.http.digests import ClaimedDigest, read_claimed_digest
from ingestion.sources.http.partial_file import ResumeState

_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,15})-(\d{1,15})|\*)/(\d{1,15})")
# RFC 9110, 8.8.3; a weak one starts with W/. Shorter than a row has room for, and ASCII: what is
# more than that could not be sent back as it came.
_STRONG = re.compile(r'"[\x21\x23-\x7e]{0,198}"')


@dataclass(frozen=True, slots=True)
class BodyStart:
    """Where the bytes of an answer belong, and what the whole file will be."""

    offset: int
    kept: ResumeState
    has_body: bool = True


def get_strong_etag(headers: Mapping[str, str]) -> str:
    """Empty where there is none. A weak one says that two files mean the same, no more."""
    etag = headers.get("ETag", "").strip()
    return etag if _STRONG.fullmatch(etag) else ""


def build_range_headers(kept: ResumeState, size: int) -> dict[str, str]:
    """What to ask with, so that the portal sends the rest or, if the file changed, all of it."""
    if not size:
        return {}
    return {"Range": f"bytes={size}-", "If-Range": kept.etag}


def locate_body(
    response: httpx.Response, kept: ResumeState, size: int, manifest_sha256: str
) -> BodyStart:
    """Raises BodyTruncated for an answer to another question; then nothing kept is of use."""
    if response.status_code == 200:
        return _anew(response, manifest_sha256)
    if not size:
        raise NotServed("a part, where all was asked for", status=response.status_code)
    claim = read_claimed_digest(manifest_sha256, response.headers, whole=False) or kept.claim
    known = _content_range(response.headers)
    if response.status_code == 416 and known == (size, size, size):
        return BodyStart(size, _kept(kept, size, claim), has_body=False)
    if response.status_code == 206 and known and _fits(known, kept, size, response.headers):
        return BodyStart(size, _kept(kept, known[2], claim))
    raise BodyTruncated(f"{response.status_code}: the rest does not fit what came before")


def _anew(response: httpx.Response, manifest_sha256: str) -> BodyStart:
    headers = response.headers
    length = headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    claim = read_claimed_digest(manifest_sha256, headers, whole=True)
    chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
    if total is None and not chunked and not claim:
        # It ends when the connection does, for whatever reason: nobody could tell half of it.
        raise NotServed("neither length nor digest", status="200, without length or digest")
    return BodyStart(0, ResumeState(get_strong_etag(headers), total, claim))


def _kept(kept: ResumeState, total: int, claim: ClaimedDigest | None) -> ResumeState:
    return ResumeState(kept.etag, total, claim)


def _content_range(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    """First byte, the one after the last, and total; `bytes */N` is all of them N."""
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if match is None:
        return None
    total = int(match[3])
    return (total, total, total) if match[1] is None else (int(match[1]), int(match[2]) + 1, total)


def _fits(
    known: tuple[int, int, int], kept: ResumeState, size: int, headers: Mapping[str, str]
) -> bool:
    first, after, total = known
    same = headers.get("ETag", kept.etag).strip() == kept.etag
    return same and first == size and after == total and kept.total in {None, total}
