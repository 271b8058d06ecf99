"""Resumable uploads over tus 1.0.0 (https://tus.io/protocols/resumable-upload).

Programs use `/api/v1/uploads` with a token. The upload form uses `/uploads/` with a session and its
CSRF token in the header `X-CSRFToken`. `Upload-Metadata` states the purpose of an upload: a file of
an open packet (`packet`, `number`), or a new file of the person's draft (`filename`, `token`,
`corrects`). `ingestion.intake.upload_sessions` stores the bytes.

Extensions: creation, creation-with-upload, checksum (SHA-1, SHA-256), expiration, termination.
"""

import base64
import binascii
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from django.conf import settings
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.views import View

from api import auth
from api.auth import Bearer
from api.problems import Problem, problem_response
from audit.change_tracking import form_errors
from ingestion.intake import drafts, open_packets, upload_sessions
from ingestion.intake.quotas import BYTES_PER_MEGABYTE, QuotaExceeded, SpoolFull
from ingestion.intake.upload_sessions import PartChecksum, UploadError
from ingestion.models import Upload
from sites import eligibility
from sites.models import ApiToken, TokenScope, User
from web.documents.lookup import get_own_document
from web.packets.file_rules import explain_too_many, explain_unacceptable
from web.shell.request_limits import whole_number

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
        number = whole_number(self.request.headers.get(header, ""))
        if number is None:
            raise Refusal(400, f"The header {header} has to be a whole number.")
        return number

    def _read_body_length(self) -> int:
        """Return the declared length in bytes. WSGI cannot read a body without a length."""
        declared = self.request.META.get("CONTENT_LENGTH") or "0"
        length = whole_number(declared)
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
        raise NotImplementedError

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        raise NotImplementedError


class OpenPacketUploads(TusUploads):
    """`/api/v1/uploads`: files of the open packets of a token's owner. Errors are problems."""

    token: ApiToken

    def authenticate(self) -> None:
        try:
            token = Bearer(TokenScope.SUBMIT)(self.request)
            if token is None:
                raise auth.missing_token()
        except Problem as problem:
            raise Refusal(problem.status, problem.detail, problem.headers) from None
        self.token = token

    def find_upload(self, upload_id: uuid.UUID) -> Upload | None:
        own = Upload.objects.filter(packet__owner=self.token.owner)
        return own.select_related("packet").filter(pk=upload_id).first()

    def create_upload(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        number = whole_number(metadata.get("number", ""))
        try:
            packet_id = uuid.UUID(metadata.get("packet", ""))
            packet = open_packets.find_open_packet(packet_id, owner=self.token.owner)
        except (ValueError, open_packets.OpenPacketNotFound):
            message = "`packet` in Upload-Metadata is not the id of an open packet."
            raise Refusal(404, message) from None
        files = open_packets.list_declared_files(packet)
        if number is None or number >= len(files):
            message = "`number` in Upload-Metadata is not the number of a file, counted from 0."
            raise Refusal(404, message)
        if files[number].size != length:
            message = f"The file was declared with {files[number].size} bytes, not {length}."
            raise Refusal(422, message)
        return open_packets.begin_upload(packet, number, metadata=header)

    def upload_url(self, upload: Upload) -> str:
        return self.request.build_absolute_uri(reverse("api_upload", args=[upload.pk]))

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        problem = Problem(refusal.status, refusal.message, headers=refusal.headers)
        return problem_response(self.request, problem)


class DraftUploads(TusUploads):
    """`/uploads/`: files of the signed-in person's draft. Errors are JSON with a sentence."""

    person: User

    def authenticate(self) -> None:
        if not isinstance(self.request.user, User):
            raise Refusal(401, _("You were signed out. Sign in again."))
        self.person = self.request.user
        if self.request.method not in {"GET", "HEAD", "OPTIONS"} and (
            missing := eligibility.missing_for_upload(self.person)
        ):
            raise Refusal(403, missing[0].sentence)

    def find_upload(self, upload_id: uuid.UUID) -> Upload | None:
        own = Upload.objects.filter(draft__user=self.person, draft__packet=None)
        return own.select_related("draft").filter(pk=upload_id).first()

    def create_upload(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        filename = metadata.get("filename", "")
        if fault := explain_unacceptable(filename, length):
            self._refuse_file(filename, fault, "unacceptable")
        number = whole_number(metadata.get("corrects", ""))
        try:
            corrected = None if number is None else get_own_document(self.person, number)
        except Http404:
            raise Refusal(404, "There is no such document.") from None
        draft = drafts.begin_draft(self.person, metadata.get("token", ""), corrected)
        try:
            return drafts.begin_upload(draft, filename, length, metadata=header)
        except drafts.DraftFull:
            message = explain_too_many(drafts.get_max_files(corrected))
            self._refuse_file(filename, message, "too_many")
        except SpoolFull:
            raise
        except QuotaExceeded as error:
            self._refuse_file(filename, str(error), "over_quota")

    def _refuse_file(self, filename: str, message: str, code: str) -> NoReturn:
        """Record that the file was refused, as for the upload form (R08), and raise Refusal 422."""
        by = self.person.actor
        form_errors.record_form_errors(
            "packet", codes={"file": [code]}, values={"file": filename}, by=by
        )
        raise Refusal(422, message)

    def upload_url(self, upload: Upload) -> str:
        return reverse("resumable_upload", args=[upload.pk])

    def refusal_response(self, refusal: Refusal) -> HttpResponse:
        body = {"message": refusal.message}
        return JsonResponse(body, status=refusal.status, headers=refusal.headers)


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
