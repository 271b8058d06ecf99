"""Submitting: `POST /packets`. A manifest as JSON, or files with what each is as multipart."""

import re
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from ninja.openapi.schema import REF_TEMPLATE
from pydantic import BaseModel, ValidationError

from ingestion import manifest
from ingestion.api import batches, files, problems, reach, waiting
from ingestion.api.auth import ApiRequest, Bearer
from ingestion.api.problems import Problem
from ingestion.api.schemas import BatchOut, FilesIn, PacketIn, answers
from ingestion.models import Batch, Source
from ingestion.register import (
    AtCapacity,
    Fault,
    KeyReused,
    Refused,
    Submission,
    register_files,
    register_manifest,
)
from sites.models import ApiToken, Scope

router = Router()
JSON, MULTIPART = "application/json", "multipart/form-data"
# A string of RFC 9651, or the same without its quotes, as many clients send it.
_VISIBLE = r"[!#-\[\]-~]{1,128}"
_KEY = re.compile(rf'("?)({_VISIBLE})\1').fullmatch

Shape = TypeVar("Shape", bound=BaseModel)


COMPONENTS: dict[str, Any] = {}  # ninja collects those of what it parses itself, and no others


def _described(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=REF_TEMPLATE)
    COMPONENTS.update(schema.pop("$defs", {}), **{model.__name__: schema})
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}


_NAMED = {  # a file is known by its name, so every part has to have one
    "schema": {"type": "string"},
    "example": 'form-data; name="files"; filename="IRB.pdf"',
}
DESCRIBED: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": True,
            "description": "Yours for this submission: the same key gives the same batch.",
            "schema": {"type": "string", "pattern": f'^("{_VISIBLE}"|{_VISIBLE})$'},
        },
        waiting.DESCRIBED,
    ],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": _described(PacketIn)},
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "required": ["packet", "files"],
                    "properties": {
                        "packet": _described(FilesIn),
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "format": "binary"},
                        },
                    },
                },
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
    response=answers(BatchOut, 200, 202, errors=(400, 411, 413, 415)),
    auth=Bearer(Scope.SUBMIT),
    summary="Submit a packet",
    openapi_extra=DESCRIBED,
)
def submit(request: ApiRequest, response: HttpResponse) -> Any:
    """202 with the batch to watch; 200 when it was final within `Prefer: wait=N`."""
    key = _key(request)
    try:
        batch = _registered(request, key)
    except Refused as refusal:
        raise problems.refused(refusal.faults) from None
    except KeyReused:
        detail = "The key was used for another submission. Send this one under a new key."
        raise Problem(422, detail, kind=problems.KEY_REUSED) from None
    except AtCapacity as full:
        headers = {"Retry-After": str(full.retry_after)}
        raise Problem(429, str(full), kind=problems.AT_CAPACITY, headers=headers) from None
    response["Location"] = batches.address(request, batch)
    return batches.standing(request, response, batch)


def _registered(request: ApiRequest, key: str) -> Batch:
    match request.content_type:
        case "application/json":
            return _of_lines(request, key)
        case "multipart/form-data":
            return _of_files(request, key)
    detail = f"Send {JSON} (a manifest) or {MULTIPART} (files)."
    raise Problem(415, detail, headers={"Accept": f"{JSON}, {MULTIPART}"})


def _of_lines(request: ApiRequest, key: str) -> Batch:
    body = _json(_body(request))
    documents = body.pop("documents", None) if isinstance(body, dict) else None
    if not isinstance(documents, list):
        raise Problem(422, "The body has to be an object with a list of `documents`.")
    # The lines go to the reader of manifests as they are: it names all their faults at once.
    envelope = _shaped(PacketIn, {**body, "documents": [_A_LINE]})
    lines = manifest.read(orjson.dumps(documents).decode(), sites=reach.sites(request.auth))
    return register_manifest(lines, _submission(request.auth, Source.MANIFEST, envelope, key))


_A_LINE = {"site_id": "-", "doc_id": "-", "url": "-", "schema_version": "-"}


def _of_files(request: ApiRequest, key: str) -> Batch:
    _refuse_larger(request, settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1)
    packet = _shaped(FilesIn, _json(files.described(request)))
    site = files.site_of(request.auth, packet)
    submission = _submission(request.auth, Source.UPLOAD, packet, key)
    return register_files(site, files.named(request, packet), submission).batch


def _submission(token: ApiToken, source: Source, asked: Any, key: str) -> Submission:
    return Submission(
        source,
        token.actor,
        token.role,
        user=token.user,
        priority=asked.priority,
        # Of its owner: one site can neither see nor take another's key.
        idempotency_key=f"api:{token.owner}:{key}",
        owner=token.owner,
    )


def _key(request: HttpRequest) -> str:
    header = request.headers.get("Idempotency-Key", "").strip()
    if found := _KEY(header):
        return found[2]
    detail = (
        "Send an Idempotency-Key of 1 to 128 visible characters: yours for this submission, "
        "so that repeating it cannot register anything twice."
    )
    raise Problem(400, detail, kind=problems.KEY_MISSING)


def _refuse_larger(request: HttpRequest, megabytes: int) -> int:
    """The declared length in bytes. Without one a body could be endless: 411."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdecimal():
        raise Problem(411, "Say how long the body is: Content-Length.")
    if int(length) > megabytes * 1_000_000:
        raise Problem(413, f"The body is larger than the {megabytes} MB that are taken in.")
    return int(length)


def _body(request: HttpRequest) -> bytes:
    return request.read(_refuse_larger(request, settings.MAX_MANIFEST_MB))


def _json(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"That is not JSON: {error.msg}, line {error.lineno}.") from None


def _shaped(model: type[Shape], value: Any) -> Shape:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Refused([_fault(detail) for detail in error.errors()]) from None


def _fault(detail: Any) -> Fault:
    """Of ("documents", 3, "person") the fourth line's person."""
    where = [str(part) for part in detail["loc"]]
    if len(where) > 1 and where[0] == "documents" and where[1].isdecimal():
        return Fault(int(where[1]) + 1, ".".join(where[2:]), detail["msg"])
    return Fault(0, ".".join(where), detail["msg"])
