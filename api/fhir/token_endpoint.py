"""Serves `POST /fhir/auth/token`: access tokens for assertions (SMART Backend Services).

Errors are those of OAuth 2.0 (RFC 6749, 5.2), as SMART requires, and no OperationOutcome.
"""

import hashlib
import logging

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from api.fhir import access_tokens
from api.http.auth import SECONDS_PER_MINUTE, bad_tokens
from audit.ledger.middleware import get_client_address
from sites import fhir_keys
from sites.fhir_keys import LEEWAY, AssertionRefused
from sites.models import FhirClient
from sites.models.fhir_clients import UsedAssertion, remove_expired_assertions

logger = logging.getLogger(__name__)
GRANT_TYPE = "client_credentials"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class TokenRefused(Exception):
    """No access token is issued. `error` is a code of RFC 6749."""

    def __init__(self, status: int, error: str, description: str) -> None:
        super().__init__(description)
        self.status, self.error = status, error


@csrf_exempt
@require_POST
def issue_token(request: HttpRequest) -> HttpResponse:
    """Return an access token for a valid assertion, which is accepted once."""
    try:
        body = _issue(request)
    except TokenRefused as refused:
        body = {"error": refused.error, "error_description": str(refused)}
        return _respond(body, refused.status)
    return _respond(body, 200)


def _issue(request: HttpRequest) -> dict[str, object]:
    form = request.POST
    if form.get("grant_type") != GRANT_TYPE:
        raise TokenRefused(400, "unsupported_grant_type", f"grant_type has to be {GRANT_TYPE}.")
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        description = f"client_assertion_type has to be {ASSERTION_TYPE}."
        raise TokenRefused(400, "invalid_request", description)
    requested = form.get("scope", "")
    if not requested.strip():
        raise TokenRefused(400, "invalid_scope", "Name a scope, such as system/AuditEvent.rs.")
    client = _authenticate(request, form.get("client_assertion", ""))
    granted = access_tokens.grant_scopes(requested, client.resource_types)
    if not granted:
        description = "The client may have none of these scopes. An administrator can permit types."
        raise TokenRefused(400, "invalid_scope", description)
    types = access_tokens.list_types(granted, client.resource_types)
    return {
        "access_token": access_tokens.issue_token(client, types),
        "token_type": "bearer",
        "expires_in": access_tokens.TOKEN_SECONDS,
        "scope": " ".join(granted),
    }


def _authenticate(request: HttpRequest, assertion: str) -> FhirClient:
    """Return the client that signed the assertion. Raises TokenRefused."""
    now = timezone.now()
    client_id = fhir_keys.read_issuer(assertion)
    client = FhirClient.objects.filter(client_id=client_id).first() if client_id else None
    if client is None or not client.is_usable:
        raise _refuse(request, "The client is not registered, or it was revoked.")
    audience = request.build_absolute_uri(reverse("fhir_token"))
    try:
        verified = fhir_keys.verify_assertion(
            assertion, client.public_keys, client_id=client_id, audience=audience, now=now
        )
    except AssertionRefused as refused:
        raise _refuse(request, str(refused)) from refused
    remove_expired_assertions(now - LEEWAY)
    try:
        with transaction.atomic():
            UsedAssertion.objects.create(
                client=client,
                jti_sha256=hashlib.sha256(verified.jti.encode()).hexdigest(),
                expires_at=verified.expires_at,
            )
    except IntegrityError:
        description = "The assertion was used before. Sign a new one, with a new jti."
        raise _refuse(request, description) from None
    return client


def _refuse(request: HttpRequest, description: str) -> TokenRefused:
    """Return the error of an assertion, or of an address that has sent too many bad ones."""
    count = bad_tokens.increment(get_client_address(request))
    if count == 1:
        logger.warning("a FHIR client was refused: %s", description)
    if count > settings.API_BAD_TOKENS_PER_MINUTE:
        return TokenRefused(429, "temporarily_unavailable", "Too many bad assertions. Wait.")
    return TokenRefused(401, "invalid_client", description)


def _respond(body: dict[str, object], status: int) -> HttpResponse:
    response = JsonResponse(body, status=status)
    response["Cache-Control"], response["Pragma"] = "no-store", "no-cache"
    if status == 429:
        response["Retry-After"] = str(SECONDS_PER_MINUTE)
    return response
