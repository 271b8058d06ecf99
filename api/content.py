"""Sends the bytes of a document over HTTP, whole or as a range: the original, or a rendition.

The strong ETag and Repr-Digest (RFC 9530) are the SHA-256 digest in the ledger. Responses have no
Content-Encoding, so that a range is a range of the file itself.

Of a document whose original is under lock, its inert rendition is sent.

Of a part of a file, its pages are sent as a file of their own. Its ETag adds the pages to the
digest of the file, and it has no Repr-Digest, because the ledger has none of these bytes.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from api.http import problems
from api.http.auth import ApiRequest
from api.http.problems import Problem
from api.http.ranges import ByteRange, RangeNotSatisfiable, parse_range
from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from ingestion.documents import downloads, inert_renditions
from ingestion.documents.downloads import OfferedFile, RenditionMissing
from ingestion.models import Document, DocumentRendition
from ingestion.reading.results import SUFFIXES

REASON_HEADER = "X-Reason"  # the reason for a download with a token of operations
BLOCK_BYTES = 1 << 16
RETRY_SECONDS = 60  # after which a rendition that is being made may be ready
_MEDIA_TYPES = sorted({*SUFFIXES.values(), downloads.DEFAULT_MEDIA_TYPE})
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_BINARY_CONTENT = {"content": dict.fromkeys(_MEDIA_TYPES, _BINARY)}
OPENAPI_EXTRA: dict[str, Any] = {"responses": {200: _BINARY_CONTENT, 206: _BINARY_CONTENT}}


def make_content_response(
    request: ApiRequest, document: Document, rendition: DocumentRendition | None = None
) -> HttpResponseBase:
    """Return the document's bytes, or those of a rendition, and record the download in the ledger.

    HEAD and 304 transfer no bytes and are not recorded. Raises Problem 403, 404, 412, 416 or 503.
    """
    offered, content = _open_offered(document, rendition)
    with ExitStack() as on_exit:  # The file stays open only for a response that sends its bytes.
        on_exit.callback(content.close)
        reason = _read_reason(request)
        size = content.seek(0, 2)
        etag = _etag(offered)
        if conditional := get_conditional_response(request, etag=etag):
            if conditional.status_code == 412:
                raise Problem(412, "The document does not match the header If-Match.")
            conditional["ETag"] = etag
            return conditional
        byte_range = _requested_range(request, etag, size)
        if request.method == "HEAD":
            response: HttpResponseBase = HttpResponse()
        else:
            response = _send(request, offered, content, byte_range, reason)
            on_exit.pop_all()
    response["Content-Length"] = str(byte_range.length if byte_range else size)
    _set_headers(response, offered)
    return response


def _open_offered(
    document: Document, rendition: DocumentRendition | None
) -> tuple[OfferedFile, IO[bytes]]:
    """Open what everyone may have of the document. Raises Problem 404 or 503."""
    try:
        offered = downloads.choose_file(document, rendition=rendition)
        return offered, offered.open()
    except RenditionMissing:
        inert_renditions.request_rendition(document)
        detail = "The inert rendition of the document is being made. Try again in a minute."
        raise Problem(503, detail, headers={"Retry-After": str(RETRY_SECONDS)}) from None
    except FileNotFoundError:
        raise problems.make_not_found_problem("content") from None


def _set_headers(response: HttpResponseBase, offered: OfferedFile) -> None:
    """Set the headers that describe the whole document, also in the response to a range."""
    response["Content-Type"] = offered.media_type
    response["Content-Disposition"] = content_disposition_header(True, offered.filename)
    if offered.part is None:
        digest = base64.b64encode(bytes.fromhex(offered.sha256)).decode()
        response["Repr-Digest"] = f"sha-256=:{digest}:"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = _etag(offered)


def _etag(offered: OfferedFile) -> str:
    return f'"{offered.sha256}{offered.part.suffix if offered.part else ""}"'


def _read_reason(request: ApiRequest) -> str:
    """Return the reason for the download. Raises Problem 403 if one is required and missing."""
    reason = request.headers.get(REASON_HEADER, "").strip()[:MAX_REASON_CHARACTERS]
    person = request.auth.user
    is_required = (
        person is not None and request.method == "GET" and downloads.must_give_reason(person)
    )
    if is_required and len(reason) < MIN_REASON_CHARACTERS:
        detail = (
            f"Send your reason in the header {REASON_HEADER}, in at least "
            f"{MIN_REASON_CHARACTERS} characters."
        )
        raise Problem(403, detail)
    return reason


def _requested_range(request: ApiRequest, etag: str, size: int) -> ByteRange | None:
    """Return the requested range, or None for the whole document. Raises Problem 416."""
    if request.method != "GET":  # RFC 9110, 14.2: ranges are defined for GET only
        return None
    range_, if_range = request.headers.get("Range", ""), request.headers.get("If-Range", "")
    try:
        return parse_range(range_, if_range, etag=etag, size=size)
    except RangeNotSatisfiable:
        detail = f"The document has {size} bytes. The range begins after its end."
        raise Problem(416, detail, headers={"Content-Range": f"bytes */{size}"}) from None


def _send(
    request: ApiRequest,
    offered: OfferedFile,
    content: IO[bytes],
    byte_range: ByteRange | None,
    reason: str,
) -> HttpResponseBase:
    """Record the download, then return a response that streams the bytes and closes the file."""
    by, document, rendition = request.auth.actor, offered.document, offered.rendition
    if byte_range is None:
        downloads.record_download(document, content, by=by, reason=reason, rendition=rendition)
        content.seek(0)
        return FileResponse(content)
    downloads.record_download(
        document,
        content,
        by=by,
        part=byte_range.content_range,
        is_continuation=byte_range.first > 0,
        reason=reason,
        rendition=rendition,
    )
    content.seek(byte_range.first)

    def blocks() -> Iterator[bytes]:
        remaining = byte_range.length
        with content:
            while remaining > 0 and (block := content.read(min(BLOCK_BYTES, remaining))):
                remaining -= len(block)
                yield block

    response = StreamingHttpResponse(blocks(), status=206)
    response["Content-Range"] = byte_range.content_range
    return response
