"""Implements the deprecated method PUT for a file of an open packet, or for a part of the file.

It uses the same uploads as tus 1.0 (`api.uploads.resumable`), and answers for one more release.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Annotated, Any

from django.conf import settings
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router, Status
from pydantic import Field

from api import batches
from api.http import problems, request_bodies
from api.http.auth import ApiRequest, Bearer
from api.http.problems import Problem
from api.schemas import FileOut, make_responses
from api.uploads.open_packets import describe_file, get_open_packet, make_not_open_problem
from ingestion.intake import open_packets, upload_sessions
from ingestion.intake.open_packets import DeclaredFile
from ingestion.intake.quotas import MAX_PART_BYTES
from ingestion.models import OpenPacket, Upload
from sites.models import TokenScope

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


@router.put(
    "/{packet_id}/documents/{number}",
    # Generated clients use this name. The default would contain the name of this module.
    operation_id="api_open_packets_put_file",
    response=make_responses(FileOut, 200, 201, 202, errors=(400, 404, 409, 411, 413, 507)),
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
    """Receive a file, or a part of it. Use a resumable upload (tus 1.0) at `/uploads` instead.

    This method is deprecated. The status is 201 for a new file, and 200 for a file that was
    received before. A file that differs from its declaration is not stored. With `Content-Range`,
    the body is a part of the file of at most 8 MiB, and the status is 202 until the last part. A
    part that does not begin where the previous one ended is refused (409). `Upload-Offset` then has
    the offset at which to continue.
    """
    packet = get_open_packet(request, packet_id)
    if number >= len(packet.files):
        raise problems.make_not_found_problem("file")
    declared = open_packets.list_declared_files(packet)[number]
    is_part = bool(request.headers.get("Content-Range"))
    status, upload = _receive(request, packet, number, is_part=is_part)
    if is_part:
        response["Upload-Offset"] = str(upload.offset)
    digest = base64.b64encode(bytes.fromhex(declared.sha256)).decode()
    response["ETag"], response["Repr-Digest"] = f'"{declared.sha256}"', f"sha-256=:{digest}:"
    response["Deprecation"] = PUT_DEPRECATION
    uploads = open_packets.get_uploads_by_number(packet)
    return Status(status, describe_file(request, packet, number, uploads))


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
        raise make_not_open_problem(request, str(packet.pk)) from None
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
    length = request_bodies.check_content_length(request, max_megabytes=settings.MAX_DOCUMENT_MB)
    if length != last - first + 1:
        raise Problem(400, "Content-Length and Content-Range contradict each other.")
    if upload.offset == upload.length:  # The server stopped before it joined the parts.
        return upload_sessions.finish_upload(upload)
    return upload_sessions.append_part(upload, first, _read_blocks(request))


def _check_headers(request: HttpRequest, declared: DeclaredFile) -> None:
    """Raise Problem 422 if the headers show that the body is not the declared file.

    Content-Digest is defined in RFC 9530. Digests with other algorithms than SHA-256 are ignored.
    """
    length = request_bodies.check_content_length(request, max_megabytes=settings.MAX_DOCUMENT_MB)
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
