"""Serves `POST /packets`, which accepts a manifest, files, or a list of files to upload later."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from ninja import Router

from api import batches
from api.http import keys, request_bodies, visibility, waiting
from api.http.auth import ApiRequest, Bearer
from api.http.problems import Problem
from api.schemas import (
    FILES_SCHEMAS,
    OPEN_SCHEMAS,
    BatchOut,
    FilesIn,
    FilesInV20,
    OpenIn,
    OpenInV20,
    OpenPacketOut,
    PacketIn,
    make_responses,
)
from api.uploads import multipart, open_packets
from ingestion.intake import manifest
from ingestion.intake.registration import register_files, register_manifest
from ingestion.models import BatchSource
from sites.models import TokenScope

router = Router()
JSON, MULTIPART = "application/json", "multipart/form-data"
_CONTENT_DISPOSITION = {  # Each part needs a filename, because a file is identified by its name.
    "schema": {"type": "string"},
    "example": 'form-data; name="files"; filename="IRB.pdf"',
}
_MULTIPART_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["packet", "files"],
    "properties": {
        "packet": {
            "oneOf": [request_bodies.add_schema(FilesIn), request_bodies.add_schema(FilesInV20)]
        },
        "files": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary"},
        },
    },
}
SUBMISSION_BODY: dict[str, Any] = {
    "parameters": [keys.OPENAPI_PARAMETER, waiting.OPENAPI_PARAMETER],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "oneOf": [
                        request_bodies.add_schema(PacketIn),
                        request_bodies.add_schema(OpenIn),
                        request_bodies.add_schema(OpenInV20),
                    ]
                }
            },
            MULTIPART: {
                "schema": _MULTIPART_SCHEMA,
                "encoding": {
                    "packet": {"contentType": JSON},
                    "files": {"headers": {"Content-Disposition": _CONTENT_DISPOSITION}},
                },
            },
        },
    },
}
# Takes the place of the lines of a manifest while the rest of the body is validated.
_PLACEHOLDER_LINE = {"site_id": "-", "doc_id": "-", "url": "-", "schema_version": "v2.0"}


@router.post(
    "",
    response=make_responses(BatchOut, 200, 202, errors=(400, 409, 411, 413, 415))
    | {201: OpenPacketOut},
    auth=Bearer(TokenScope.SUBMIT),
    summary="Submit a packet",
    openapi_extra=SUBMISSION_BODY,
)
def submit(request: ApiRequest, response: HttpResponse) -> Any:
    """Return 202 with the batch, or 200 if it is final within `Prefer: wait=N`.

    With `files` instead of `documents`, the request only opens a packet (201). Upload its files one
    by one, then submit it.
    """
    key = keys.read_key(request)
    match request.content_type:
        case "application/json":
            body = request_bodies.read_json(request)
            if isinstance(body, dict) and "files" in body:
                declared = request_bodies.validate_version(OPEN_SCHEMAS, body)
                return open_packets.open_declared_packet(request, response, declared, key)
            return _submit_manifest(request, response, body, key)
        case "multipart/form-data":
            return _submit_files(request, response, key)
    detail = f"Send {JSON} (a manifest) or {MULTIPART} (files)."
    raise Problem(415, detail, headers={"Accept": f"{JSON}, {MULTIPART}"})


def _submit_manifest(request: ApiRequest, response: HttpResponse, body: Any, key: str) -> Any:
    documents = body.pop("documents", None) if isinstance(body, dict) else None
    if not isinstance(documents, list):
        raise Problem(422, "The body has to be an object with a list of `documents`.")
    # The manifest reader gets the lines unchanged, because it reports all faults at once.
    packet = request_bodies.validate(PacketIn, {**body, "documents": [_PLACEHOLDER_LINE]})
    lines = manifest.read_manifest(
        orjson.dumps(documents).decode(), sites=visibility.list_visible_sites(request.auth)
    )
    submission = keys.make_submission(
        request.auth, BatchSource.MANIFEST, priority=packet.priority, key=key
    )
    return batches.make_accepted_response(request, response, register_manifest(lines, submission))


def _submit_files(request: ApiRequest, response: HttpResponse, key: str) -> Any:
    # One megabyte more, for the part `packet` and the boundaries.
    max_megabytes = settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1
    request_bodies.check_content_length(request, max_megabytes=max_megabytes)
    described = request_bodies.parse_json(multipart.read_packet_part(request))
    packet = request_bodies.validate_version(FILES_SCHEMAS, described)
    site = multipart.find_site(request.auth, packet.site_id)
    submission = keys.make_submission(
        request.auth, BatchSource.UPLOAD, priority=packet.priority, key=key
    )
    registered = register_files(site, multipart.match_files(request, packet, site), submission)
    return batches.make_accepted_response(request, response, registered.batch)
