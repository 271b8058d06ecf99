"""Signs documents digitally, with a key and a self-signed certificate made at run time."""

import io
from datetime import UTC, datetime, timedelta

from asn1crypto import keys
from asn1crypto import x509 as asn1
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields, signers
from pyhanko_certvalidator.registry import SimpleCertificateStore

FIELD_RECT = (72, 200, 300, 240)  # points: left, bottom, right, top


def sign(content: bytes, *, times: int = 1) -> bytes:
    """Return the file with `times` signatures, each in an incremental update of its own."""
    signer = _make_signer()
    for number in range(times):
        name = f"Signature{number}"
        writer = IncrementalPdfFileWriter(io.BytesIO(content))
        output = io.BytesIO()
        signers.PdfSigner(
            signers.PdfSignatureMetadata(field_name=name, md_algorithm="sha256"),
            signer=signer,
            new_field_spec=fields.SigFieldSpec(name, box=FIELD_RECT),
        ).sign_pdf(writer, output=output)
        content = output.getvalue()
    return content


def _make_signer() -> signers.SimpleSigner:
    """Return a signer with a self-signed certificate.

    The search for its chain fails, which takes as much time as a search that succeeds.
    """
    key, now = rsa.generate_private_key(65_537, 2_048), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Margaret Whitfield")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    der = serialization.Encoding.DER
    private = key.private_bytes(
        der, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return signers.SimpleSigner(
        asn1.Certificate.load(certificate.public_bytes(der)),
        keys.PrivateKeyInfo.load(private),
        SimpleCertificateStore(),
    )
