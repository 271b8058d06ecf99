"""Submitting: `POST /packets`. A manifest, or files at once, or files that come one by one."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from ninja import Router

from api import (
    batches,
    files,
    keys,
    open_packets,
    request_bodies,
    visibility,
    waiting,
)
from api.auth import ApiRequest, Bearer
from api.problems import Problem
from api.schemas import (
    BatchOut,
    FilesIn,
    OpenIn,
    OpenPacketOut,
    PacketIn,
    answers,
)
from ingestion.intake import manifest
from ingestion.intake.registration import register_files, register_manifest
from ingestion.models import Batch, BatchSource
from sites.models import TokenScope

router = Router()
JSON, MULTIPART = "application/json", "multipart/form-data"
_NAMED = {  # a file is known by its name, so every part has to have one
    "schema": {"type": "string"},
    "example": 'form-data; name="files"; filename="IRB.pdf"',
}
_PARTS: dict[str, Any] = {
    "type": "object",
    "required": ["packet", "files"],
    "properties": {
        "packet": request_bodies.described(FilesIn),
        "files": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary"},
        },
    },
}
DESCRIBED: dict[str, Any] = {
    "parameters": [keys.DESCRIBED, waiting.DESCRIBED],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "oneOf": [request_bodies.described(PacketIn), request_bodies.described(OpenIn)]
                }
            },
            MULTIPART: {
                "schema": _PARTS,
                "encoding": {
                    "packet": {"contentType": JSON},
                    "files": {"headers": {"Content-Disposition": _NAMED}},
                },
            },
        },
    },
}


@router.post(
    "",
    response=answers(BatchOut, 200, 202, errors=(400, 409, 411, 413, 415)) | {201: OpenPacketOut},
    auth=Bearer(TokenScope.SUBMIT),
    summary="Submit a packet",
    openapi_extra=DESCRIBED,
)
def submit(request: ApiRequest, response: HttpResponse) -> Any:
    """202 with the batch to watch; 200 when it was final within `Prefer: wait=N`.

    With `files` instead of `documents` the packet is opened only (201): its files come one by one.
    """
    key = keys.sent_key(request)
    match request.content_type:
        case "application/json":
            return _of_json(request, response, key)
        case "multipart/form-data":
            return batches.accepted(request, response, _of_files(request, key))
    detail = f"Send {JSON} (a manifest) or {MULTIPART} (files)."
    raise Problem(415, detail, headers={"Accept": f"{JSON}, {MULTIPART}"})


def _of_json(request: ApiRequest, response: HttpResponse, key: str) -> Any:
    body = request_bodies.sent_json(request)
    if isinstance(body, dict) and "files" in body:
        return open_packets.opened(request, response, request_bodies.shaped(OpenIn, body), key)
    return batches.accepted(request, response, _of_lines(request, body, key))


def _of_lines(request: ApiRequest, body: Any, key: str) -> Batch:
    documents = body.pop("documents", None) if isinstance(body, dict) else None
    if not isinstance(documents, list):
        raise Problem(422, "The body has to be an object with a list of `documents`.")
    # The lines go to the reader of manifests as they are: it names all their faults at once.
    envelope = request_bodies.shaped(PacketIn, {**body, "documents": [_A_LINE]})
    lines = manifest.read_manifest(
        orjson.dumps(documents).decode(), sites=visibility.sites(request.auth)
    )
    submission = keys.submission(
        request.auth, BatchSource.MANIFEST, priority=envelope.priority, key=key
    )
    return register_manifest(lines, submission)


_A_LINE = {"site_id": "-", "doc_id": "-", "url": "-", "schema_version": "-"}


def _of_files(request: ApiRequest, key: str) -> Batch:
    request_bodies.length(
        request, megabytes=settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1
    )
    packet = request_bodies.shaped(FilesIn, request_bodies.parsed(files.described(request)))
    site = files.site_of(request.auth, packet.site_id)
    submission = keys.submission(
        request.auth, BatchSource.UPLOAD, priority=packet.priority, key=key
    )
    return register_files(site, files.named(request, packet, site), submission).batch
