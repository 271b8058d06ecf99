"""Authenticates requests with bearer tokens. Sessions are for people, and are ignored here."""

import logging
import threading
import time
from collections import Counter

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from api.http.problems import Problem
from audit.ledger.middleware import get_client_address
from sites.models import ApiToken, TokenScope

logger = logging.getLogger(__name__)
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="siteledger"'}
SECONDS_PER_MINUTE = 60


class ApiRequest(HttpRequest):
    """The type of a request that `Bearer` has authenticated, for type checking."""

    auth: ApiToken


class Bearer(HttpBearer):
    """Requires a usable token that has at least one of the scopes.

    An operation declares it as `auth=Bearer(TokenScope.READ)`. The name of this class is the name
    of the security scheme in the OpenAPI document.
    """

    def __init__(self, *scopes: TokenScope) -> None:
        super().__init__()
        self._scopes = scopes

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """Return the token. Raises Problem 401, 403 or 429."""
        found = ApiToken.objects.find_usable(token.strip())
        if found is None:
            raise _bad_token(request)
        if not any(found.may(scope) for scope in self._scopes):
            scopes = " or ".join(f"'{scope.value}'" for scope in self._scopes)
            raise Problem(403, f"The token does not have the scope {scopes}.")
        found.record_use()
        return found


def report_missing_token() -> Problem:
    """Return problem 401 for a request without a token."""
    detail = "Send a token in the header `Authorization: Bearer slt_...`."
    return Problem(401, detail, headers=CHALLENGE)


class BadTokenCounter:
    """Counts the bad tokens of each address during the current minute, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute, self._counts = 0, Counter[str]()  # guarded by _lock

    def increment(self, address: str) -> int:
        """Count one bad token, and return the address's number in this minute."""
        minute = int(time.time()) // SECONDS_PER_MINUTE
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[address] += 1
            return self._counts[address]


bad_tokens = BadTokenCounter()


def _bad_token(request: HttpRequest) -> Problem:
    """Return problem 401, or 429 for an address that has sent too many bad tokens.

    Guessing 256 random bits is hopeless. The limit prevents a program with an old token from
    filling the log: it has one line for each address and minute. Bad tokens never write a ledger
    entry, so that outsiders cannot slow down the hash chain.
    """
    address = get_client_address(request)
    count = bad_tokens.increment(address)
    if count == 1:
        logger.warning("an address sent a bad API token")
    if count > settings.API_BAD_TOKENS_PER_MINUTE:
        detail = "Too many bad tokens from this address. Wait, then send a valid token."
        return Problem(429, detail, headers={"Retry-After": str(SECONDS_PER_MINUTE)})
    detail = "The token is not known, not approved yet, revoked or expired."
    challenge = {"WWW-Authenticate": CHALLENGE["WWW-Authenticate"] + ', error="invalid_token"'}
    return Problem(401, detail, headers=challenge)
