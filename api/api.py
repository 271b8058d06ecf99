"""Builds the interface `/api/v1`: its resources, its responses to errors, its OpenAPI document."""

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

from api import batches, documents, jobs, packets, search, sites
from api.http import auth, problems, request_bodies
from api.http.problems import Problem, make_problem_response
from api.uploads import deprecated_put, open_packets
from ingestion.intake.admission import AtCapacity
from ingestion.intake.corrections import CorrectionRefused
from ingestion.intake.field_faults import describe_fault
from ingestion.intake.manifest import SubmissionRefused
from ingestion.intake.quotas import QuotaExceeded, SpoolFull
from ingestion.intake.submission import IdempotencyKeyReused

logger = logging.getLogger(__name__)
DESCRIPTION = (
    "Submit packets of regulatory documents, follow their processing, and read the results. "
    "Every error is a problem (RFC 9457). Objects of another site are reported as not found (404)."
)


class Interface(NinjaAPI):
    """The interface, with corrections to the OpenAPI document that django-ninja generates."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the OpenAPI document.

        django-ninja declares errors as application/json, and repeats the operation of GET for HEAD.
        """
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"] |= request_bodies.COMPONENTS
        for operations in schema["paths"].values():
            operations.pop("head", None)
            for operation in operations.values():
                for status, described in operation["responses"].items():
                    if int(status) >= 400 and "content" in described:
                        error_schema = described["content"]["application/json"]
                        described["content"] = {problems.MEDIA_TYPE: error_schema}
        return schema


def build() -> Interface:
    """Return the interface with all resources and error handlers."""
    interface = Interface(
        title="SiteLedger", version="1", description=DESCRIPTION, urls_namespace="api"
    )
    for name, router in (
        ("packets", packets.router),
        ("packets", open_packets.router),
        ("packets", deprecated_put.router),
        ("batches", batches.router),
        ("sites", sites.router),
        ("documents", documents.router),
        ("search", search.router),
        ("jobs", jobs.router),
    ):
        interface.add_router(f"/{name}", router, tags=[name])
    for kind, handler in _ERROR_HANDLERS.items():
        interface.add_exception_handler(kind, handler)
    return interface


def _on_problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return make_problem_response(request, error)


def _on_not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return make_problem_response(request, Problem(404, "There is nothing at this address."))


def _on_missing_token(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return make_problem_response(request, auth.report_missing_token())


def _on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return make_problem_response(request, Problem(error.status_code, str(error)))


def _on_invalid_value(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [
        {"field": ".".join(str(part) for part in fault["loc"]), "message": describe_fault(fault)}
        for fault in error.errors
    ]
    detail = "A value in the request is not valid. `errors` names each one."
    return make_problem_response(request, Problem(422, detail, errors=errors))


def _on_submission_refused(request: HttpRequest, error: SubmissionRefused) -> HttpResponse:
    return make_problem_response(request, problems.make_not_registrable_problem(error.faults))


def _on_key_reused(request: HttpRequest, error: IdempotencyKeyReused) -> HttpResponse:
    detail = "The key was used for another submission. Send this one with a new key."
    return make_problem_response(request, Problem(422, detail, type_uri=problems.KEY_REUSED))


def _on_correction_refused(request: HttpRequest, error: CorrectionRefused) -> HttpResponse:
    return make_problem_response(request, Problem(409, str(error)))


def _on_at_capacity(request: HttpRequest, error: AtCapacity) -> HttpResponse:
    limit, seconds = settings.MAX_UNFINISHED_DOCUMENTS, error.retry_after
    headers = {
        "Retry-After": str(seconds),
        "RateLimit-Policy": f'"unfinished-documents";q={limit}',
        "RateLimit": f'"unfinished-documents";r=0;t={seconds}',
    }
    problem = Problem(429, str(error), type_uri=problems.AT_CAPACITY, headers=headers)
    return make_problem_response(request, problem)


def _on_quota_exceeded(request: HttpRequest, error: QuotaExceeded) -> HttpResponse:
    status = 507 if isinstance(error, SpoolFull) else 429
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    problem = Problem(status, str(error), type_uri=problems.OVER_QUOTA, headers=headers)
    return make_problem_response(request, problem)


def _on_too_large(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    return make_problem_response(
        request, Problem(413, "The request is larger than the server accepts.")
    )


def _on_unreadable_body(request: HttpRequest, error: Exception) -> HttpResponse:
    return make_problem_response(
        request, Problem(400, "The request body ended early or is malformed.")
    )


def _on_unexpected_error(request: HttpRequest, error: Exception) -> HttpResponse:
    """Log an unexpected error. The response contains the request's IDs and no details."""
    logger.error("an API request failed", exc_info=error)
    return make_problem_response(request, Problem(500, problems.INTERNAL_ERROR_DETAIL))


_ERROR_HANDLERS: dict[type[Exception], Any] = {
    Problem: _on_problem,
    SubmissionRefused: _on_submission_refused,
    IdempotencyKeyReused: _on_key_reused,
    QuotaExceeded: _on_quota_exceeded,
    SpoolFull: _on_quota_exceeded,
    AtCapacity: _on_at_capacity,
    CorrectionRefused: _on_correction_refused,
    Http404: _on_not_found,
    AuthenticationError: _on_missing_token,
    HttpError: _on_http_error,
    ValidationError: _on_invalid_value,
    RequestDataTooBig: _on_too_large,
    TooManyFieldsSent: _on_too_large,
    TooManyFilesSent: _on_too_large,
    MultiPartParserError: _on_unreadable_body,
    UnreadablePostError: _on_unreadable_body,
    Exception: _on_unexpected_error,
}
