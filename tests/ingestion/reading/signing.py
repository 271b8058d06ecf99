"""Signed PDFs: persons with certificates, their signatures, and changes after signing."""

import asyncio
import hashlib
import io
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pikepdf
from asn1crypto import keys as asn1_keys
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields, signers
from pyhanko.sign.timestamps.dummy_client import DummyTimeStamper
from pyhanko_certvalidator.registry import SimpleCertificateStore

from tests.ingestion.reading.documents import make_pdf

PROTOCOL_PAGE = (
    "PROTOCOL SIGNATURE PAGE",
    "Protocol number: SLX-301",
    "Protocol version: 3.0",
    "Site number: 0203",
    "Principal Investigator: Margaret Whitfield, MD",
    "I have read this protocol and agree to conduct the study as described.",
)
PLACE = (76, 206, 300, 246)  # points from the bottom left: above "Signature of Investigator"
ELSEWHERE = (330, 600, 560, 660)
KEYS = {
    "rsa-1024": lambda: rsa.generate_private_key(65_537, 1_024),  # noqa: S505 - it is refused
    "rsa-2048": lambda: rsa.generate_private_key(65_537, 2_048),
    "p-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p-192": lambda: ec.generate_private_key(ec.SECP192R1()),
    "dsa": lambda: dsa.generate_private_key(2_048),
}


@dataclass(frozen=True)
class Identity:
    """A person or an authority with a key and a chain of certificates, the own one first."""

    key: object
    certificates: tuple[x509.Certificate, ...]

    def signer(self) -> signers.SimpleSigner:
        own, *others = map(_asn1, self.certificates)
        der = self.key.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        store = SimpleCertificateStore()
        store.register_multiple(others)
        return signers.SimpleSigner(own, asn1_keys.PrivateKeyInfo.load(der), store)

    @property
    def pem(self) -> bytes:
        return self.certificates[0].public_bytes(serialization.Encoding.PEM)


@cache
def key(kind: str, _owner: str = ""):
    return KEYS[kind]()


@cache
def make_authority(
    name: str = "Selanex Signing CA", *, issuer: str = "", kind: str = "p-256"
) -> Identity:
    return _certified(name, make_authority(issuer) if issuer else None, kind, is_authority=True)


@cache
def make_person(  # noqa: PLR0913 - each is about the certificate
    name: str = "Margaret Whitfield",
    *,
    issuer: str = "Selanex Signing CA",
    above: str = "",
    kind: str = "p-256",
    days: tuple[int, int] = (-30, 365),
    purpose: str = "",
    weak_issuer: bool = False,
) -> Identity:
    """Return a person whose certificate an authority issued.

    It is self-signed if `issuer` is "". `days` is its validity in days from now.
    """
    made_by = make_authority(issuer, issuer=above, kind="rsa-1024" if weak_issuer else "p-256")
    return _certified(name, made_by if issuer else None, kind, days=days, purpose=purpose)


def _certified(name, issuer, kind, *, days=(-1_500, 3_650), is_authority=False, purpose=""):
    now, own = datetime.now(UTC), key(kind, name)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    by = issuer.certificates[0].subject if issuer else subject
    usage = x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(usage, critical=True)
    )
    if purpose:
        purposes = [getattr(ExtendedKeyUsageOID, purpose)]
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    certificate = builder.sign(issuer.key if issuer else own, hashes.SHA256())
    return Identity(own, (certificate, *(issuer.certificates if issuer else ())))


def _asn1(certificate: x509.Certificate) -> asn1_x509.Certificate:
    return asn1_x509.Certificate.load(certificate.public_bytes(serialization.Encoding.DER))


def write_trusted_issuers(folder: Path, *identities: Identity) -> Path:
    """Write a file of trusted issuers and return its path."""
    path = folder / "issuers.pem"
    path.write_bytes(b"".join(each.pem for each in identities))
    return path


def make_protocol_page(**more) -> bytes:
    return make_pdf(lines=PROTOCOL_PAGE, **more)


