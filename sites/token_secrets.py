"""Generates and parses the secrets of API tokens, and computes their digests.

This module has no models.

A secret is `slt_<prefix>_<256 random bits>`. The prefix identifies the row, and is shown in the
ledger and the admin. Only a SHA-256 of the secret is stored. A slow hash would add no protection,
because 256 random bits cannot be guessed at any speed.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from hmac import compare_digest

_SECRET = re.compile(r"slt_([0-9a-f]{12})_([\w-]{43})", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """Describes the secret of a token, with the prefix that identifies its row."""

    prefix: str
    text: str  # shown once

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the secret in hex, which is stored instead of it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def matches(self, digest: str) -> bool:
        """Compare the digests in constant time."""
        return compare_digest(self.digest, digest)


def generate() -> TokenSecret:
    """Return a new secret with 256 random bits."""
    prefix = secrets.token_hex(6)
    return TokenSecret(prefix, f"slt_{prefix}_{secrets.token_urlsafe(32)}")


def parse(text: str) -> TokenSecret | None:
    """Return the secret, or None if the text does not have the format of a secret."""
    found = _SECRET(text)
    return TokenSecret(found[1], text) if found else None
