"""Packets that are opened, filled file by file and submitted: `/packets/{id}`.

The files come as resumable uploads (`tus`). `PUT` of a file, whole or in parts, is the way of
earlier releases; it is deprecated, and is served by the same uploads for one more release.
"""

import base64
import binascii
import io
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Router, Status
from pydantic import Field

from api import (
    batches,
    files,
    keys,
    problems,
    request_bodies,
    waiting,
)
from api.auth import ApiRequest, Bearer
from api.problems import Problem
from api.schemas import (
    BatchOut,
    FileOut,
    OpenIn,
    OpenPacketOut,
    answers,
)
from ingestion.intake import open_packets, upload_sessions
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.open_packets import DeclaredFile
from ingestion.intake.quotas import MAX_PART_BYTES
from ingestion.intake.registration import UploadedDocument, validate_files
from ingestion.models import Batch, BatchSource, OpenPacket, Upload
from ingestion.reading.results import SUFFIXES
from sites.models import ApiToken, TokenScope

router = Router()
Number = Annotated[int, Field(ge=0, le=10_000)]
_BLOCK = 1 << 16  # bytes
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})").fullmatch
_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):").search
_BYTES = {"schema": {"type": "string", "format": "binary"}}
# With the way out for a packet that was opened before an upgrade or has expired.
_NO_PACKET = (
    "There is no such open packet. If it has expired, or was opened before this server was "
    "upgraded, open it again under the same key and send its files."
)
DEPRECATED = "@1795478400"  # RFC 9745: since 24 November 2026
DESCRIBED: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}
}


