"""A token of a time stamp authority (RFC 3161): these bytes existed at that time.

A token shows when a checkpoint existed. The authority keeps no copy, so a token never shows that
the end of the ledger was cut off: verification reports tokens that verify against the pinned
certificates, and they alone never raise its verdict.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx2
from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimeStampRequest,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from audit.signing.places.port import AnchoredNote, AnchorError, AnchorProof


@dataclass(frozen=True, slots=True)
class TimestampAnchor:
    address: str
    certificates: Path  # PEM; those that a token has to lead to
    timeout_seconds: float
    name = "rfc3161"
    keeps_notes = False
    wants_all = False

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        request = (
            TimestampRequestBuilder()
            .data(note.encode())
            .hash_algorithm(HashAlgorithm.SHA256)
            .build()
        )
        content = self._answer(request.as_bytes())
        self._verify(content, request, note)
        return AnchorProof(self.address, base64.b64encode(content).decode())

    def _answer(self, request: bytes) -> bytes:
        headers = {"Content-Type": "application/timestamp-query"}  # RFC 3161, section 3.4
        try:
            answer = httpx2.post(
                self.address, content=request, headers=headers, timeout=self.timeout_seconds
            )
            answer.raise_for_status()
        except httpx2.HTTPError as error:
            raise AnchorError(f"{self.address} gave no token: {_told(error)}.") from error
        return answer.content

    def _verify(self, content: bytes, request: TimeStampRequest, note: str) -> None:
        """Before it is kept: a token that does not hold would be found when it is needed."""
        try:
            self._expect(VerifierBuilder.from_request(request), content, note)
        except (ValueError, VerificationError) as error:
            raise AnchorError(
                f"{self.address} gave a token that does not hold: {error}."
            ) from error

    def _expect(self, builder: VerifierBuilder, content: bytes, note: str) -> None:
        """Raises NotTaken without certificates, ValueError and VerificationError otherwise."""
        try:
            for certificate in x509.load_pem_x509_certificates(self.certificates.read_bytes()):
                builder = builder.add_root_certificate(certificate)
        except OSError as error:
            raise AnchorError(f"{self.certificates} cannot be read: {error.strerror}.") from error
        builder.build().verify_message(decode_timestamp_response(content), note.encode())

    def stamped_at(self, proof: str, note: str) -> datetime:
        """Return the time (UTC) of a receipt's token, verified for this very note.

        Raises NotTaken, with a sentence, for anything but a token of this note that leads to one of
        the pinned certificates.
        """
        try:
            content = base64.b64decode(proof, validate=True)
            self._expect(VerifierBuilder(), content, note)
            return token_time(proof)
        except (ValueError, VerificationError) as error:
            raise AnchorError(f"The time stamp does not verify: {error}.") from error

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        return iter(())

    def weakness(self) -> str:
        return (
            f"The time stamp authority {self.address} keeps no copy: a time stamp shows when a "
            "checkpoint existed, and not that the end of the ledger was cut off."
        )


def _told(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__  # a timeout has no words of its own


def token_time(proof: str) -> datetime:
    """When its authority saw a checkpoint, by a receipt's proof."""
    response: TimeStampResponse = decode_timestamp_response(base64.b64decode(proof))
    return response.tst_info.gen_time
