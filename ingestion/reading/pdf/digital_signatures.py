"""Validates the digital signatures in a PDF, and finds their places on the pages.

pyHanko validates each signature of `signature_fields` (ISO 32000-2, section 12.8): the bytes that
it covers, the changes after it, the strength of its key, its certificate and the issuer of that.
`signature_policy` defines which keys and changes are accepted. Nothing is fetched from a network,
so revocation is not checked. A signature that cannot be validated is reported as unchecked and
never passes.

This module is imported only for a file with such a field, because pyHanko takes half a second to
start.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pikepdf
from asn1crypto import x509
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import (
    DEFAULT_DIFF_POLICY,
    DiffResult,
    ModificationLevel,
)
from pyhanko.sign.fields import MDPPerm
from pyhanko.sign.validation.pdf_embedded import (
    EmbeddedPdfSignature,
    async_validate_pdf_signature,
    async_validate_pdf_timestamp,
)
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko.sign.validation.status import PdfSignatureStatus, SignatureCoverageLevel
from pyhanko_certvalidator import ValidationContext

from ingestion.reading.images.page_objects import PdfRect
from ingestion.reading.results import Box, DigitalSignature, SignatureResult

from .active_content import QPDF_ERRORS
from .signature_fields import SignatureField, list_signature_fields, make_printable_line
from .signature_policy import SIGNATURES_ONLY_POLICY, STRENGTH_POLICY, find_weakness
from .trusted_issuers import read_issuers

MAX_SIGNATURES = 16  # of one file that are validated; a person examines a file with more
MAX_SECONDS = 5.0  # of processor time for one file, after which the rest stays unchecked
MAX_CERTIFICATES = 20  # within one signature; chains have three or four
# Results that hold for a signature regardless of the place where it is shown.
DAMAGED = {
    SignatureResult.EMPTY,
    SignatureResult.BROKEN,
    SignatureResult.PARTIAL,
    SignatureResult.CHANGED,
}
# A certificate whose purposes are all among these signs no documents (RFC 5280, section 4.2.1.12).
NON_SIGNING_PURPOSES = frozenset({"server_auth", "code_signing", "time_stamping", "ocsp_signing"})
_HEX_STRING = re.compile(rb"<[0-9A-Fa-f\s\0]*>")


def validate_digital_signatures(
    path: Path, trusted_issuers: Path | None, to_box: Callable[[int, PdfRect], Box]
) -> tuple[DigitalSignature, ...]:
    """Validate the signatures of a PDF, in the order of its fields.

    `to_box` converts a rectangle on a page, given by the page's number, to points from the page's
    top left corner. Sound time stamps of the whole document are left out, because they do not sign
    for a person. Raises TrustedIssuersError, which is a fault of the installation and not of the
    file.
    """
    trusted = read_issuers(trusted_issuers) if trusted_issuers else ()
    try:
        with pikepdf.open(path, password="") as opened:
            fields = tuple(list_signature_fields(opened))
    except QPDF_ERRORS as error:
        return (_unchecked(type(error).__name__),)
    with path.open("rb") as file:
        validated = tuple(_validate_fields(file, fields, trusted))
    return tuple(_with_place(signature, field, to_box) for signature, field in validated)


def _unchecked(detail: str) -> DigitalSignature:
    """Return the result for a signature that was not validated, with the reason."""
    return DigitalSignature(SignatureResult.UNCHECKED, detail=detail)


def _with_place(
    signature: DigitalSignature, field: SignatureField, to_box: Callable[[int, PdfRect], Box]
) -> DigitalSignature:
    """Return the signature with the name and the place of its field.

    If it is shown at several places, it is unknown which of them it signs.
    """
    if len(field.widgets) > 1 and signature.result not in DAMAGED:
        return replace(_unchecked("it is shown at several places"), field=field.name)
    for widget in field.widgets[:1]:
        box = to_box(widget.page, widget.rect)
        signature = replace(signature, page=widget.page, box=box)
    return replace(signature, field=field.name)


def _validate_fields(
    file: BinaryIO, fields: Sequence[SignatureField], trusted: Sequence[x509.Certificate]
) -> Iterator[tuple[DigitalSignature, SignatureField]]:
    """Yield the result of each field. pyHanko opens the file when the first field needs it."""
    deadline = time.process_time() + MAX_SECONDS
    reader: PdfFileReader | DigitalSignature | None = None
    for index, field in enumerate(fields):
        if field.is_empty:
            yield DigitalSignature(SignatureResult.EMPTY), field
        elif field.is_large:
            yield _unchecked("the signature is too large"), field
        elif index >= MAX_SIGNATURES or time.process_time() > deadline:
            yield _unchecked("the file has too many signatures"), field
        else:
            reader = reader or _open_strictly(file)
            if isinstance(reader, DigitalSignature):
                yield reader, field
            elif signature := _validate_guarded(reader, field, trusted):
                yield signature, field


def _open_strictly(file: BinaryIO) -> PdfFileReader | DigitalSignature:
    """Open the file in strict mode, or return the reason as an unchecked signature.

    Where pyHanko would guess, another reader may see something else.
    """
    try:
        reader = PdfFileReader(file, strict=True)
        if reader.encrypted:
            reader.decrypt("")
        reader.root["/Pages"]
    except Exception as error:  # noqa: BLE001 - hostile input raises any exception
        return _unchecked(_describe_error(error))
    return reader


def _validate_guarded(
    reader: PdfFileReader, field: SignatureField, trusted: Sequence[x509.Certificate]
) -> DigitalSignature | None:
    """Validate a field's signature. Return None for a sound time stamp of the document."""

    async def validate() -> DigitalSignature | None:
        try:
            return await _validate(reader, field, trusted)
        except Exception as error:  # noqa: BLE001 - hostile input raises any exception
            return _unchecked(_describe_error(error))

    return asyncio.run(validate())


