"""Serves `/packets/{id}`: packets that a program opens, fills file by file, and submits.

The files are sent as resumable uploads (`api.uploads.resumable`), or by the deprecated method PUT
(`api.uploads.deprecated_put`).
"""

import io
from dataclasses import asdict
from pathlib import PurePath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.base import File
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Router, Status

from api import batches
from api.http import keys, request_bodies, waiting
from api.http.auth import ApiRequest, Bearer
from api.http.problems import Problem
from api.schemas import (
    BatchOut,
    FileOut,
    OpenIn,
    OpenInV20,
    OpenPacketOut,
    make_responses,
)
from api.uploads import multipart
from ingestion.intake import open_packets
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.open_packets import DeclaredFile
from ingestion.intake.registration import validate_files
from ingestion.models import Batch, BatchSource, OpenPacket, Upload
from ingestion.reading.results import SUFFIXES
from sites.models import ApiToken, TokenScope

# Generated clients use the `operation_id` of each operation. The default would contain the name of
# this module.
router = Router()


# Before the next operation, because its path would match this one too.
@router.post(
    "/{packet_id}:submit",
    operation_id="api_open_packets_submit_open_packet",
    response=make_responses(BatchOut, 200, 202, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Submit an open packet after all its files have been received",
    openapi_extra={"parameters": [waiting.OPENAPI_PARAMETER]},
)
def submit_open_packet(
    request: ApiRequest, response: HttpResponse, packet_id: Path[batches.Reference]
) -> Any:
    """Submit an open packet. A repeated request returns the same batch."""
    batch = find_submitted_batch(request.auth, packet_id) or _submit(request, packet_id)
    return batches.make_accepted_response(request, response, batch)


@router.get(
    "/{packet_id}",
    operation_id="api_open_packets_open_packet",
    response=make_responses(OpenPacketOut, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Get an open packet: which files have been received",
)
def open_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> OpenPacketOut:
    """Return an open packet, and how much of each file has been received."""
    return _describe_packet(request, get_open_packet(request, packet_id))


@router.delete(
    "/{packet_id}",
    operation_id="api_open_packets_drop_packet",
    response=make_responses(None, 204, errors=(404, 409)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Delete an open packet and the files received for it",
)
def drop_packet(request: ApiRequest, packet_id: Path[batches.Reference]) -> Any:
    """Discard an open packet with its files. Nothing of it was registered.

    It no longer counts towards the quota of open packets.
    """
    open_packets.discard_packet(get_open_packet(request, packet_id))
    return Status(204, None)


def open_declared_packet(
    request: ApiRequest, response: HttpResponse, declared: OpenIn | OpenInV20, key: str
) -> Any:
    """Open a packet, or return the one that was opened with the same key before.

    Raises SubmissionRefused, Problem 409 if that packet was submitted, and QuotaExceeded.
    """
    site = multipart.find_site(request.auth, declared.site_id)
    declared_files = [
        DeclaredFile(
            filename=file.filename,
            document_type=file.document_type,
            person=file.person_name,
            sha256=file.sha256,
            size=file.size,
            schema_version="" if isinstance(declared, OpenIn) else declared.schema_version,
            **asdict(file.details),
        )
        for file in declared.files
    ]
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
    key = keys.qualify_key(token, _batch_key(packet_id))
    return own.filter(Q(reference=packet_id) | Q(idempotency_key=key)).first()


def _batch_key(packet_id: str) -> str:
    """Return the idempotency key of the batch, by which it is found after the packet is deleted."""
    return f"packet:{packet_id}"


def _submit(request: ApiRequest, packet_id: str) -> Batch:
    """Register the packet. Raises Problem 404, or 409 with the missing files."""
    try:
        packet = get_open_packet(request, packet_id)
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


def get_open_packet(request: ApiRequest, packet_id: str) -> OpenPacket:
    """Return an open packet of the token's owner. Raises Problem 404 or 409."""
    try:
        return open_packets.find_open_packet(UUID(packet_id), owner=request.auth.owner)
    except (open_packets.OpenPacketNotFound, ValueError):
        raise make_not_open_problem(request, packet_id) from None


def make_not_open_problem(request: ApiRequest, packet_id: str) -> Problem:
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
    return Problem(409, detail, headers={"Location": batches.make_batch_url(request, batch)})


def _check_declared(declared: list[DeclaredFile]) -> None:
    """Raise SubmissionRefused with all faults that are known before a file is uploaded."""
    faults = []
    if len(declared) > settings.MAX_UPLOAD_FILES:
        faults.append(SubmissionFault(0, "files", f"are more than {settings.MAX_UPLOAD_FILES}"))
    for line_number, file in enumerate(declared, start=1):
        if PurePath(file.filename).suffix.lower() not in SUFFIXES:
            message = "does not have the file name extension of a supported type"
            faults.append(SubmissionFault(line_number, "filename", message))
        if file.size > settings.MAX_DOCUMENT_MB * request_bodies.BYTES_PER_MEGABYTE:
            message = f"is over {settings.MAX_DOCUMENT_MB} MB"
            faults.append(SubmissionFault(line_number, "size", message))
    if faults:
        raise SubmissionRefused(faults)
    empty = File(io.BytesIO())
    validate_files([file.as_upload(empty) for file in declared])


def _url(request: HttpRequest, view: str, *args: Any) -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=args))


def describe_file(
    request: HttpRequest, packet: OpenPacket, number: int, uploads: dict[int, Upload]
) -> FileOut:
    """Return the declared file with this number, and how much of it was received.

    Numbers count from 0, in the order of the declaration.
    """
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
            describe_file(request, packet, number, uploads) for number in range(len(packet.files))
        ],
        url=_url(request, "open_packet", packet.pk),
        uploads_url=request.build_absolute_uri(reverse("api_uploads")),
        submit_url=_url(request, "submit_open_packet", packet.pk),
    )
