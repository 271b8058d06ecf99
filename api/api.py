"""`/api/v1`, put together: the resources, how errors are answered, and the OpenAPI document."""

import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema

from api import (
    auth,
    batches,
    documents,
    open_packets,
    packets,
    problems,
    request_bodies,
    sites,
)
from api.problems import Problem
from ingestion.intake.admission import AtCapacity
from ingestion.intake.corrections import CorrectionRefused
from ingestion.intake.manifest import SubmissionRefused
from ingestion.intake.quotas import QuotaExceeded, SpoolFull
from ingestion.intake.submission import IdempotencyKeyReused

logger = logging.getLogger(__name__)
DESCRIPTION = (
    "Send packets of regulatory documents, watch the work on them, and read what came of it. "
    "Every error is a problem (RFC 9457). Another site's objects do not exist: 404."
)


class Interface(NinjaAPI):
    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Ninja says that errors are application/json, and repeats GET's operation for HEAD."""
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"] |= request_bodies.COMPONENTS
        for operations in schema["paths"].values():
            operations.pop("head", None)
            for operation in operations.values():
                for status, said in operation["responses"].items():
                    if int(status) >= 400 and "content" in said:
                        said["content"] = {problems.MEDIA_TYPE: said["content"]["application/json"]}
        return schema


def build() -> Interface:
    interface = Interface(
        title="SiteLedger", version="1", description=DESCRIPTION, urls_namespace="api"
    )
    for name, router in (
        ("packets", packets.router),
        ("packets", open_packets.router),
        ("batches", batches.router),
        ("sites", sites.router),
        ("documents", documents.router),
    ):
        interface.add_router(f"/{name}", router, tags=[name])
    for kind, handler in _HANDLERS.items():
        interface.add_exception_handler(kind, handler)
    return interface


def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return problems.answer(request, error)


def _not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return problems.answer(request, Problem(404, "There is nothing at this address."))


def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problems.answer(request, auth.missing())


def _ninjas_own(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problems.answer(request, Problem(error.status_code, str(error)))


def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [
        {"field": ".".join(str(part) for part in fault["loc"]), "message": fault["msg"]}
        for fault in error.errors
    ]
    said = Problem(422, "A value is not what this address takes.", errors=errors)
    return problems.answer(request, said)


def _refused(request: HttpRequest, error: SubmissionRefused) -> HttpResponse:
    return problems.answer(request, problems.refused(error.faults))


def _key_reused(request: HttpRequest, error: IdempotencyKeyReused) -> HttpResponse:
    detail = "The key was used for another submission. Send this one under a new key."
    return problems.answer(request, Problem(422, detail, kind=problems.KEY_REUSED))


def _not_to_correct(request: HttpRequest, error: CorrectionRefused) -> HttpResponse:
    return problems.answer(request, Problem(409, str(error)))


def _at_capacity(request: HttpRequest, error: AtCapacity) -> HttpResponse:
    ceiling, seconds = settings.MAX_UNFINISHED_DOCUMENTS, error.retry_after
    headers = {
        "Retry-After": str(seconds),
        "RateLimit-Policy": f'"unfinished-documents";q={ceiling}',
        "RateLimit": f'"unfinished-documents";r=0;t={seconds}',
    }
    said = Problem(429, str(error), kind=problems.AT_CAPACITY, headers=headers)
    return problems.answer(request, said)


def _over_quota(request: HttpRequest, error: QuotaExceeded) -> HttpResponse:
    status = 507 if isinstance(error, SpoolFull) else 429
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    said = Problem(status, str(error), kind=problems.OVER_QUOTA, headers=headers)
    return problems.answer(request, said)


def _too_large(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    return problems.answer(request, Problem(413, "The request is larger than we take in."))


def _unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
    return problems.answer(request, Problem(400, "The request's body cannot be read to its end."))


def _ours(request: HttpRequest, error: Exception) -> HttpResponse:
    """The one place for what nobody foresaw. The client learns the request's id, no more."""
    request_id = problems.request_id(request)
    logger.error("an API request failed: %s", request_id, exc_info=error)
    detail = "An error of ours. It is logged under this request_id."
    return problems.answer(request, Problem(500, detail))


_HANDLERS: dict[type[Exception], Any] = {
    Problem: _problem,
    SubmissionRefused: _refused,
    IdempotencyKeyReused: _key_reused,
    QuotaExceeded: _over_quota,
    SpoolFull: _over_quota,
    AtCapacity: _at_capacity,
    CorrectionRefused: _not_to_correct,
    Http404: _not_found,
    AuthenticationError: _unauthenticated,
    HttpError: _ninjas_own,
    ValidationError: _invalid,
    RequestDataTooBig: _too_large,
    TooManyFieldsSent: _too_large,
    TooManyFilesSent: _too_large,
    MultiPartParserError: _unreadable,
    UnreadablePostError: _unreadable,
    Exception: _ours,
}