async def _validate(
    reader: PdfFileReader, field: SignatureField, trusted: Sequence[x509.Certificate]
) -> DigitalSignature | None:
    number, generation = field.number
    value = reader.get_object(generic.Reference(number, generation, reader))
    if not isinstance(value, generic.DictionaryObject):
        return _unchecked("its field is not found")
    embedded = EmbeddedPdfSignature(reader, value, field.name)
    if len(embedded.signed_data["certificates"]) > MAX_CERTIFICATES:
        return _unchecked("it brings too many certificates")
    if embedded.sig_object_type == "/DocTimeStamp":
        return await _validate_time_stamp(embedded)
    signed_at = embedded.self_reported_timestamp
    if signed_at is None:
        return _unchecked("it does not say when it was made")
    if signed_at.tzinfo is None:
        signed_at = signed_at.replace(tzinfo=UTC)
    context = ValidationContext(
        trust_roots=list(trusted),
        moment=signed_at,
        allow_fetching=False,
        algorithm_usage_policy=STRENGTH_POLICY,
    )
    status = await async_validate_pdf_signature(
        embedded,
        signer_validation_context=context,
        diff_policy=SIGNATURES_ONLY_POLICY,
        key_usage_settings=KeyUsageConstraints(key_usage={"non_repudiation", "digital_signature"}),
    )
    return _describe(embedded, status, signed_at)


async def _validate_time_stamp(embedded: EmbeddedPdfSignature) -> DigitalSignature | None:
    """Validate a time stamp of the document. Return None if it is sound.

    Its issuer does not matter, because it does not sign for a person.
    """
    status = await async_validate_pdf_timestamp(
        embedded,
        ValidationContext(trust_roots=[], allow_fetching=False),
        diff_policy=SIGNATURES_ONLY_POLICY,
    )
    if not (status.intact and status.valid):
        return DigitalSignature(SignatureResult.BROKEN)
    if not _covers_its_revision(embedded):
        return DigitalSignature(SignatureResult.PARTIAL)
    if status.modification_level is ModificationLevel.OTHER:
        return DigitalSignature(SignatureResult.CHANGED)
    return None


