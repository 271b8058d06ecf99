"""Electronic signatures: what one shows, what it is bound to, and whether that still holds.

Printed name, time and meaning (21 CFR 11.50(a); R25), in the detail of the entry that is signed.
Bound to the bytes and the facts that were signed by a digest over them (11.70; R26): whoever shows
the signature compares with what the rows say now. That it is really this person who signs is seen
to before, in `sites.accounts.step_up`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from audit.ledger.actors import Actor
from audit.ledger.chain import canonical
from audit.ledger.log import normalize_text, write_time
from audit.ledger.queries import Recorded

SIGNATURE_KEY = "signature"  # of an entry's detail: what it is over, and the digest
SHOWN_KEYS = ("printed_name", "meaning")
ACCOUNT_KEY = (
    "signer_account"  # what is on record about the signer's account, where there is anything
)
FILE_NAME = "file"  # what is named when the bytes are others


@dataclass(frozen=True, slots=True)
class ElectronicSignature:
    """Who signs, when, and as what."""

    signer: Actor
    printed_name: str
    meaning: str
    account: str = ""  # who changed how the signer signs in, and who verified the identity again
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def shown(self) -> dict[str, str]:
        shown = dict(zip(SHOWN_KEYS, (self.printed_name, self.meaning), strict=True))
        return shown | ({ACCOUNT_KEY: self.account} if self.account else {})

    def over(self, facts: Mapping[str, Any], *, sha256: str = "") -> dict[str, Any]:
        """The detail of the entry that is signed: which has this SHA-256, and occurred at `at`.

        `facts`: what is signed, under names that people understand; strings, ints, lists of them.
        """
        signed = {**facts, **self.shown}
        digest = _digest(signed, sha256, write_time(self.at))
        return {**signed, SIGNATURE_KEY: {"over": sorted(signed), "digest": digest}}


def changed_since_signing(
    entry: Recorded, now: Mapping[str, Any], *, sha256: str = ""
) -> list[str]:
    """What is no longer as it was signed, by name; nothing: the signature holds.

    `now`: the facts as they are today, and `sha256` that of the bytes.
    """
    detail = entry.detail or {}
    if not is_sound(detail, entry.sha256, write_time(entry.occurred_at)):
        return [SIGNATURE_KEY]
    names = [
        name for name in detail[SIGNATURE_KEY]["over"] if name not in (*SHOWN_KEYS, ACCOUNT_KEY)
    ]
    facts: dict[str, Any] = normalize_text(dict(now))
    differing = [name for name in names if facts.get(name) != detail[name]]
    return differing + ([FILE_NAME] if sha256 != entry.sha256 else [])


def is_sound(detail: Mapping[str, Any], sha256: str, occurred_at: str) -> bool:
    """Whether an entry's digest is that of its detail, its bytes and its time."""
    seal = detail.get(SIGNATURE_KEY)
    if not isinstance(seal, dict):
        return False
    signed = {name: detail[name] for name in seal["over"] if name in detail}
    return bool(_digest(signed, sha256, occurred_at) == seal["digest"])


def _digest(signed: Mapping[str, Any], sha256: str, occurred_at: str) -> str:
    """SHA-256 of the canonical text (docs/audit-format.md) of what is signed."""
    whole = {"signed": dict(signed), "sha256": sha256, "occurred_at": occurred_at}
    text = canonical(normalize_text(whole))
    return hashlib.sha256(text.encode()).hexdigest()
