"""A document's original bytes over HTTP: whole or in part, with what proves them.

Strong ETag and Repr-Digest are the SHA-256 that the ledger knows (RFC 9530). There is never a
Content-Encoding, so that a part is a part of the file itself.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from api import problems
from api.auth import ApiRequest
from api.problems import Problem
from api.ranges import NotSatisfiable, Part, asked_part
from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from ingestion.documents import downloads
from ingestion.documents.transitions import Actor
from ingestion.models import Document
from ingestion.reading.results import SUFFIXES

REASON = "X-Reason"  # the header in which a token of operations says why
_BLOCK = 1 << 16  # bytes
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_KINDS = sorted({*SUFFIXES.values(), downloads.DEFAULT_MEDIA_TYPE})
_BYTES = {"content": dict.fromkeys(_KINDS, _BINARY)}
DESCRIBED: dict[str, Any] = {"responses": {200: _BYTES, 206: _BYTES}}


def given(request: ApiRequest, document: Document) -> HttpResponseBase:
    try:
        content = downloads.open_original(document)
    except FileNotFoundError:
        raise problems.not_found("content") from None
    with ExitStack() as refused:
        refused.callback(content.close)
        _refuse_without_reason(request)
        refused.pop_all()
    size = content.seek(0, 2)
    etag = f'"{document.sha256}"'
    if conditional := get_conditional_response(request, etag=etag):
        content.close()
        return _conditional(conditional, document)
    try:
        part = _asked(request, etag, size)
    except NotSatisfiable:
        content.close()
        detail = f"The document has {size} bytes; the range begins behind them."
        raise Problem(416, detail, headers={"Content-Range": f"bytes */{size}"}) from None
    return _described(_answer(request, document, content, part, size), document)


def _refuse_without_reason(request: ApiRequest) -> None:
    """Raises Problem for a token of operations that does not say what the bytes are for."""
    person = request.auth.user
    if person is None or request.method != "GET" or not downloads.must_give_reason(person):
        return
    if len(_reason(request)) < MIN_REASON_CHARACTERS:
        detail = (
            f"Send your reason in the header {REASON}, in at least "
            f"{MIN_REASON_CHARACTERS} characters."
        )
        raise Problem(403, detail)


def _reason(request: ApiRequest) -> str:
    return request.headers.get(REASON, "").strip()[:MAX_REASON_CHARACTERS]


def _asked(request: ApiRequest, etag: str, size: int) -> Part | None:
    if request.method != "GET":  # RFC 9110, 14.2: ranges are defined for GET alone
        return None
    asked = request.headers.get("Range", ""), request.headers.get("If-Range", "")
    return asked_part(*asked, etag=etag, size=size)


def _answer(
    request: ApiRequest, document: Document, content: IO[bytes], part: Part | None, size: int
) -> HttpResponseBase:
    if request.method == "HEAD":
        content.close()
        return HttpResponse(headers={"Content-Length": str(size)})
    _record(request, document, content, part)
    content.seek(part.first if part else 0)
    if part is None:
        return FileResponse(content, headers={"Content-Length": str(size)})
    response = StreamingHttpResponse(_blocks(content, part.length), status=206)
    response["Content-Length"] = str(part.length)
    response["Content-Range"] = part.content_range
    return response


def _record(request: ApiRequest, document: Document, content: IO[bytes], part: Part | None) -> None:
    by = Actor(request.auth.actor, request.auth.role)
    if part is None:
        downloads.record_download(document, content, by=by, reason=_reason(request))
    else:
        said, goes_on = part.content_range, part.first > 0
        downloads.record_download(
            document, content, by=by, part=said, goes_on=goes_on, reason=_reason(request)
        )


def _blocks(content: IO[bytes], left: int) -> Iterator[bytes]:
    with content:
        while left > 0 and (block := content.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _described(response: HttpResponseBase, document: Document) -> HttpResponseBase:
    name = downloads.get_filename(document)
    digest = base64.b64encode(bytes.fromhex(document.sha256)).decode()
    response["Content-Type"] = downloads.get_media_type(name)
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["Repr-Digest"] = f"sha-256=:{digest}:"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = f'"{document.sha256}"'
    return response


def _conditional(response: HttpResponse, document: Document) -> HttpResponseBase:
    if response.status_code == 412:
        raise Problem(412, "The document is not what If-Match names.")
    response["ETag"] = f'"{document.sha256}"'
    return response
