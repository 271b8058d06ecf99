"""Anchors checkpoints with tokens of a time stamp authority (RFC 3161).

A token shows that a checkpoint existed at a time. The authority keeps no copy, so a token never
shows that the end of the ledger was cut off: verification reports tokens that verify against the
pinned certificates, but tokens alone never improve its verdict.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import httpx2
from cryptography import x509
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from audit.signing.places.port import (
    AnchoredNote,
    AnchorError,
    AnchorProof,
    is_http_address,
)


@dataclass(frozen=True, slots=True)
class TimestampAnchor:
    """A time stamp authority."""

    address: str
    certificates: Path  # PEM; a token has to lead to one of them
    timeout_seconds: float
    name = "rfc3161"
    label = gettext_lazy("RFC 3161 time stamps")
    keeps_notes = False
    wants_all = False

    @classmethod
    def from_settings(cls) -> Self | None:
        """Return the anchor at ANCHOR_TSA, or None if no authority is set."""
        if not settings.ANCHOR_TSA:
            return None
        return cls(
            settings.ANCHOR_TSA,
            Path(settings.ANCHOR_TSA_CERTIFICATES),
            settings.ANCHOR_TIMEOUT_SECONDS,
        )

    @staticmethod
    def check_settings() -> Iterator[CheckMessage]:
        """Yield errors of the authority's address and certificates, if ANCHOR_TSA is set."""
        if not settings.ANCHOR_TSA:
            return
        if not is_http_address(settings.ANCHOR_TSA):
            yield Error(
                "ANCHOR_TSA is not an address.",
                hint="Write http://tsa.example.org, or leave it out.",
                id="audit.E014",
            )
        if not Path(settings.ANCHOR_TSA_CERTIFICATES).is_file():
            yield Error(
                f"ANCHOR_TSA_CERTIFICATES={settings.ANCHOR_TSA_CERTIFICATES} is not a file.",
                hint="Give a PEM file with the authority's root and the certificates below it.",
                id="audit.E015",
            )

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        """Request a time stamp of the checkpoint, and return the verified token as proof.

        Raises AnchorError if the authority does not respond or its token is not valid.
        """
        request = (
            TimestampRequestBuilder()
            .data(note.encode())
            .hash_algorithm(HashAlgorithm.SHA256)
            .build()
        )
        headers = {"Content-Type": "application/timestamp-query"}  # RFC 3161, section 3.4
        try:
            response = httpx2.post(
                self.address,
                content=request.as_bytes(),
                headers=headers,
                timeout=self.timeout_seconds,
            )
            response.raise_for_status()
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__  # A timeout has no message.
            message = _("{address} returned no time stamp: {reason}.")
            raise AnchorError(message.format(address=self.address, reason=reason)) from error
        # The token is verified before it is stored, because an invalid one is useless later.
        try:
            self._verify(VerifierBuilder.from_request(request), response.content, note)
        except (ValueError, VerificationError) as error:
            message = _("{address} returned a time stamp that does not verify: {error}.")
            raise AnchorError(message.format(address=self.address, error=error)) from error
        return AnchorProof(self.address, base64.b64encode(response.content).decode())

    def _verify(self, builder: VerifierBuilder, content: bytes, note: str) -> None:
        """Verify a token of this note.

        Raises AnchorError if the certificates cannot be read, and ValueError or VerificationError
        if the token is not valid.
        """
        try:
            for certificate in x509.load_pem_x509_certificates(self.certificates.read_bytes()):
                builder = builder.add_root_certificate(certificate)
        except OSError as error:
            message = _("{file} cannot be read: {reason}.")
            message = message.format(file=self.certificates, reason=error.strerror)
            raise AnchorError(message) from error
        builder.build().verify_message(decode_timestamp_response(content), note.encode())

    def stamped_at(self, proof: str, note: str) -> datetime:
        """Return the time (UTC) of a receipt's token, after it was verified for this note.

        Raises AnchorError unless it is a token of this note that leads to one of the pinned
        certificates.
        """
        try:
            content = base64.b64decode(proof, validate=True)
            self._verify(VerifierBuilder(), content, note)
            return read_token_time(proof)
        except (ValueError, VerificationError) as error:
            message = _("The time stamp does not verify: {error}.")
            raise AnchorError(message.format(error=error)) from error

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        """Yield nothing, because an authority keeps no copies."""
        return iter(())

    def weakness(self) -> str:
        """Return a sentence about the limit of time stamps: they do not reveal a missing end."""
        return _(
            "The time stamp authority {address} keeps no copy: a time stamp shows when a "
            "checkpoint existed, and not that the end of the ledger was cut off."
        ).format(address=self.address)


def read_token_time(proof: str) -> datetime:
    """Return the time (UTC) of the token in a receipt's proof, which is not verified."""
    response: TimeStampResponse = decode_timestamp_response(base64.b64decode(proof))
    return response.tst_info.gen_time