def sign(  # noqa: PLR0913 - each is about the signature
    content: bytes,
    who: Identity | None = None,
    *,
    field: str = "Signature1",
    on_page: int = 0,
    box: tuple[int, int, int, int] | None = PLACE,
    stamped_by: Identity | None = None,
    md_algorithm: str = "sha256",
    is_there: bool = False,
    **metadata,
) -> bytes:
    """Return the file with a signature, in a new field unless the field `is_there` already.

    With `box` None, the signature is invisible.
    """
    writer = IncrementalPdfFileWriter(io.BytesIO(content), strict=False)
    if writer.prev.encrypted:
        writer.encrypt(b"")
    meta = signers.PdfSignatureMetadata(field_name=field, md_algorithm=md_algorithm, **metadata)
    stamper = stamped_by and DummyTimeStamper(
        _asn1(stamped_by.certificates[0]),
        stamped_by.signer().signing_key,
        certs_to_embed=stamped_by.signer().cert_registry,
    )
    signer = signers.PdfSigner(
        meta,
        signer=(who or make_person()).signer(),
        timestamper=stamper,
        new_field_spec=None if is_there else fields.SigFieldSpec(field, on_page=on_page, box=box),
    )
    output = io.BytesIO()
    signer.sign_pdf(writer, output=output)
    return output.getvalue()


BYTE_RANGE = re.compile(rb"/ByteRange \[(\d+) (\d+) (\d+) (\d+) *\]")


def signature_gap(content: bytes) -> tuple[int, int]:
    """Return start and end of the last signature, including the brackets around its digits."""
    last = list(BYTE_RANGE.finditer(content))[-1]
    return int(last[2]), int(last[3])


def sign_other_ranges(content: bytes, change, who: Identity | None = None) -> bytes:
    """Return the file with a sound signature over the byte ranges `change(*ranges)`."""
    at = list(BYTE_RANGE.finditer(content))[-1]
    first, end = signature_gap(content)
    ranges = change(*map(int, at.groups()))
    text = b"/ByteRange [%d %d %d %d" % ranges
    assert len(text) < len(at[0])
    content = content[: at.start()] + text.ljust(len(at[0]) - 1) + b"]" + content[at.end() :]
    starts = zip(ranges[::2], ranges[1::2], strict=True)
    digest = hashlib.sha256(b"".join(content[start : start + size] for start, size in starts))
    value = asyncio.run(
        (who or make_person()).signer().async_sign(digest.digest(), "sha256")
    ).dump()
    digits = value.hex().encode().ljust(end - first - 2, b"0")
    return content[: first + 1] + digits + content[end - 1 :]


def update(content: bytes, change) -> bytes:
    """Return the file with an incremental update by `change(writer)`."""
    writer = IncrementalPdfFileWriter(io.BytesIO(content), strict=False)
    change(writer)
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def make_form_page(value: str = "", **more) -> bytes:
    """Return a page with a text field and the signature line."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(make_protocol_page(**more))) as pdf:
        field = pdf.make_indirect(
            pikepdf.Dictionary(
                Type=pikepdf.Name.Annot,
                Subtype=pikepdf.Name.Widget,
                FT=pikepdf.Name.Tx,
                T="lab",
                V=value,
                Rect=[330, 500, 560, 520],
                F=4,
                DA="/Helv 10 Tf 0 g",
            )
        )
        pdf.pages[0].Annots = pdf.make_indirect(pikepdf.Array([field]))
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica
        )
        pdf.Root.AcroForm = pdf.make_indirect(
            pikepdf.Dictionary(
                Fields=pikepdf.Array([field]),
                DA="/Helv 10 Tf 0 g",
                DR=pikepdf.Dictionary(Font=pikepdf.Dictionary(Helv=font)),
            )
        )
        pdf.save(output)
    return output.getvalue()


def fill_in(content: bytes, value: str) -> bytes:
    """Return the file with its text field filled in by an incremental update."""

    def fill(writer: IncrementalPdfFileWriter) -> None:
        for reference in writer.root["/AcroForm"]["/Fields"]:
            field = reference.get_object()
            if field.get("/FT") == "/Tx":
                field["/V"] = generic.pdf_string(value)
                writer.update_container(field)

    return update(content, fill)


def add_false_signature(
    value: bytes, *, content: bytes | None = None, more: bytes = b"", at=PLACE, on_page: int = 0
) -> bytes:
    """Return a page with a signature field in its place, whose value is the given object."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content or make_protocol_page())) as pdf:
        field = pikepdf.Object.parse(
            b"<</Type /Annot /Subtype /Widget /FT /Sig /T (Signature1) /F 4"
            b" /Rect [%d %d %d %d] %b>>" % (*at, more)
        )
        if value:
            field.V = pdf.make_indirect(pikepdf.Object.parse(value))
        field = pdf.make_indirect(field)
        pdf.pages[on_page].Annots = pikepdf.Array([field])
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array([field]), SigFlags=3)
        pdf.save(output)
    return output.getvalue()
