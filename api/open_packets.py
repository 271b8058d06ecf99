"""Packets that a program opens, fills file by file, and submits: `/packets/{id}`.

The files are sent as resumable uploads (`api.tus`). The method `PUT` for a whole file or a part of
one is deprecated. It uses the same uploads, and answers for one more release.
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
    responses,
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
BLOCK_BYTES = 1 << 16
PUT_DEPRECATION = "@1795478400"  # RFC 9745: since 24 November 2026
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})").fullmatch
_CONTENT_DIGEST = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):").search
_BINARY = {"schema": {"type": "string", "format": "binary"}}
FILE_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": _BINARY}}
}


# Before the next operation, because its path would match this one too.
@router.post(
    "/{packet_id}:submit",
    response=responses(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Submit an open packet after all its files have been received",
    openapi_extra={"parameters": [waiting.OPENAPI_PARAMETER]},
)
def submit_open_packet(
    request: ApiRequest, response: HttpResponse, packet_id: Path[batches.Reference]
) -> Any:
    """A repeated request returns the same batch."""
    batch = find_submitted_batch(request.auth, packet_id) or _submit(request, packet_id)
    return batches.accepted_response(request, response, batch)


@router.get(
    "/{packet_id}",
    response=responses(OpenPacketOut, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Get an open packet: which files have been received",
)
def open_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> OpenPacketOut:
    return _describe_packet(request, _find_packet(request, packet_id))


@router.put(
    "/{packet_id}/documents/{number}",
    response=responses(FileOut, 200, 201, 202, errors=(400, 404, 409, 411, 413, 507)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Upload one file of an open packet, or a part of it",
    deprecated=True,
    openapi_extra=FILE_BODY,
)
def put_file(
    request: ApiRequest,
    response: HttpResponse,
    packet_id: Path[batches.Reference],
    number: Path[Number],
) -> Any:
    """Deprecated: use a resumable upload (tus 1.0) at `/uploads` instead.

    201 for a new file, 200 for a file that was received before. A file that differs from its
    declaration is not stored. With `Content-Range`, the body is a part of the file of at most
    8 MiB, and the status is 202 until the last part. A part that does not begin where the previous
    one ended is refused (409). `Upload-Offset` then has the offset at which to continue.
    """
    packet = _find_packet(request, packet_id)
    if number >= len(packet.files):
        raise problems.not_found("file")
    declared = open_packets.list_declared_files(packet)[number]
    is_part = bool(request.headers.get("Content-Range"))
    status, upload = _receive(request, packet, number, is_part=is_part)
    if is_part:
        response["Upload-Offset"] = str(upload.offset)
    digest = base64.b64encode(bytes.fromhex(declared.sha256)).decode()
    response["ETag"], response["Repr-Digest"] = f'"{declared.sha256}"', f"sha-256=:{digest}:"
    response["Deprecation"] = PUT_DEPRECATION
    uploads = open_packets.get_uploads_by_number(packet)
    return Status(status, _describe_file(request, packet, number, uploads))


@router.delete(
    "/{packet_id}",
    response=responses(None, 204, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Delete an open packet and the files received for it",
)
def drop_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> Any:
    """Nothing of it was registered. It no longer counts towards the quota of open packets."""
    open_packets.discard_packet(_find_packet(request, packet_id))
    return Status(204, None)


def open_declared_packet(
    request: ApiRequest, response: HttpResponse, declared: OpenIn, key: str
) -> Any:
    """Open a packet, or return the one that was opened with the same key before.

    Raises SubmissionRefused, Problem 409 if that packet was submitted, and QuotaExceeded.
    """
    site = files.find_site(request.auth, declared.site_id)
    declared_files = [DeclaredFile(**file.model_dump()) for file in declared.files]
    _check_declared(declared_files)
    packet = open_packets.open_packet(
        owner=request.auth.owner,
        key=key,
        site=site,
        priority=declared.priority,
        files=declared_files,
    )
    if batch := find_submitted_batch(request.auth, str(packet.pk)):
        open_packets.discard_packet(packet)
        raise _already_submitted(request, batch)
    response["Location"] = _url(request, "open_packet", packet.pk)
    return Status(201, _describe_packet(request, packet))


def find_submitted_batch(token: ApiToken, packet_id: str) -> Batch | None:
    """Return the token owner's batch that was made of a packet, or None if there is none.

    `packet_id` may also be the reference of the batch itself.
    """
    own = Batch.objects.filter(submitted_as=token.owner)
    key = keys.key_of_owner(token, _batch_key(packet_id))
    return own.filter(Q(reference=packet_id) | Q(idempotency_key=key)).first()


def _batch_key(packet_id: str) -> str:
    """Return the idempotency key of the batch, by which it is found after the packet is deleted."""
    return f"packet:{packet_id}"


def _submit(request: ApiRequest, packet_id: str) -> Batch:
    """Register the packet. Raises Problem 404, or 409 with the missing files."""
    try:
        packet = _find_packet(request, packet_id)
    except Problem:
        # Another request may have submitted the packet at the same moment.
        if batch := find_submitted_batch(request.auth, packet_id):
            return batch
        raise
    submission = keys.make_submission(
        request.auth, BatchSource.UPLOAD, priority=packet.priority, key=_batch_key(packet_id)
    )
    try:
        return open_packets.submit_packet(packet, submission=submission).batch
    except (open_packets.MissingFiles, FileNotFoundError) as error:
        # Two requests that submit at the same moment get the same batch.
        if batch := find_submitted_batch(request.auth, packet_id):
            return batch
        missing = getattr(error, "numbers", list(range(len(packet.files))))
    errors = [
        {"line": number + 1, "field": "files", "message": "has not been received"}
        for number in missing
    ]
    detail = f"Files that have not been received yet: {len(missing)}."
    raise Problem(409, detail, errors=errors)


def _find_packet(request: ApiRequest, packet_id: str) -> OpenPacket:
    """Return an open packet of the token's owner. Raises Problem 404 or 409."""
    try:
        return open_packets.find_open_packet(UUID(packet_id), owner=request.auth.owner)
    except (open_packets.OpenPacketNotFound, ValueError):
        raise _not_open(request, packet_id) from None


