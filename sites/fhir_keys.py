"""Checks public keys of FHIR clients, and the assertions that clients sign with them.

An assertion is a JSON Web Token that the client makes for one request (RFC 7523; SMART Backend
Services). The algorithms are those that SMART requires.
"""

import base64
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, RSAKey

ALGORITHMS = ("RS384", "ES384")
MIN_RSA_BITS = 2048
MAX_ASSERTION_CHARACTERS = 16_000
MAX_LIFETIME = timedelta(minutes=5)  # of an assertion, by SMART
LEEWAY = timedelta(seconds=30)  # for the clocks of client and server
_PRIVATE_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class KeyFault(Exception):
    """The keys cannot be used. The message is a sentence for people."""


class AssertionRefused(Exception):
    """The assertion is not valid. The message states why, for the operator of the client."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """The claims of a valid assertion that matter afterwards."""

    jti: str
    expires_at: datetime


def check_public_keys(value: Any) -> KeySet:
    """Return the keys of a JSON Web Key Set. Raises KeyFault."""
    keys = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(keys, list) or not keys or not all(isinstance(key, dict) for key in keys):
        raise KeyFault(_('Enter a JSON Web Key Set, {"keys": [...]}, with at least one key.'))
    for key in keys:
        if _PRIVATE_MEMBERS.intersection(key):
            raise KeyFault(_("Enter public keys only. Replace the pair of a key that was shared."))
    try:
        key_set = KeySet.import_key_set({"keys": [dict(key) for key in keys]})
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise KeyFault(_("A key cannot be read: {error}.").format(error=error)) from error
    for each in key_set.keys:
        is_strong = isinstance(each, RSAKey) and each.public_key.key_size >= MIN_RSA_BITS
        if not is_strong and not (isinstance(each, ECKey) and each.curve_name == "P-384"):
            sentence = _("Use RSA keys of at least {bits} bits (RS384), or P-384 keys (ES384).")
            raise KeyFault(sentence.format(bits=MIN_RSA_BITS))
    return key_set


def read_issuer(assertion: str) -> str:
    """Return the claim `iss` of an assertion that is not verified yet, or ""."""
    try:
        payload = assertion.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        issuer = claims["iss"]
    except (IndexError, ValueError, KeyError, TypeError):
        return ""
    return issuer if isinstance(issuer, str) else ""


def verify_assertion(
    assertion: str, public_keys: Any, *, client_id: str, audience: str, now: datetime
) -> Assertion:
    """Verify the signature and the claims of an assertion. Raises AssertionRefused.

    The caller refuses an assertion whose `jti` was used before.
    """
    if len(assertion) > MAX_ASSERTION_CHARACTERS:
        raise AssertionRefused("The assertion is too long.")
    try:
        token = jwt.decode(assertion, check_public_keys(public_keys), algorithms=list(ALGORITHMS))
    except (JoseError, ValueError, TypeError, KeyFault) as error:
        raise AssertionRefused(f"The signature cannot be verified: {error}.") from error
    claims = token.claims
    if not claims.get("iss") == claims.get("sub") == client_id:
        raise AssertionRefused("The claims iss and sub have to be the client ID.")
    audiences = claims.get("aud")
    if audience not in (audiences if isinstance(audiences, list) else [audiences]):
        raise AssertionRefused(f"The claim aud has to be {audience}.")
    jti = claims.get("jti")
    if not isinstance(jti, str) or not jti:
        raise AssertionRefused("The claim jti is missing.")
    return Assertion(jti, _check_times(claims, now))


def _check_times(claims: dict[str, Any], now: datetime) -> datetime:
    """Return the time of expiry. Raises AssertionRefused."""
    try:
        expires_at = datetime.fromtimestamp(claims["exp"], tz=now.tzinfo)
        begins = [
            datetime.fromtimestamp(claims[name], tz=now.tzinfo)
            for name in ("nbf", "iat")
            if name in claims
        ]
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise AssertionRefused("The claim exp, nbf or iat is missing or no time.") from error
    if expires_at <= now - LEEWAY:
        raise AssertionRefused("The assertion has expired.")
    if expires_at > now + MAX_LIFETIME + LEEWAY:
        raise AssertionRefused("The assertion is valid for more than five minutes.")
    if any(begin > now + LEEWAY for begin in begins):
        raise AssertionRefused("The assertion is not valid yet. Compare the clocks.")
    return expires_at
