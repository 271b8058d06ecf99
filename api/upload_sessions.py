"""A packet whose files are put one by one: `/packets/{id}`. Over a bad line each is tried again."""

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
from ingestion.intake import upload_sessions
from ingestion.intake.quotas import MAX_PART_BYTES
from ingestion.intake.registration import (
    Fault,
    Refused,
    UploadedDocument,
    refuse_faulty,
)
from ingestion.intake.upload_sessions import Expected, Gathered
from ingestion.models import Batch, Source
from ingestion.reading.results import SUFFIXES
from sites.models import ApiToken, Scope

router = Router()
Number = Annotated[int, Field(ge=0, le=10_000)]
_BLOCK = 1 << 16  # bytes
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})").fullmatch
_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):").search
_BYTES = {"schema": {"type": "string", "format": "binary"}}
DESCRIBED: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}
}


# Before the next one: its address is one of that kind too.
@router.post(
    "/{packet_id}:submit",
    response=answers(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(Scope.SUBMIT),
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
    auth=Bearer(Scope.SUBMIT),
    summary="An open packet: what has come, and what has not",
)
def open_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> OpenPacketOut:
    return _out(request, _of(request, packet_id))


@router.put(
    "/{packet_id}/documents/{number}",
    response=answers(FileOut, 200, 201, 202, errors=(400, 404, 409, 411, 413, 507)),
    auth=Bearer(Scope.SUBMIT),
    summary="Put one file of an open packet, or a part of it",
    openapi_extra=DESCRIBED,
)
def put_file(
    request: ApiRequest,
    response: HttpResponse,
    packet_id: Path[batches.Reference],
    number: Path[Number],
) -> Any:
    """201 for a new file, 200 for one that has come already. What is not as declared is dropped.

    With `Content-Range` the body is a part of the file, of 8 MiB at most: 202 until the last one.
    A part that does not begin where the ones before it end is refused (409); `Upload-Offset` says
    where to go on.
    """
    packet = _of(request, packet_id)
    if number >= len(packet.files):
        raise problems.not_found("file")
    expected = packet.files[number]
    try:
        if request.headers.get("Content-Range"):
            status = _put_part(request, packet, number)
            response["Upload-Offset"] = str(packet.received(number))
        else:
            _refuse_other(request, expected)
            status = 201 if upload_sessions.receive(packet, number, _blocks(request)) else 200
    except upload_sessions.NotAsDeclared:
        raise _not_as_declared("SHA-256") from None
    except FileNotFoundError:  # somebody submitted it while this one was on its way
        raise _gone(request, packet_id) from None
    digest = base64.b64encode(bytes.fromhex(expected.sha256)).decode()
    response["ETag"], response["Repr-Digest"] = f'"{expected.sha256}"', f"sha-256=:{digest}:"
    return Status(status, _file(request, packet, number))


@router.delete(
    "/{packet_id}",
    response=answers(None, 204, errors=(404, 409)),
    auth=Bearer(Scope.SUBMIT),
    summary="Drop an open packet and what has come of it",
)
def drop_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> Any:
    """Nothing of it was registered. It no longer counts towards the quota of open packets."""
    upload_sessions.forget(_of(request, packet_id))
    return Status(204, None)


def _put_part(request: ApiRequest, packet: Gathered, number: int) -> int:
    """Keep a part of a file. Return the status of the answer."""
    size = packet.files[number].size
    found = _CONTENT_RANGE(request.headers["Content-Range"])
    if found is None:
        raise Problem(400, "Content-Range is written as bytes FIRST-LAST/SIZE.")
    first, last, whole = (int(each) for each in found.groups())
    if whole != size or not first <= last < size:
        raise _not_as_declared(f"size: {size} bytes")
    if last - first + 1 > MAX_PART_BYTES:
        raise Problem(413, f"A part has {MAX_PART_BYTES} bytes at most.")
    if request_bodies.length(request, megabytes=settings.MAX_DOCUMENT_MB) != last - first + 1:
        raise Problem(400, "Content-Length and Content-Range do not agree.")
    try:
        received = upload_sessions.receive_part(packet, number, first, _blocks(request))
    except upload_sessions.WrongOffset as error:
        if packet.has(number):
            return 200
        offset = {"Upload-Offset": str(error.received)}
        detail = f"{error.received} bytes have been received. Send the part that begins there."
        raise Problem(409, detail, headers=offset) from None
    return 201 if received == size else 202


def opened(request: ApiRequest, response: HttpResponse, asked: OpenIn, key: str) -> Any:
    site = files.site_of(request.auth, asked.site_id)
    expected = [Expected(**each.model_dump()) for each in asked.files]
    _refuse_unacceptable(expected)
    packet = upload_sessions.open_packet(
        owner=request.auth.owner,
        key=key,
        site_id=site.site_id,
        priority=asked.priority,
        files=expected,
    )
    if batch := _submitted(request.auth, str(packet.packet_id)):
        upload_sessions.forget(packet)
        raise _closed(request, batch)
    response["Location"] = _address(request, "open_packet", packet.packet_id)
    return Status(201, _out(request, packet))


def _submit(request: ApiRequest, packet_id: str) -> Batch:
    try:
        packet = _of(request, packet_id)
    except Problem:
        if batch := _submitted(request.auth, packet_id):  # by somebody else, this very moment
            return batch
        raise
    submission = keys.submission(
        request.auth, Source.UPLOAD, priority=packet.priority, key=_key(packet_id)
    )
    site = files.site_of(request.auth, packet.site_id)
    try:
        return upload_sessions.submit(packet, site=site, submission=submission).batch
    except (upload_sessions.Incomplete, FileNotFoundError) as error:
        # Two who submit at once: the first one's batch is everybody's.
        if batch := _submitted(request.auth, packet_id):
            return batch
        missing = getattr(error, "numbers", packet.missing())
    errors = [
        {"line": number + 1, "field": "files", "message": "has not come"} for number in missing
    ]
    raise Problem(409, f"{len(missing)} files have not come yet.", errors=errors)


def _of(request: ApiRequest, packet_id: str) -> Gathered:
    try:
        return upload_sessions.find(UUID(packet_id), owner=request.auth.owner)
    except (upload_sessions.NotOpen, ValueError):
        raise _gone(request, packet_id) from None


def _gone(request: ApiRequest, packet_id: str) -> Problem:
    batch = _submitted(request.auth, packet_id)
    return _closed(request, batch) if batch else problems.not_found("open packet")


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


def _refuse_unacceptable(expected: list[Expected]) -> None:
    """All that can be told before a byte has come."""
    faults = []
    if len(expected) > settings.MAX_UPLOAD_FILES:
        faults.append(Fault(0, "files", f"are more than {settings.MAX_UPLOAD_FILES}"))
    for number, each in enumerate(expected, start=1):
        if PurePath(each.filename).suffix.lower() not in SUFFIXES:
            faults.append(Fault(number, "filename", "is not a PDF or a scan by its name"))
        if each.size > settings.MAX_DOCUMENT_MB * 1_000_000:
            faults.append(Fault(number, "size", f"is over {settings.MAX_DOCUMENT_MB} MB"))
    if faults:
        raise Refused(faults)
    nothing = File(io.BytesIO())
    refuse_faulty(
        [UploadedDocument(e.filename, e.document_type, e.person, nothing) for e in expected]
    )


def _refuse_other(request: HttpRequest, expected: Expected) -> None:
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


def _file(request: HttpRequest, packet: Gathered, number: int) -> FileOut:
    expected = packet.files[number]
    return FileOut(
        number=number,
        filename=expected.filename,
        sha256=expected.sha256,
        received=packet.has(number),
        received_bytes=packet.received(number),
        url=_address(request, "put_file", packet.packet_id, number),
    )


def _out(request: HttpRequest, packet: Gathered) -> OpenPacketOut:
    return OpenPacketOut(
        id=str(packet.packet_id),
        site_id=packet.site_id,
        priority=packet.priority,
        files=[_file(request, packet, number) for number in range(len(packet.files))],
        url=_address(request, "open_packet", packet.packet_id),
        submit_url=_address(request, "submit_open_packet", packet.packet_id),
    )
