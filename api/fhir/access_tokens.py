"""Issues access tokens of FHIR clients, and authenticates requests with them.

An access token is signed and contains the client and the granted types, so that no table has to
store it. It expires after a few minutes, and a client that is revoked cannot use its tokens.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.core import signing
from django.http import HttpRequest

from api.http.outcomes import FhirError
from sites.models import FhirClient

TOKEN_SECONDS = 300  # SMART Backend Services: at most five minutes
_SALT = "api.fhir.access_tokens"
# `read` is of version 1 of SMART, and `rs` (read and search) of version 2.
_SCOPE = re.compile(r"system/(\*|[A-Za-z]+)\.(read|\*|c?r[u]?[d]?s)").fullmatch
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="siteledger-fhir"'}


@dataclass(frozen=True, slots=True)
class FhirAccess:
    """The client of a request, and the resource types that its token permits."""

    client: FhirClient
    types: tuple[str, ...]


def grant_scopes(requested: str, permitted: Collection[str]) -> list[str]:
    """Return those of the requested scopes that name a permitted type, or all types."""
    granted = []
    for scope in requested.split():
        if found := _SCOPE(scope):
            is_granted = found[1] in permitted or (found[1] == "*" and permitted)
            if is_granted and scope not in granted:
                granted.append(scope)
    return granted


def list_types(scopes: Iterable[str], permitted: Iterable[str]) -> list[str]:
    """Return the permitted types that the scopes name, in the order of `permitted`."""
    named = {found[1] for scope in scopes if (found := _SCOPE(scope))}
    return [name for name in permitted if name in named or "*" in named]


def issue_token(client: FhirClient, types: Iterable[str]) -> str:
    """Return a new access token, which is valid for TOKEN_SECONDS."""
    return signing.dumps({"client": client.pk, "types": list(types)}, salt=_SALT)


def authenticate(request: HttpRequest) -> FhirAccess:
    """Return the access of a request. Raises FhirError 401."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        detail = "Send an access token in the header `Authorization: Bearer ...`."
        raise FhirError(401, detail, headers=_CHALLENGE)
    try:
        content = signing.loads(token.strip(), salt=_SALT, max_age=TOKEN_SECONDS)
    except signing.SignatureExpired:
        raise _refuse("The access token has expired. Request a new one.") from None
    except signing.BadSignature:
        raise _refuse("The access token is not valid. Request a new one.") from None
    client = FhirClient.objects.filter(pk=content["client"]).first()
    if client is None or not client.is_usable:
        raise _refuse("The client is revoked.")
    types = tuple(name for name in content["types"] if name in client.resource_types)
    return FhirAccess(client, types)


def _refuse(detail: str) -> FhirError:
    challenge = _CHALLENGE["WWW-Authenticate"] + ', error="invalid_token"'
    return FhirError(401, detail, headers={"WWW-Authenticate": challenge})
