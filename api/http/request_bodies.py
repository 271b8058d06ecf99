"""Checks request bodies: their length, their JSON, and the values against a schema."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from ninja.openapi.schema import REF_TEMPLATE
from pydantic import BaseModel, ValidationError

from api.http.problems import Problem
from audit.files import strict_json
from audit.files.strict_json import InvalidJSON
from ingestion.intake import submission_schemas
from ingestion.intake.field_faults import describe_faults
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.submission_schemas import UnsupportedSchema
from web.shell.request_limits import parse_whole_number

BodyModel = TypeVar("BodyModel", bound=BaseModel)
NO_VERSIONS: Mapping[str, type[BaseModel]] = MappingProxyType({})
BYTES_PER_MEGABYTE = 1_000_000
# Schemas for the OpenAPI document. django-ninja adds only those of bodies that it parses itself.
COMPONENTS: dict[str, Any] = {}


def add_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Add the JSON schema of a model to the OpenAPI document, and return a reference to it."""
    schema = model.model_json_schema(ref_template=REF_TEMPLATE)
    COMPONENTS.update(schema.pop("$defs", {}), **{model.__name__: schema})
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}


def check_content_length(request: HttpRequest, *, max_megabytes: int) -> int:
    """Return the declared length of the body in bytes.

    Raises Problem 411 without a length, because such a body could be endless, and 413 if the body
    is too large.
    """
    declared = request.META.get("CONTENT_LENGTH") or ""
    if not declared.isdecimal():
        raise Problem(411, "Send the length of the body in the header Content-Length.")
    size = parse_whole_number(declared)
    if size is None or size > max_megabytes * BYTES_PER_MEGABYTE:
        raise Problem(413, f"The body is larger than {max_megabytes} MB, which is the limit.")
    return size


def read_json(request: HttpRequest) -> Any:
    """Return the value of the JSON body. Raises Problem 400, 411 or 413."""
    return parse_json(
        request.read(check_content_length(request, max_megabytes=settings.MAX_MANIFEST_MB))
    )


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text. Raises Problem 400, which names the line."""
    try:
        return strict_json.loads(text.decode())
    except UnicodeDecodeError:
        raise Problem(400, "The body is not valid JSON: it is not encoded as UTF-8.") from None
    except InvalidJSON as error:
        where = f" (line {error.line})" if error.line else ""
        raise Problem(400, f"The body is not valid JSON: {error.message}{where}.") from None


def validate_version(schemas: Mapping[str, type[BodyModel]], value: Any) -> BodyModel:
    """Return the value as the model of its schema version. Raises SubmissionRefused."""
    try:
        model = submission_schemas.choose_schema(schemas, value)
    except UnsupportedSchema as error:
        raise SubmissionRefused([SubmissionFault(0, "schema_version", str(error))]) from None
    return validate(model, value, schemas)


def validate(
    model: type[BodyModel], value: Any, schemas: Mapping[str, type[BaseModel]] = NO_VERSIONS
) -> BodyModel:
    """Return the value as a model. Raises SubmissionRefused with all faults.

    `schemas` are the models of the schema versions of which `model` is one.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = []
        for parts, sentence in describe_faults(error, value, model, schemas):
            line, path = 0, [str(part) for part in parts]
            # ("documents", 3, "person") is the field `person` of line 4.
            if len(path) > 1 and path[0] in {"documents", "files"} and path[1].isdecimal():
                line, path = int(path[1]) + 1, path[2:]
            faults.append(SubmissionFault(line, ".".join(path), sentence))
        raise SubmissionRefused(faults) from None
