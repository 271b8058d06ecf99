"""What a request brings: how long it may be, its JSON, and the faults of its shape."""

from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from ninja.openapi.schema import REF_TEMPLATE
from pydantic import BaseModel, ValidationError

from api.problems import Problem
from audit.files import strict_json
from audit.files.strict_json import InvalidJSON
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from web.shell.request_limits import whole_number

Shape = TypeVar("Shape", bound=BaseModel)
COMPONENTS: dict[str, Any] = {}  # ninja collects those of what it parses itself, and no others


def described(model: type[BaseModel]) -> dict[str, Any]:
    """A reference to its JSON schema, for the OpenAPI document."""
    schema = model.model_json_schema(ref_template=REF_TEMPLATE)
    COMPONENTS.update(schema.pop("$defs", {}), **{model.__name__: schema})
    return {"$ref": REF_TEMPLATE.format(model=model.__name__)}


def length(request: HttpRequest, *, megabytes: int) -> int:
    """As declared, in bytes: 411 without, because a body could be endless, and 413 beyond."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if not declared.isdecimal():
        raise Problem(411, "Say how long the body is: Content-Length.")
    size = whole_number(declared)
    if size is None or size > megabytes * 1_000_000:
        raise Problem(413, f"The body is larger than {megabytes} MB, the most that is accepted.")
    return size


def sent_json(request: HttpRequest) -> Any:
    return parsed(request.read(length(request, megabytes=settings.MAX_MANIFEST_MB)))


def parsed(text: bytes) -> Any:
    """Return the value of a JSON body. Raises Problem 400, which names the line."""
    try:
        return strict_json.loads(text.decode())
    except UnicodeDecodeError:
        raise Problem(400, "The body is not valid JSON: it is not encoded as UTF-8.") from None
    except InvalidJSON as error:
        where = f" (line {error.line})" if error.line else ""
        raise Problem(400, f"The body is not valid JSON: {error.message}{where}.") from None


def shaped(model: type[Shape], value: Any) -> Shape:
    """Raises SubmissionRefused with every fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise SubmissionRefused([_fault(detail) for detail in error.errors()]) from None


def _fault(detail: Any) -> SubmissionFault:
    """Of ("documents", 3, "person") the fourth line's person."""
    where = [str(part) for part in detail["loc"]]
    if len(where) > 1 and where[0] in {"documents", "files"} and where[1].isdecimal():
        return SubmissionFault(int(where[1]) + 1, ".".join(where[2:]), detail["msg"])
    return SubmissionFault(0, ".".join(where), detail["msg"])