# Before the next one: its address is one of that kind too.
@router.post(
    "/{packet_id}:submit",
    response=answers(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Submit an open packet, when all its files have come",
    openapi_extra={"parameters": [waiting.DESCRIBED]},
)
def submit_open_packet(
    request: ApiRequest, response: HttpResponse, packet_id: Path[batches.Reference]
) -> Any:
    """Again and again it is the same batch."""
    batch = _submitted(request.auth, packet_id) or _submit(request, packet_id)
    return batches.accepted(request, response, batch)


@router.get(
    "/{packet_id}",
    response=answers(OpenPacketOut, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="An open packet: what has come, and what has not",
)
def open_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> OpenPacketOut:
    return _out(request, _of(request, packet_id))


@router.put(
    "/{packet_id}/documents/{number}",
    response=answers(FileOut, 200, 201, 202, errors=(400, 404, 409, 411, 413, 507)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Put one file of an open packet, or a part of it",
    deprecated=True,
    openapi_extra=DESCRIBED,
)
def put_file(
    request: ApiRequest,
    response: HttpResponse,
    packet_id: Path[batches.Reference],
    number: Path[Number],
) -> Any:
    """Deprecated: use a resumable upload (tus 1.0) at `/uploads` instead.

    201 for a new file, 200 for one that has come already. What is not as declared is dropped.
    With `Content-Range` the body is a part of the file, of 8 MiB at most: 202 until the last one.
    A part that does not begin where the ones before it end is refused (409); `Upload-Offset` says
    where to go on.
    """
    packet = _of(request, packet_id)
    if number >= len(packet.files):
        raise problems.not_found("file")
    expected = open_packets.list_declared_files(packet)[number]
    status, upload = _receive(request, packet, number)
    if _is_part(request):
        response["Upload-Offset"] = str(upload.offset)
    digest = base64.b64encode(bytes.fromhex(expected.sha256)).decode()
    response["ETag"], response["Repr-Digest"] = f'"{expected.sha256}"', f"sha-256=:{digest}:"
    response["Deprecation"] = DEPRECATED
    return Status(
        status, _file(request, packet, number, open_packets.get_uploads_by_number(packet))
    )


@router.delete(
    "/{packet_id}",
    response=answers(None, 204, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Drop an open packet and what has come of it",
)
def drop_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> Any:
    """Nothing of it was registered. It no longer counts towards the quota of open packets."""
    open_packets.discard_packet(_of(request, packet_id))
    return Status(204, None)


def _receive(request: ApiRequest, packet: OpenPacket, number: int) -> tuple[int, Upload]:
    """Keep what the request brings of a file. Return the status of the answer, and the upload."""
    if not _is_part(request):
        _refuse_other(request, open_packets.list_declared_files(packet)[number])
    try:
        upload = open_packets.get_or_begin_upload(packet, number)
        if upload.is_complete:
            return 200, upload
        upload = (_put_part if _is_part(request) else _put_whole)(request, upload)
    except upload_sessions.DigestMismatch:
        raise _not_as_declared("SHA-256") from None
    except upload_sessions.OffsetConflict as error:
        raise _wrong_offset(error.received) from None
    except IntegrityError:  # another request began the same upload at the same moment
        raise _wrong_offset(0) from None
    except upload_sessions.UploadNotFound:  # submitted or dropped meanwhile
        raise _gone(request, str(packet.pk)) from None
    return 201 if upload.is_complete else 202, upload


def _is_part(request: ApiRequest) -> bool:
    return bool(request.headers.get("Content-Range"))


def _put_whole(request: ApiRequest, upload: Upload) -> Upload:
    return upload_sessions.receive_whole_file(upload, _blocks(request))


def _put_part(request: ApiRequest, upload: Upload) -> Upload:
    found = _CONTENT_RANGE(request.headers["Content-Range"])
    if found is None:
        raise Problem(400, "Content-Range is written as bytes FIRST-LAST/SIZE.")
    first, last, whole = (int(each) for each in found.groups())
    if whole != upload.length or not first <= last < upload.length:
        raise _not_as_declared(f"size: {upload.length} bytes")
    if last - first + 1 > MAX_PART_BYTES:
        raise Problem(413, f"A part has {MAX_PART_BYTES} bytes at most.")
    if request_bodies.length(request, megabytes=settings.MAX_DOCUMENT_MB) != last - first + 1:
        raise Problem(400, "Content-Length and Content-Range do not agree.")
    if upload.offset == upload.length:  # the server died before it joined the parts
        return upload_sessions.finish_upload(upload)
    return upload_sessions.append_part(upload, first, _blocks(request))


def _wrong_offset(received: int) -> Problem:
    detail = f"{received} bytes have been received. Send the part that begins there."
    return Problem(409, detail, headers={"Upload-Offset": str(received)})


def opened(request: ApiRequest, response: HttpResponse, asked: OpenIn, key: str) -> Any:
    site = files.site_of(request.auth, asked.site_id)
    expected = [DeclaredFile(**each.model_dump()) for each in asked.files]
    _refuse_unacceptable(expected)
    packet = open_packets.open_packet(
        owner=request.auth.owner, key=key, site=site, priority=asked.priority, files=expected
    )
    if batch := _submitted(request.auth, str(packet.pk)):
        open_packets.discard_packet(packet)
        raise _closed(request, batch)
    response["Location"] = _address(request, "open_packet", packet.pk)
    return Status(201, _out(request, packet))


def _submit(request: ApiRequest, packet_id: str) -> Batch:
    try:
        packet = _of(request, packet_id)
    except Problem:
        if batch := _submitted(request.auth, packet_id):  # by somebody else, this very moment
            return batch
        raise
    submission = keys.submission(
        request.auth, BatchSource.UPLOAD, priority=packet.priority, key=_key(packet_id)
    )
    try:
        return open_packets.submit_packet(packet, submission=submission).batch
    except (open_packets.MissingFiles, FileNotFoundError) as error:
        # Two requests that submit at once get the same batch.
        if batch := _submitted(request.auth, packet_id):
            return batch
        missing = getattr(error, "numbers", list(range(len(packet.files))))
    errors = [
        {"line": number + 1, "field": "files", "message": "has not come"} for number in missing
    ]
    raise Problem(409, f"{len(missing)} files have not come yet.", errors=errors)


def _of(request: ApiRequest, packet_id: str) -> OpenPacket:
    try:
        return open_packets.find_open_packet(UUID(packet_id), owner=request.auth.owner)
    except (open_packets.OpenPacketNotFound, ValueError):
        raise _gone(request, packet_id) from None


def _gone(request: ApiRequest, packet_id: str) -> Problem:
    batch = _submitted(request.auth, packet_id)
    return _closed(request, batch) if batch else Problem(404, _NO_PACKET)


def _submitted(token: ApiToken, packet_id: str) -> Batch | None:
    """The owner's batch that was made of it; it goes by its reference here as well."""
    own = Batch.objects.filter(submitted_as=token.owner)
    key = keys.of_owner(token, _key(packet_id))
    return own.filter(Q(reference=packet_id) | Q(idempotency_key=key)).first()


def _key(packet_id: str) -> str:
    """Of the batch, so that it is found by its packet's id when the folder is gone."""
    return f"packet:{packet_id}"


def _closed(request: HttpRequest, batch: Batch) -> Problem:
    where = {"Location": batches.address(request, batch)}
    return Problem(409, f"The packet was submitted: it is {batch.reference}.", headers=where)


def _refuse_unacceptable(expected: list[DeclaredFile]) -> None:
    """All that can be told before a byte has come."""
    faults = []
    if len(expected) > settings.MAX_UPLOAD_FILES:
        faults.append(SubmissionFault(0, "files", f"are more than {settings.MAX_UPLOAD_FILES}"))
    for number, each in enumerate(expected, start=1):
        if PurePath(each.filename).suffix.lower() not in SUFFIXES:
            faults.append(SubmissionFault(number, "filename", "is not a PDF or a scan by its name"))
        if each.size > settings.MAX_DOCUMENT_MB * 1_000_000:
            faults.append(SubmissionFault(number, "size", f"is over {settings.MAX_DOCUMENT_MB} MB"))
    if faults:
        raise SubmissionRefused(faults)
    nothing = File(io.BytesIO())
    validate_files(
        [UploadedDocument(e.filename, e.document_type, e.person, nothing) for e in expected]
    )


def _refuse_other(request: HttpRequest, expected: DeclaredFile) -> None:
    """What its headers already say not to be the file that is to come."""
    if request_bodies.length(request, megabytes=settings.MAX_DOCUMENT_MB) != expected.size:
        raise _not_as_declared(f"size: {expected.size} bytes")
    if said := request.headers.get("Content-Digest", ""):
        digest = _sent_digest(said)
        if digest is not None and digest.hex() != expected.sha256:
            raise _not_as_declared("SHA-256")


def _sent_digest(header: str) -> bytes | None:
    """Of RFC 9530. None: there is none of an algorithm that we know, and it is passed over."""
    found = _SHA256(header)
    if found is None:
        if "sha-256" in header:
            raise Problem(400, "Content-Digest is written as sha-256=:<base64>:.")
        return None
    try:
        return base64.b64decode(found[1], validate=True)
    except binascii.Error:
        raise Problem(400, "The digest in Content-Digest is not base64.") from None


def _not_as_declared(what: str) -> Problem:
    return Problem(422, f"It is not the file that was declared; that one has another {what}.")


def _blocks(request: HttpRequest) -> Iterator[bytes]:
    while block := request.read(_BLOCK):
        yield block


def _address(request: HttpRequest, view: str, *where: Any) -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=where))


def _file(
    request: HttpRequest, packet: OpenPacket, number: int, uploads: dict[int, Upload]
) -> FileOut:
    expected, upload = open_packets.list_declared_files(packet)[number], uploads.get(number)
    return FileOut(
        number=number,
        filename=expected.filename,
        sha256=expected.sha256,
        received=bool(upload and upload.is_complete),
        received_bytes=upload.offset if upload else 0,
        url=_address(request, "put_file", packet.pk, number),
    )


def _out(request: HttpRequest, packet: OpenPacket) -> OpenPacketOut:
    uploads = open_packets.get_uploads_by_number(packet)
    return OpenPacketOut(
        id=str(packet.pk),
        site_id=packet.site.site_id,
        priority=packet.priority,
        files=[_file(request, packet, number, uploads) for number in range(len(packet.files))],
        url=_address(request, "open_packet", packet.pk),
        uploads_url=request.build_absolute_uri(reverse("api_uploads")),
        submit_url=_address(request, "submit_open_packet", packet.pk),
    )
