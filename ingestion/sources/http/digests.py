"""Reads which digest a manifest or a response claims for the bytes of a file. Pure functions.

The digest of the manifest has precedence, then that of the representation (RFC 9530,
`Repr-Digest`), that of the message (`Content-Digest`), and that of an S3 store. An ETag is never a
digest. Algorithms that are unknown, or that RFC 9530 considers insecure, are ignored, and so is a
field that cannot be parsed.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

# The "active" algorithms of RFC 9530, section 7.2, and their names in hashlib. Best first.
ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512"}

# One member of a structured dictionary whose value is a byte sequence (RFC 8941, sections 3.2 and
# 3.3.5).
_MEMBER = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:\s*;[^,]*)?")


@dataclass(frozen=True, slots=True)
class ClaimedDigest:
    """Holds the digest that a manifest or a response claims for the whole file."""

    algorithm: str  # as hashlib names it
    digest: str  # hexadecimal

    def as_dict(self) -> dict[str, Any]:
        """Return the claim as it is stored."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the claim that `as_dict` stored."""
        return cls(values["algorithm"], values["digest"])


def read_claimed_digest(
    manifest_sha256: str, headers: Mapping[str, str], *, whole: bool
) -> ClaimedDigest | None:
    """Return the digest to compare with, or None if there is no usable one.

    `whole` says that the message is the whole file, not a part of it (status 206). Only then do
    the digest of the message and that of S3 apply.
    """
    if manifest_sha256:
        return ClaimedDigest("sha256", manifest_sha256.lower())
    fields = ["Repr-Digest", "Content-Digest"] if whole else ["Repr-Digest"]
    for field in fields:
        digests = _parse_digest_field(headers.get(field, ""))
        for name, algorithm in ALGORITHMS.items():
            if digest := digests.get(name):
                return ClaimedDigest(algorithm, digest.hex())
    return _read_s3_digest(headers) if whole else None


def _parse_digest_field(value: str) -> dict[str, bytes]:
    """Return the digests of a field, by algorithm.

    The result is empty if any member is malformed: then RFC 8941, section 4.2, requires that the
    whole field is ignored.
    """
    digests = {}
    for member in value.split(","):
        match = _MEMBER.fullmatch(member.strip())
        digest = _decode_base64(match[2]) if match else None
        if match is None or digest is None:
            return {}
        digests[match[1]] = digest
    return digests


def _read_s3_digest(headers: Mapping[str, str]) -> ClaimedDigest | None:
    # The digest of a multipart upload is that of the digests of its parts ("...-<number>").
    if headers.get("x-amz-checksum-type", "").upper() == "COMPOSITE":
        return None
    digest = _decode_base64(headers.get("x-amz-checksum-sha256", ""))
    return ClaimedDigest("sha256", digest.hex()) if digest and len(digest) == 32 else None


def _decode_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
