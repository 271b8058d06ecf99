"""Creates electronic signatures, and verifies that what was signed has not changed since.

A signature is stored in the detail of the entry that is signed. It contains the printed name, the
time and the meaning (21 CFR 11.50(a); R25). A digest binds it to the bytes and the facts that were
signed (11.70; R26), and pages that show it compare them with the rows as they are now. The identity
of the signer is verified before, in `sites.accounts.step_up`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from audit.ledger.actors import Actor
from audit.ledger.chain import format_canonical
from audit.ledger.log import normalize_text, write_time
from audit.ledger.queries import Recorded

# Keys of an entry's detail. The signature itself consists of the names that it covers and of the
# digest. `signer_account` is there only if something is recorded about the signer's account.
SIGNATURE_KEY = "signature"
MANIFESTATION_KEYS = ("printed_name", "meaning")
ACCOUNT_KEY = "signer_account"
FILE_NAME = "file"  # the name of a change of the bytes


@dataclass(frozen=True, slots=True)
class ElectronicSignature:
    """The signer of one signature, its time and its meaning."""

    signer: Actor
    printed_name: str
    meaning: str
    # Who changed how the signer signs in, and who verified the signer's identity after that.
    account: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def manifestation(self) -> dict[str, str]:
        """Return what every display of the signature shows besides its time, by key."""
        texts = (self.printed_name, self.meaning)
        manifestation = dict(zip(MANIFESTATION_KEYS, texts, strict=True))
        return manifestation | ({ACCOUNT_KEY: self.account} if self.account else {})

    def sign(self, facts: Mapping[str, Any], *, sha256: str = "") -> dict[str, Any]:
        """Return the detail of the entry that is signed.

        That entry must have this `sha256`, and must have occurred at `at`. `facts` is what is
        signed, under names that people understand. Its values are strings, integers and lists of
        them.
        """
        signed = {**facts, **self.manifestation}
        digest = _digest(signed, sha256, write_time(self.at))
        return {**signed, SIGNATURE_KEY: {"over": sorted(signed), "digest": digest}}


def list_signer_changes(entry: Recorded, now: Mapping[str, Any], *, sha256: str = "") -> list[str]:
    """Return the names of what has changed since it was signed. The list is empty if nothing has.

    `now` is the facts as they are today, and `sha256` is the digest of the bytes as they are today.
    """
    detail = entry.detail or {}
    if not is_signature_intact(detail, entry.sha256, write_time(entry.occurred_at)):
        return [SIGNATURE_KEY]
    facts: dict[str, Any] = normalize_text(dict(now))
    differing = [
        name
        for name in detail[SIGNATURE_KEY]["over"]
        if name not in (*MANIFESTATION_KEYS, ACCOUNT_KEY) and facts.get(name) != detail[name]
    ]
    return differing + ([FILE_NAME] if sha256 != entry.sha256 else [])


def is_signature_intact(detail: Mapping[str, Any], sha256: str, occurred_at: str) -> bool:
    """Return whether the digest of a signature is that of the detail, the bytes and the time."""
    signature = detail.get(SIGNATURE_KEY)
    if not isinstance(signature, dict):
        return False
    signed = {name: detail[name] for name in signature["over"] if name in detail}
    return bool(_digest(signed, sha256, occurred_at) == signature["digest"])


def _digest(signed: Mapping[str, Any], sha256: str, occurred_at: str) -> str:
    """Return the SHA-256 of the canonical text (docs/audit-format.md) of what is signed, in hex."""
    value = {"signed": dict(signed), "sha256": sha256, "occurred_at": occurred_at}
    text = format_canonical(normalize_text(value))
    return hashlib.sha256(text.encode()).hexdigest()
