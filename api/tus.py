"""Resumable uploads over tus 1.0.0 (https://tus.io/protocols/resumable-upload).

The same view serves programs at `/api/v1/uploads`, with a token, and the upload form at
`/uploads/`, with a session and its CSRF token (header `X-CSRFToken`). What an upload is for stands
in `Upload-Metadata`: the file of an open packet (`packet`, `number`), or a new file of the person's
draft (`filename`, `token`, `corrects`). The bytes are `ingestion.intake.upload_sessions`' matter.

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

from api import auth, problems
from api.auth import Bearer
from api.problems import Problem
from audit.change_tracking import form_errors
from ingestion.intake import drafts, open_packets, upload_sessions
from ingestion.intake.quotas import BYTES_PER_MEGABYTE, QuotaExceeded, SpoolFull
from ingestion.intake.upload_sessions import PartChecksum, UploadError
from ingestion.models import Upload
from sites import eligibility
from sites.models import ApiToken, TokenScope, User
from web.documents.lookup import get_own_document
from web.packets.file_rules import explain_left_out, explain_unacceptable
from web.shell.request_limits import whole_number

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,checksum,expiration,termination"
MEDIA_TYPE = "application/offset+octet-stream"
WRONG_CHECKSUM = 460  # of the extension checksum; not registered at IANA
MAX_METADATA = 4_096  # characters
_BLOCK = 1 << 16  # bytes
_OF_ALL = {"OPTIONS", "POST"}
_OF_ONE = {"OPTIONS", "GET", "HEAD", "PATCH", "DELETE"}  # GET says what HEAD says


class Refusal(Exception):
    """A request that is not carried out, with the answer's status, sentence and headers."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Uploads(View):
    """The protocol. Sub-classes know who asks, which uploads are theirs, and how errors look."""

    def dispatch(self, request: HttpRequest, *args: Any, **named: Any) -> HttpResponseBase:
        try:
            response = self._answer(request, named.get("upload_id"))
        except (Refusal, UploadError, QuotaExceeded) as error:
            response = self.refused(_refusal_of(error))
        response["Tus-Resumable"] = VERSION
        patch_cache_control(response, no_store=True)
        return response

    def _answer(self, request: HttpRequest, upload_id: uuid.UUID | None) -> HttpResponse:
        method = request.method or ""
        if method == "POST":  # for networks that let no PATCH and DELETE pass
            method = request.headers.get("X-HTTP-Method-Override", method).upper()
        allowed = _OF_ALL if upload_id is None else _OF_ONE
        if method not in allowed:
            methods = ", ".join(sorted(allowed))
            raise Refusal(405, "This address does not know that method.", Allow=methods)
        self.identify()
        if method == "OPTIONS":
            return _abilities()
        upload = self._found(upload_id) if upload_id else None
        if request.headers.get("Tus-Resumable") != VERSION:
            message = f"Send the header Tus-Resumable: {VERSION}."
            raise Refusal(412, message, Tus_Version=VERSION)
        if upload is None:
            return self._create()
        match method:
            case "PATCH":
                return self._continue(upload)
            case "DELETE":
                return self._terminate(upload)
        return self._tell(upload)

    def _found(self, upload_id: uuid.UUID) -> Upload:
        upload = self.find(upload_id)
        if upload is None:
            raise Refusal(404, "There is no such upload.")
        upload_sessions.check_not_expired(upload)
        return upload

    def _create(self) -> HttpResponse:
        length = _number(self.request, "Upload-Length")
        if length > settings.MAX_DOCUMENT_MB * BYTES_PER_MEGABYTE:
            message = _("A file can have at most {limit} MB.")
            raise Refusal(413, message.format(limit=settings.MAX_DOCUMENT_MB))
        header = self.request.headers.get("Upload-Metadata", "")
        brings_bytes = self._body_length() > 0
        if brings_bytes and self.request.content_type != MEDIA_TYPE:
            raise Refusal(415, f"The bytes of a file are sent as {MEDIA_TYPE}.")
        try:
            upload = self.begin(length, _metadata(header), header)
        except IntegrityError:
            raise Refusal(409, "This file has been received already.") from None
        if brings_bytes or not length:
            upload = self._append(upload, 0)
        return HttpResponse(
            status=201, headers={"Location": self.address(upload), **_state_of(upload)}
        )

    def _tell(self, upload: Upload) -> HttpResponse:
        more = {"Upload-Length": str(upload.length)}
        if upload.metadata:
            more["Upload-Metadata"] = upload.metadata
        return HttpResponse(headers=_state_of(upload) | more)

    def _continue(self, upload: Upload) -> HttpResponse:
        if self.request.content_type != MEDIA_TYPE:
            raise Refusal(415, f"The bytes of a file are sent as {MEDIA_TYPE}.")
        upload = self._append(upload, _number(self.request, "Upload-Offset"))
        return HttpResponse(status=204, headers=_state_of(upload))

    def _terminate(self, upload: Upload) -> HttpResponse:
        upload_sessions.terminate_upload(upload)
        return HttpResponse(status=204)

    def _append(self, upload: Upload, offset: int) -> Upload:
        size = self._body_length()
        if upload.offset == offset == upload.length and not size:
            # All bytes have come. If the server died before it joined them, that is done now.
            return upload_sessions.finish_upload(upload)
        if upload.offset == offset and size > upload.length - offset:
            raise upload_sessions.PartTooLong
        blocks, checksum = _blocks(self.request), _checksum(self.request)
        return upload_sessions.append_part(upload, offset, blocks, checksum=checksum)

    def _body_length(self) -> int:
        """Return the declared length in bytes. A body without one is not read (WSGI)."""
        declared = self.request.META.get("CONTENT_LENGTH") or "0"
        length = whole_number(declared)
        if length is None or "Transfer-Encoding" in self.request.headers:
            raise Refusal(411, "Send the length of the body: Content-Length.")
        return length

    def identify(self) -> None:
        """Find out who asks. Raises Refusal."""
        raise NotImplementedError

    def find(self, upload_id: uuid.UUID) -> Upload | None:
        """Return an upload of whoever asks; another's does not exist."""
        raise NotImplementedError

    def begin(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        """Begin what the metadata describes. Raises Refusal and OverQuota."""
        raise NotImplementedError

    def address(self, upload: Upload) -> str:
        raise NotImplementedError

    def refused(self, refusal: Refusal) -> HttpResponse:
        raise NotImplementedError


class UploadsOfPrograms(Uploads):
    """`/api/v1/uploads`: files of the open packets of a token's owner. Errors are problems."""

    token: ApiToken

    def identify(self) -> None:
        try:
            token = Bearer(TokenScope.SUBMIT)(self.request)
        except Problem as problem:
            raise _as_refusal(problem) from None
        if token is None:
            raise _as_refusal(auth.missing())
        self.token = token

    def find(self, upload_id: uuid.UUID) -> Upload | None:
        own = Upload.objects.filter(packet__owner=self.token.owner)
        return own.select_related("packet").filter(pk=upload_id).first()

    def begin(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        number = whole_number(metadata.get("number", ""))
        try:
            packet_id = uuid.UUID(metadata.get("packet", ""))
            packet = open_packets.find_open_packet(packet_id, owner=self.token.owner)
        except (ValueError, open_packets.OpenPacketNotFound):
            message = "Upload-Metadata names no open packet. `packet` is the id of one."
            raise Refusal(404, message) from None
        files = open_packets.list_declared_files(packet)
        if number is None or number >= len(files):
            raise Refusal(
                404, "Upload-Metadata names no file of the packet. `number` is 0 or more."
            )
        if files[number].size != length:
            message = f"The file was declared with {files[number].size} bytes, not {length}."
            raise Refusal(422, message)
        return open_packets.begin_upload(packet, number, metadata=header)

    def address(self, upload: Upload) -> str:
        return self.request.build_absolute_uri(reverse("api_upload", args=[upload.pk]))

    def refused(self, refusal: Refusal) -> HttpResponse:
        problem = Problem(refusal.status, refusal.message, headers=refusal.headers)
        return problems.answer(self.request, problem)


class UploadsOfPeople(Uploads):
    """`/uploads/`: files of the draft of whoever is signed in. Errors are JSON with a sentence."""

    person: User

    def identify(self) -> None:
        if not isinstance(self.request.user, User):
            raise Refusal(401, _("You were signed out. Sign in again."))
        self.person = self.request.user
        if self.request.method not in {"GET", "HEAD", "OPTIONS"} and (
            missing := eligibility.may_upload(self.person)
        ):
            raise Refusal(403, missing[0].sentence)

    def find(self, upload_id: uuid.UUID) -> Upload | None:
        own = Upload.objects.filter(draft__user=self.person, draft__packet=None)
        return own.select_related("draft").filter(pk=upload_id).first()

    def begin(self, length: int, metadata: Mapping[str, str], header: str) -> Upload:
        name = metadata.get("filename", "")
        if fault := explain_unacceptable(name, length):
            self._refuse(name, fault, "unacceptable")
        number = whole_number(metadata.get("corrects", ""))
        try:
            corrected = None if number is None else get_own_document(self.person, number)
        except Http404:
            raise Refusal(404, "There is no such document.") from None
        draft = drafts.begin_draft(self.person, metadata.get("token", ""), corrected)
        try:
            return drafts.begin_upload(draft, name, length, metadata=header)
        except drafts.DraftFull:
            self._refuse(name, explain_left_out(drafts.get_max_files(corrected)), "too_many")
        except SpoolFull:
            raise
        except QuotaExceeded as error:
            self._refuse(name, str(error), "over_quota")

    def _refuse(self, name: str, message: str, code: str) -> NoReturn:
        """Raise Refusal 422. That the file was not taken is on record, as for the form (R08)."""
        by = (self.person.actor, self.person.role)
        form_errors.record_form_errors(
            "packet", wrong={"file": [code]}, typed={"file": name}, by=by
        )
        raise Refusal(422, message)

    def address(self, upload: Upload) -> str:
        return reverse("resumable_upload", args=[upload.pk])

    def refused(self, refusal: Refusal) -> HttpResponse:
        said = {"message": refusal.message}
        return JsonResponse(said, status=refusal.status, headers=refusal.headers)


def _abilities() -> HttpResponse:
    return HttpResponse(
        status=204,
        headers={
            "Tus-Version": VERSION,
            "Tus-Extension": EXTENSIONS,
            "Tus-Max-Size": str(settings.MAX_DOCUMENT_MB * BYTES_PER_MEGABYTE),
            "Tus-Checksum-Algorithm": ",".join(upload_sessions.CHECKSUM_ALGORITHMS),
        },
    )


def _state_of(upload: Upload) -> dict[str, str]:
    return {
        "Upload-Offset": str(upload.offset),
        "Upload-Expires": http_date(upload.holder.expires_at.timestamp()),
    }


def _number(request: HttpRequest, header: str) -> int:
    """Return the number in a header. Raises Refusal 400."""
    number = whole_number(request.headers.get(header, ""))
    if number is None:
        raise Refusal(400, f"The header {header} has to be a whole number.")
    return number


def _metadata(header: str) -> dict[str, str]:
    """Return what `Upload-Metadata` says: `key base64,key base64`. Raises Refusal 400."""
    pairs = [pair.strip().partition(" ") for pair in header.split(",") if pair.strip()]
    if len(header) > MAX_METADATA:
        raise Refusal(400, f"Upload-Metadata has {MAX_METADATA} characters at most.")
    try:
        return {key: base64.b64decode(value, validate=True).decode() for key, _sep, value in pairs}
    except (binascii.Error, ValueError):
        message = "Upload-Metadata has to be pairs of a key and a value in base64 (UTF-8)."
        raise Refusal(400, message) from None


def _checksum(request: HttpRequest) -> PartChecksum | None:
    header = request.headers.get("Upload-Checksum", "")
    try:
        return PartChecksum.parse(header) if header else None
    except ValueError:
        algorithms = " or ".join(upload_sessions.CHECKSUM_ALGORITHMS)
        raise Refusal(400, f"Upload-Checksum has to be {algorithms} and base64.") from None


def _blocks(request: HttpRequest) -> Iterator[bytes]:
    """Yield the body as it comes. It ends where the connection breaks off: what came is kept."""
    try:
        while block := request.read(_BLOCK):
            yield block
    except UnreadablePostError:
        return


def _refusal_of(error: Refusal | UploadError | QuotaExceeded) -> Refusal:
    """Return the answer to what went wrong."""
    match error:
        case Refusal():
            return error
        case upload_sessions.OffsetConflict(received=received):
            message = f"{received} bytes have been received. Continue there."
            return Refusal(409, message, Upload_Offset=str(received))
        case QuotaExceeded(retry_after=seconds):
            # 507 and not 429: clients of tus try 5xx again, and give up at 4xx.
            headers = {"Retry_After": str(seconds)} if seconds else {}
            return Refusal(507, str(error), **headers)
    return Refusal(*_ANSWERS[type(error)])


_ANSWERS: dict[type[Exception], tuple[int, str]] = {
    upload_sessions.UploadNotFound: (410, "The upload has expired or was ended. Start it again."),
    upload_sessions.UploadIncomplete: (409, "Not all bytes of the file have been received."),
    upload_sessions.PartTooLong: (413, "There are more bytes than the upload has room for."),
    upload_sessions.PartChecksumMismatch: (WRONG_CHECKSUM, "The bytes do not have that checksum."),
    upload_sessions.DigestMismatch: (
        422,
        "It is not the file that was declared; that one has another SHA-256.",
    ),
}


def _as_refusal(problem: Problem) -> Refusal:
    headers = {name.replace("-", "_"): value for name, value in problem.headers.items()}
    return Refusal(problem.status, problem.detail, **headers)
