"""The secret of an API token: how it is made, and all that is kept of it. No models here.

A secret is `slt_<prefix>_<256 random bits>`. The prefix finds the row and is what the ledger and
the admin show; of the rest only a SHA-256 is kept. A slow hash would gain nothing: what is random
over 256 bits is not guessed, however fast it is tried.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from hmac import compare_digest

_SECRET = re.compile(r"slt_([0-9a-f]{12})_([\w-]{43})", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Secret:
    prefix: str
    text: str  # shown once

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def fits(self, digest: str) -> bool:
        """In constant time."""
        return compare_digest(self.digest, digest)


def new_secret() -> Secret:
    prefix = secrets.token_hex(6)
    return Secret(prefix, f"slt_{prefix}_{secrets.token_urlsafe(32)}")


def parse(text: str) -> Secret | None:
    """None: it cannot be one of ours, and no row has to be looked at."""
    found = _SECRET(text)
    return Secret(found[1], text) if found else None