def _describe(
    embedded: EmbeddedPdfSignature, status: PdfSignatureStatus, signed_at: datetime
) -> DigitalSignature:
    """Return the result of a validated signature, with signer, issuer and dates."""
    certificate = embedded.signer_cert
    stamp = status.timestamp_validity
    is_timestamped = stamp is not None and stamp.intact and stamp.valid and stamp.trusted
    if stamp is not None and is_timestamped:
        signed_at = stamp.timestamp
    weakness = find_weakness(certificate, status.md_algorithm)
    is_last = bool(status.docmdp_ok)
    return DigitalSignature(
        result=_worst_result(embedded, status, signed_at, weakness, is_last=is_last),
        signer=_holder(certificate.subject),
        issuer=_holder(certificate.issuer),
        signed_on=signed_at.astimezone(UTC).date(),
        valid_from=certificate.not_valid_before.astimezone(UTC).date(),
        valid_until=certificate.not_valid_after.astimezone(UTC).date(),
        is_timestamped=is_timestamped,
        is_last=is_last,
        weakness=weakness,
        bits=certificate.public_key.bit_size or 0,
        digest=status.md_algorithm.upper(),
    )


def _worst_result(
    embedded: EmbeddedPdfSignature,
    status: PdfSignatureStatus,
    signed_at: datetime,
    weakness: str,
    *,
    is_last: bool,
) -> SignatureResult:
    certificate = embedded.signer_cert
    defects = {
        SignatureResult.BROKEN: not (status.intact and status.valid),
        SignatureResult.PARTIAL: not _covers_its_revision(embedded),
        SignatureResult.CHANGED: not is_last and not _is_permitted_filling(embedded),
        SignatureResult.WEAK: bool(weakness),
        SignatureResult.OUT_OF_DATE: not (
            certificate.not_valid_before <= signed_at <= certificate.not_valid_after
        ),
        SignatureResult.UNKNOWN_ISSUER: not status.trusted or _is_for_machines(certificate),
    }
    return next((result for result, applies in defects.items() if applies), SignatureResult.TRUSTED)


def _is_for_machines(certificate: x509.Certificate) -> bool:
    """Return whether a certificate is for servers, code and the like, and not for documents."""
    purposes = certificate.extended_key_usage_value
    return purposes is not None and set(purposes.native) <= NON_SIGNING_PURPOSES


def _covers_its_revision(embedded: EmbeddedPdfSignature) -> bool:
    """Return whether a signature covers all of the file's revision except its own hex string.

    pyHanko compares lengths only. A signature that is written in another way would leave room for
    other content beside it.
    """
    if embedded.evaluate_signature_coverage() < SignatureCoverageLevel.ENTIRE_REVISION:
        return False
    _, end, start, _ = map(int, embedded.byte_range)
    stream = embedded.reader.stream
    stream.seek(end)
    gap = stream.read(start - end)
    if not _HEX_STRING.fullmatch(gap):
        return False
    digits = re.sub(rb"[\s\0]", b"", gap[1:-1]).decode()
    return bytes.fromhex(digits + "0" * (len(digits) % 2)) == embedded.pkcs7_content


def _is_permitted_filling(embedded: EmbeddedPdfSignature) -> bool:
    """Return whether the form was only filled in later, and the signer permitted that."""
    if embedded.docmdp_level not in {MDPPerm.FILL_FORMS, MDPPerm.ANNOTATE}:
        return False
    changes = embedded.evaluate_modifications(DEFAULT_DIFF_POLICY)
    return isinstance(changes, DiffResult) and (
        changes.modification_level <= ModificationLevel.FORM_FILLING
    )


def _holder(name: x509.Name) -> str:
    """Return the name of a certificate's holder: common name, person or organisation."""
    parts = name.native
    person = " ".join(
        str(parts[part]) for part in ("given_name", "surname") if isinstance(parts.get(part), str)
    )
    known = (parts.get("common_name"), person, parts.get("organization_name"))
    return make_printable_line(next((each for each in known if isinstance(each, str) and each), ""))


def _describe_error(error: Exception) -> str:
    return make_printable_line(f"{type(error).__name__}: {error}")
