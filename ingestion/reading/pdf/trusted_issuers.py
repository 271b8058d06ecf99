"""Reads the certificates of issuers that this installation trusts for the signers of PDFs."""

from functools import lru_cache
from pathlib import Path

from asn1crypto import pem, x509


class TrustedIssuersError(Exception):
    """The file of trusted issuers cannot be read. The message has its name and the reason."""


def read_issuers(path: Path) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM file, which is read again after it has changed.

    Raises TrustedIssuersError.
    """
    try:
        modified = path.stat().st_mtime_ns
    except OSError as error:
        raise TrustedIssuersError(f"{path}: {error.strerror}") from error
    return _read(path, modified)


@lru_cache(maxsize=4)
def _read(path: Path, _modified: int) -> tuple[x509.Certificate, ...]:
    try:
        blocks = pem.unarmor(path.read_bytes(), multiple=True)
        certificates = tuple(
            x509.Certificate.load(der) for kind, _, der in blocks if "CERT" in kind
        )
        for certificate in certificates:  # asn1crypto parses a value when it is accessed
            _ = certificate.subject.native, certificate.public_key.bit_size
    except OSError as error:
        raise TrustedIssuersError(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise TrustedIssuersError(f"{path}: there is no certificate in PEM in it") from error
    if not certificates:
        raise TrustedIssuersError(f"{path}: there is no certificate in PEM in it")
    return certificates
