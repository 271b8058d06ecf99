"""Who asks: bearer tokens and nothing else. Sessions are for people, and are not looked at."""

import logging
import threading
import time
from collections import Counter

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from api.problems import Problem
from audit.ledger.middleware import client_address
from sites.models import ApiToken, TokenScope

logger = logging.getLogger(__name__)
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="siteledger"'}
MINUTE = 60


class ApiRequest(HttpRequest):
    """For type checking: behind a Bearer the token is there, and may do what it asks."""

    auth: ApiToken


class Bearer(HttpBearer):
    """`auth=Bearer(TokenScope.READ)`: a token that may be used, and has one of these scopes."""

    def __init__(self, *scopes: TokenScope) -> None:
        super().__init__()
        self._scopes = scopes

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        found = ApiToken.objects.presented(token.strip())
        if found is None:
            raise _refusal(request)
        if not any(found.may(scope) for scope in self._scopes):
            named = " or ".join(f"'{scope.value}'" for scope in self._scopes)
            raise Problem(403, f"The token has not the scope {named}.")
        found.note_use()
        return found


def missing() -> Problem:
    detail = "Send a token, as `Authorization: Bearer slt_...`."
    return Problem(401, detail, headers=CHALLENGE)


class _BadTokens:
    """How many each address sent in this minute, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute, self._counts = 0, Counter[str]()  # guarded by _lock

    def count(self, address: str) -> int:
        minute = int(time.time()) // MINUTE
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[address] += 1
            return self._counts[address]


_bad_tokens = _BadTokens()


def _refusal(request: HttpRequest) -> Problem:
    """401; or 429 to an address that keeps trying.

    Guessing 256 random bits is hopeless; this keeps a program with an old token from filling the
    log. One line in it per address and minute, and never an entry: nobody stalls the chain from
    outside (decision 25).
    """
    address = client_address(request)
    tried = _bad_tokens.count(address)
    if tried == 1:
        logger.warning("a bad API token from %s", address)
    if tried > settings.API_BAD_TOKENS_PER_MINUTE:
        detail = "Too many bad tokens from this address. Wait, and send a good one."
        return Problem(429, detail, headers={"Retry-After": str(MINUTE)})
    detail = "The token is not known, not approved yet, revoked or expired."
    challenge = {"WWW-Authenticate": CHALLENGE["WWW-Authenticate"] + ', error="invalid_token"'}
    return Problem(401, detail, headers=challenge)
