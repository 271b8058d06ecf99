"""What an answer says that its bytes hash to. Pure.

The manifest's word comes first, then that of the representation (RFC 9530, `Repr-Digest`), of the
message (`Content-Digest`), and of an S3 store. An ETag is never a digest. Algorithms that RFC 9530
does not hold safe, or that nobody knows, are passed over; so is a field that cannot be read.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512"}  # RFC 9530, 7.2: "active"; best first

# One member of a structured dictionary whose value is a byte sequence (RFC 8941, 3.2 and 3.3.5).
_MEMBER = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:\s*;[^,]*)?")


@dataclass(frozen=True, slots=True)
class ClaimedDigest:
    """That the whole file has this digest."""

    algorithm: str  # as hashlib names it
    digest: str  # hexadecimal

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(values["algorithm"], values["digest"])


def read_claimed_digest(
    manifest_sha256: str, headers: Mapping[str, str], *, whole: bool
) -> ClaimedDigest | None:
    """The claim to be checked. `whole`: the message is the whole file, not a part (206)."""
    if manifest_sha256:
        return ClaimedDigest("sha256", manifest_sha256.lower())
    fields = ["Repr-Digest", "Content-Digest"] if whole else ["Repr-Digest"]
    for field in fields:
        if claim := _strongest(headers.get(field, "")):
            return claim
    return _from_s3(headers) if whole else None


def _strongest(value: str) -> ClaimedDigest | None:
    digests = _parsed(value)
    for name, algorithm in ALGORITHMS.items():
        if digest := digests.get(name):
            return ClaimedDigest(algorithm, digest.hex())
    return None


def _parsed(value: str) -> dict[str, bytes]:
    """Empty when any member is malformed: RFC 8941, 4.2, wants the whole field ignored then."""
    digests = {}
    for member in value.split(","):
        match = _MEMBER.fullmatch(member.strip())
        content = _bytes(match[2]) if match else None
        if match is None or content is None:
            return {}
        digests[match[1]] = content
    return digests


def _from_s3(headers: Mapping[str, str]) -> ClaimedDigest | None:
    # A multipart upload has the digest of its parts' digests, written "...-<number of parts>".
    if headers.get("x-amz-checksum-type", "").upper() == "COMPOSITE":
        return None
    digest = _bytes(headers.get("x-amz-checksum-sha256", ""))
    return ClaimedDigest("sha256", digest.hex()) if digest and len(digest) == 32 else None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