def _not_open(request: ApiRequest, packet_id: str) -> Problem:
    """Return problem 409 for a submitted packet, else 404."""
    if batch := find_submitted_batch(request.auth, packet_id):
        return _already_submitted(request, batch)
    detail = (
        "There is no such open packet. If it has expired, or was opened before this server was "
        "upgraded, open it again with the same key and upload its files."
    )
    return Problem(404, detail)


def _already_submitted(request: HttpRequest, batch: Batch) -> Problem:
    detail = f"The packet was submitted as {batch.reference}."
    return Problem(409, detail, headers={"Location": batches.batch_url(request, batch)})


def _check_declared(declared: list[DeclaredFile]) -> None:
    """Raise SubmissionRefused with all faults that are known before a file is uploaded."""
    faults = []
    if len(declared) > settings.MAX_UPLOAD_FILES:
        faults.append(SubmissionFault(0, "files", f"are more than {settings.MAX_UPLOAD_FILES}"))
    for line_number, file in enumerate(declared, start=1):
        if PurePath(file.filename).suffix.lower() not in SUFFIXES:
            message = "does not have the extension of a PDF or a scan"
            faults.append(SubmissionFault(line_number, "filename", message))
        if file.size > settings.MAX_DOCUMENT_MB * request_bodies.BYTES_PER_MEGABYTE:
            message = f"is over {settings.MAX_DOCUMENT_MB} MB"
            faults.append(SubmissionFault(line_number, "size", message))
    if faults:
        raise SubmissionRefused(faults)
    empty = File(io.BytesIO())
    validate_files(
        [UploadedDocument(file.filename, file.document_type, file.person, empty)
         for file in declared]
    )  # fmt: skip


