"""Implements tus 1.0.0 for resumable uploads (https://tus.io/protocols/resumable-upload).

Extensions: creation, creation-with-upload, checksum (SHA-1, SHA-256), expiration, termination.
`api.uploads.resumable` has the addresses at which clients use it, and what they may upload there.
`ingestion.intake.upload_sessions` stores the bytes.
"""

import base64
import binascii
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.views import View

from ingestion.intake import upload_sessions
from ingestion.intake.quotas import BYTES_PER_MEGABYTE, QuotaExceeded
from ingestion.intake.upload_sessions import PartChecksum, UploadError
from ingestion.models import Upload
from web.shell.request_limits import parse_whole_number

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,checksum,expiration,termination"
MEDIA_TYPE = "application/offset+octet-stream"
CHECKSUM_MISMATCH = 460  # status of the extension checksum; not registered at IANA
MAX_METADATA_CHARACTERS = 4_096
BLOCK_BYTES = 1 << 16
COLLECTION_METHODS = {"OPTIONS", "POST"}
UPLOAD_METHODS = {"OPTIONS", "GET", "HEAD", "PATCH", "DELETE"}  # GET answers like HEAD


class Refusal(Exception):
    """A refused request, with the status, the sentence and the headers of the response."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


class TusUploads(View):
    """The protocol, for the collection of uploads and for one upload.

    Sub-classes authenticate the request, find and create uploads, and format errors.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Respond to a request. Each refusal and each error of an upload has its own status."""
        try:
            response = self._respond(request, kwargs.get("upload_id"))
        except (Refusal, UploadError, QuotaExceeded) as error:
            response = self.refusal_response(_as_refusal(error))
        response["Tus-Resumable"] = VERSION
        patch_cache_control(response, no_store=True)
        return response

    def _respond(self, request: HttpRequest, upload_id: uuid.UUID | None) -> HttpResponse:
        method = request.method or ""
        if method == "POST":  # for networks that block PATCH and DELETE
            method = request.headers.get("X-HTTP-Method-Override", method).upper()
        allowed = COLLECTION_METHODS if upload_id is None else UPLOAD_METHODS
        if method not in allowed:
            headers = {"Allow": ", ".join(sorted(allowed))}
            raise Refusal(405, "This address does not support that method.", headers)
        self.authenticate()
        if method == "OPTIONS":
            return self._describe_server()
        upload = None
        if upload_id:
            upload = self.find_upload(upload_id)
            if upload is None:
                raise Refusal(404, "There is no such upload.")
            upload_sessions.check_not_expired(upload)
        if request.headers.get("Tus-Resumable") != VERSION:
            message = f"Send the header Tus-Resumable: {VERSION}."
            raise Refusal(412, message, {"Tus-Version": VERSION})
        return self._create() if upload is None else self._work_on(upload, method)

    def _describe_server(self) -> HttpResponse:
        return HttpResponse(
            status=204,
            headers={
                "Tus-Version": VERSION,
                "Tus-Extension": EXTENSIONS,
                "Tus-Max-Size": str(settings.MAX_DOCUMENT_MB * BYTES_PER_MEGABYTE),
                "Tus-Checksum-Algorithm": ",".join(upload_sessions.CHECKSUM_ALGORITHMS),
            },
        )

    def _create(self) -> HttpResponse:
        length = self._read_number("Upload-Length")
        if length > settings.MAX_DOCUMENT_MB * BYTES_PER_MEGABYTE:
            message = _("A file can have at most {limit} MB.")
            raise Refusal(413, message.format(limit=settings.MAX_DOCUMENT_MB))
        has_body = self._read_body_length() > 0
        if has_body:
            self._check_media_type()
        header = self.request.headers.get("Upload-Metadata", "")
        try:
            upload = self.create_upload(length, _parse_metadata(header), header)
        except IntegrityError:
            raise Refusal(409, "This file has been received already.") from None
        if has_body or not length:
            upload = self._append(upload, 0)
        headers = {"Location": self.upload_url(upload), **_state_headers(upload)}
        return HttpResponse(status=201, headers=headers)

    def _work_on(self, upload: Upload, method: str) -> HttpResponse:
        match method:
            case "PATCH":
                self._check_media_type()
                upload = self._append(upload, self._read_number("Upload-Offset"))
                return HttpResponse(status=204, headers=_state_headers(upload))
            case "DELETE":
                upload_sessions.terminate_upload(upload)
                return HttpResponse(status=204)
        headers = _state_headers(upload) | {"Upload-Length": str(upload.length)}
        if upload.metadata:
            headers["Upload-Metadata"] = upload.metadata
        return HttpResponse(headers=headers)

    def _append(self, upload: Upload, offset: int) -> Upload:
        """Store the body as the part that begins at byte `offset`."""
        size = self._read_body_length()
        if upload.offset == offset == upload.length and not size:
            # All bytes have been received. Join them if the server stopped before it did.
            return upload_sessions.finish_upload(upload)
        if upload.offset == offset and size > upload.length - offset:
            raise upload_sessions.PartTooLong
        header, checksum = self.request.headers.get("Upload-Checksum", ""), None
        if header:
            try:
                checksum = PartChecksum.parse(header)
            except ValueError:
                algorithms = " or ".join(upload_sessions.CHECKSUM_ALGORITHMS)
                message = f"Upload-Checksum has to be {algorithms} and base64."
                raise Refusal(400, message) from None
        return upload_sessions.append_part(upload, offset, self._read_blocks(), checksum=checksum)

    def _check_media_type(self) -> None:
        if self.request.content_type != MEDIA_TYPE:
            raise Refusal(415, f"Send the bytes of a file with Content-Type: {MEDIA_TYPE}.")

    def _read_number(self, header: str) -> int:
        """Return the number in a header. Raises Refusal 400."""
        number = parse_whole_number(self.request.headers.get(header, ""))
        if number is None:
            raise Refusal(400, f"The header {header} has to be a whole number.")
        return number

    def _read_body_length(self) -> int:
        """Return the declared length in bytes. WSGI cannot read a body without a length."""
        declared = self.request.META.get("CONTENT_LENGTH") or "0"
        length = parse_whole_number(declared)
        if length is None or "Transfer-Encoding" in self.request.headers:
            raise Refusal(411, "Send the length of the body in the header Content-Length.")
        return length

    def _read_blocks(self) -> Iterator[bytes]:
        """Yield the body while it arrives.

        A lost connection ends it without an error, so that the received bytes are kept.
        """
        try:
            while block := self.request.read(BLOCK_BYTES):
                yield block
        except UnreadablePostError:
            return

    def authenticate(self) -> None:
        """Identify the client. Raises Refusal 401, 403 or 429."""
        raise NotImplementedError

    def find_upload(self, upload_id: uuid.UUID) -> Upload | None:
        """Return an upload of this client, or None if there is none with this id."""
        raise NotImplementedError

    def create_upload(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        """Create the upload that the metadata describes.

        `length` is in bytes, and `header` is the metadata as it was sent. Raises Refusal,
        QuotaExceeded, and IntegrityError if the file has been received already.
        """
        raise NotImplementedError

    def upload_url(self, upload: Upload) -> str:
        """Return the URL of the upload, for the header `Location`."""
        raise NotImplementedError

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        """Return the response to a refused request."""
        raise NotImplementedError


def _state_headers(upload: Upload) -> dict[str, str]:
    return {
        "Upload-Offset": str(upload.offset),
        "Upload-Expires": http_date(upload.holder.expires_at.timestamp()),
    }


def _parse_metadata(header: str) -> dict[str, str]:
    """Return the values of `Upload-Metadata`: `key base64,key base64`. Raises Refusal 400."""
    if len(header) > MAX_METADATA_CHARACTERS:
        message = f"Upload-Metadata can have at most {MAX_METADATA_CHARACTERS} characters."
        raise Refusal(400, message)
    pairs = [pair.strip().partition(" ") for pair in header.split(",") if pair.strip()]
    try:
        return {key: base64.b64decode(value, validate=True).decode() for key, _sep, value in pairs}
    except (binascii.Error, ValueError):
        message = "Upload-Metadata has to be pairs of a key and a value in base64 (UTF-8)."
        raise Refusal(400, message) from None


def _as_refusal(error: Refusal | UploadError | QuotaExceeded) -> Refusal:
    match error:
        case Refusal():
            return error
        case upload_sessions.OffsetConflict(received=received):
            message = f"{received} bytes have been received. Continue there."
            return Refusal(409, message, {"Upload-Offset": str(received)})
        case QuotaExceeded(retry_after=seconds):
            # 507 and not 429: tus clients retry after 5xx, and give up after 4xx.
            return Refusal(507, str(error), {"Retry-After": str(seconds)} if seconds else {})
    return Refusal(*_UPLOAD_ERRORS[type(error)])


_UPLOAD_ERRORS: dict[type[Exception], tuple[int, str]] = {
    upload_sessions.UploadNotFound: (
        410,
        "The upload has expired or was terminated. Start it again.",
    ),
    upload_sessions.UploadIncomplete: (409, "Not all bytes of the file have been received."),
    upload_sessions.PartTooLong: (413, "The part is longer than the rest of the file."),
    upload_sessions.PartChecksumMismatch: (
        CHECKSUM_MISMATCH,
        "The part does not have the checksum that was sent with it.",
    ),
    upload_sessions.DigestMismatch: (
        422,
        "This is not the declared file. The declared file has another SHA-256.",
    ),
}