def _receive(
    request: ApiRequest, packet: OpenPacket, number: int, *, is_part: bool
) -> tuple[int, Upload]:
    """Store the request's bytes. Return the status of the response, and the upload.

    Raises Problem 400, 404, 409, 413 or 422.
    """
    if not is_part:
        _check_headers(request, open_packets.list_declared_files(packet)[number])
    try:
        upload = open_packets.get_or_begin_upload(packet, number)
        if upload.is_complete:
            return 200, upload
        if is_part:
            upload = _receive_part(request, upload)
        else:
            upload = upload_sessions.receive_whole_file(upload, _read_blocks(request))
    except upload_sessions.DigestMismatch:
        raise _not_as_declared("SHA-256") from None
    except upload_sessions.OffsetConflict as error:
        raise _wrong_offset(error.received) from None
    except IntegrityError:  # Another request began the same upload at the same moment.
        raise _wrong_offset(0) from None
    except upload_sessions.UploadNotFound:  # The packet was submitted or deleted meanwhile.
        raise _not_open(request, str(packet.pk)) from None
    return 201 if upload.is_complete else 202, upload


def _receive_part(request: ApiRequest, upload: Upload) -> Upload:
    found = _CONTENT_RANGE(request.headers["Content-Range"])
    if found is None:
        raise Problem(400, "The header Content-Range has the form bytes FIRST-LAST/SIZE.")
    first, last, size = (int(number) for number in found.groups())
    if size != upload.length or not first <= last < upload.length:
        raise _not_as_declared(f"size: {upload.length} bytes")
    if last - first + 1 > MAX_PART_BYTES:
        raise Problem(413, f"A part can have at most {MAX_PART_BYTES} bytes.")
    length = request_bodies.check_length(request, max_megabytes=settings.MAX_DOCUMENT_MB)
    if length != last - first + 1:
        raise Problem(400, "Content-Length and Content-Range contradict each other.")
    if upload.offset == upload.length:  # The server stopped before it joined the parts.
        return upload_sessions.finish_upload(upload)
    return upload_sessions.append_part(upload, first, _read_blocks(request))


def _check_headers(request: HttpRequest, declared: DeclaredFile) -> None:
    """Raise Problem 422 if the headers show that the body is not the declared file.

    Content-Digest is defined in RFC 9530. Digests with other algorithms than SHA-256 are ignored.
    """
    length = request_bodies.check_length(request, max_megabytes=settings.MAX_DOCUMENT_MB)
    if length != declared.size:
        raise _not_as_declared(f"size: {declared.size} bytes")
    header = request.headers.get("Content-Digest", "")
    found = _CONTENT_DIGEST(header)
    if found is None:
        if "sha-256" in header:
            raise Problem(400, "The header Content-Digest has the form sha-256=:<base64>:.")
        return
    try:
        digest = base64.b64decode(found[1], validate=True)
    except binascii.Error:
        raise Problem(400, "The digest in Content-Digest is not valid base64.") from None
    if digest.hex() != declared.sha256:
        raise _not_as_declared("SHA-256")


def _not_as_declared(difference: str) -> Problem:
    detail = f"This is not the declared file. The declared file has another {difference}."
    return Problem(422, detail)


def _wrong_offset(received: int) -> Problem:
    detail = f"{received} bytes have been received. Send the part that begins there."
    return Problem(409, detail, headers={"Upload-Offset": str(received)})


def _read_blocks(request: HttpRequest) -> Iterator[bytes]:
    while block := request.read(BLOCK_BYTES):
        yield block


def _url(request: HttpRequest, view: str, *args: Any) -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=args))


def _describe_file(
    request: HttpRequest, packet: OpenPacket, number: int, uploads: dict[int, Upload]
) -> FileOut:
    declared, upload = open_packets.list_declared_files(packet)[number], uploads.get(number)
    return FileOut(
        number=number,
        filename=declared.filename,
        sha256=declared.sha256,
        received=bool(upload and upload.is_complete),
        received_bytes=upload.offset if upload else 0,
        url=_url(request, "put_file", packet.pk, number),
    )


def _describe_packet(request: HttpRequest, packet: OpenPacket) -> OpenPacketOut:
    uploads = open_packets.get_uploads_by_number(packet)
    return OpenPacketOut(
        id=str(packet.pk),
        site_id=packet.site.site_id,
        priority=packet.priority,
        files=[
            _describe_file(request, packet, number, uploads) for number in range(len(packet.files))
        ],
        url=_url(request, "open_packet", packet.pk),
        uploads_url=request.build_absolute_uri(reverse("api_uploads")),
        submit_url=_url(request, "submit_open_packet", packet.pk),
    )
