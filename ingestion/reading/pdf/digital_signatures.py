"""Digital signatures of a PDF: what each is worth, and where it is shown.

qpdf lists the fields that have a signature, or pretend to; pyHanko validates each (ISO 32000-2,
section 12.8): the bytes that it covers, what was changed after it, the strength of its key, its
certificate, and who issued that. Nothing is fetched from a network, so that revocation is not
known. What cannot be validated is said to be unchecked, and never passes.

Imported where a file has such a field: pyHanko takes half a second to start.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pikepdf
from asn1crypto import algos, keys, x509
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import (
    DEFAULT_DIFF_POLICY,
    CatalogModificationRule,
    DiffResult,
    DocInfoRule,
    DSSCompareRule,
    FieldComparisonContext,
    FormUpdate,
    FormUpdatingRule,
    MetadataUpdateRule,
    ModificationLevel,
    ObjectStreamRule,
    SigFieldCreationRule,
    SigFieldModificationRule,
    StandardDiffPolicy,
    SuspiciousModification,
    XrefStreamRule,
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
from pyhanko_certvalidator.policy_decl import (
    AlgorithmUsageConstraint,
    DisallowWeakAlgorithmsPolicy,
)

from ingestion.reading.results import Box, DigitalSignature, SignatureResult

from .active_content import (
    QPDF_ERRORS,
    field_ancestry,
    form_fields,
    is_signed_field,
)
from .trusted_issuers import issuers_in

MAX_SIGNATURES = 16  # of one file that are validated; a person looks at a file with more
MAX_SECONDS = 5.0  # of processor time for the signatures of one file; the rest stays unchecked
MAX_CONTENTS_BYTES = 1_000_000  # of one signature; those with all of their evidence have 100,000
MAX_CERTIFICATES = 20  # within one signature; chains have three or four
MIN_RSA_BITS, MIN_CURVE_BITS = 2_048, 224  # NIST SP 800-131A rev. 2, section 3
WEAK_DIGESTS = frozenset({"md2", "md5", "sha1"})
MAX_WIDGET_SHARE = 0.25  # of a page's area: a larger field that is added later hides what is there
MAX_NAME = 120  # characters of a name that are told
# Certificates that are good for nothing but this sign no documents (RFC 5280, section 4.2.1.12).
DAMAGED = {
    SignatureResult.EMPTY,
    SignatureResult.BROKEN,
    SignatureResult.PARTIAL,
    SignatureResult.CHANGED,
}
NOT_FOR_DOCUMENTS = frozenset({"server_auth", "code_signing", "time_stamping", "ocsp_signing"})
_HIDDEN = 1 << 1 | 1 << 5  # flags of an annotation that is not shown: Hidden, NoView
_HEX = re.compile(rb"<[0-9A-Fa-f\s\0]*>")

Rectangle = tuple[float, float, float, float]  # left, bottom, right, top; PDF's own, upwards


@dataclass(frozen=True, slots=True)
class _Widget:
    page: int  # from 1
    rectangle: Rectangle


@dataclass(frozen=True, slots=True)
class _Field:
    """A signed field as qpdf sees it."""

    name: str
    number: tuple[int, int]  # of the object; (0, 0) within another
    is_empty: bool
    is_large: bool  # more contents than are looked at
    widgets: tuple[_Widget, ...]  # that people see


def digital_signatures(
    path: Path, trusted_issuers: Path | None, to_box: Callable[[int, Rectangle], Box]
) -> tuple[DigitalSignature, ...]:
    """Validate the signatures of a PDF, in the order of its fields.

    `to_box` turns a rectangle of a page, by number, into points from its top left corner. Time
    stamps of the whole document that are sound are left out: they sign for nobody. Raises
    TrustedIssuersError, which is our fault and not the file's.
    """
    trusted = issuers_in(trusted_issuers) if trusted_issuers else ()
    try:
        with pikepdf.open(path, password="") as opened:
            found = tuple(_signed_fields(opened))
    except QPDF_ERRORS as error:
        return (unchecked_signature(type(error).__name__),)
    with path.open("rb") as file:
        seen = tuple(_validated(file, found, trusted))
    return tuple(_placed(each, field, to_box) for each, field in seen)


def unchecked_signature(detail: str) -> DigitalSignature:
    """A signature that nobody validated, and why not."""
    return DigitalSignature(SignatureResult.UNCHECKED, detail=detail)


def _signed_fields(opened: pikepdf.Pdf) -> Iterator[_Field]:
    widgets = _widgets(opened)
    for field in form_fields(opened):
        if is_signed_field(field):
            contents = _contents(field.V)
            kids = field.get("/Kids")
            shown = [field, *(kids if isinstance(kids, pikepdf.Array) else ())]
            yield _Field(
                name=_name(field),
                number=field.objgen,
                is_empty=not contents.strip(b"\0"),
                is_large=len(contents) > MAX_CONTENTS_BYTES,
                widgets=tuple(
                    widget
                    for each in shown
                    if isinstance(each, pikepdf.Dictionary) and each.is_indirect
                    for widget in widgets.get(each.objgen, ())
                ),
            )


def _widgets(opened: pikepdf.Pdf) -> dict[tuple[int, int], list[_Widget]]:
    """Return the visible widgets of all pages, by the number of their object."""
    found: dict[tuple[int, int], list[_Widget]] = {}
    for number, page in enumerate(opened.pages, start=1):
        annotations = page.obj.get("/Annots")
        for each in annotations if isinstance(annotations, pikepdf.Array) else ():
            if isinstance(each, pikepdf.Dictionary) and (rectangle := _rectangle(each)):
                found.setdefault(each.objgen, []).append(_Widget(number, rectangle))
    return found


def _rectangle(annotation: pikepdf.Object) -> Rectangle | None:
    """Return where an annotation is shown; None for one that has no area, or is hidden."""
    try:
        x1, y1, x2, y2 = (float(side) for side in annotation.Rect)
        hidden = int(annotation.get("/F", 0)) & _HIDDEN
    except (AttributeError, TypeError, ValueError):
        return None
    rectangle = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    has_area = rectangle[2] - rectangle[0] > 1 and rectangle[3] - rectangle[1] > 1
    return rectangle if has_area and not hidden else None


def _contents(value: pikepdf.Object) -> bytes:
    """Return the bytes of a signature; none where the value does not say what they cover."""
    if not isinstance(value, pikepdf.Dictionary) or "/ByteRange" not in value:
        return b""
    contents = value.get("/Contents")
    return bytes(contents) if isinstance(contents, pikepdf.String) else b""


def _name(field: pikepdf.Object) -> str:
    parts = [
        str(each.T) for each in field_ancestry(field) if isinstance(each.get("/T"), pikepdf.String)
    ]
    return _plain(".".join(reversed(parts)))


def _placed(
    signature: DigitalSignature, field: _Field, to_box: Callable[[int, Rectangle], Box]
) -> DigitalSignature:
    """Return the signature with its place. With several places it is not known to sign any."""
    if len(field.widgets) > 1 and signature.result not in DAMAGED:
        return replace(unchecked_signature("it is shown at several places"), field=field.name)
    for widget in field.widgets[:1]:
        box = to_box(widget.page, widget.rectangle)
        signature = replace(signature, page=widget.page, box=box)
    return replace(signature, field=field.name)


def _validated(
    file: BinaryIO, found: Sequence[_Field], trusted: Sequence[x509.Certificate]
) -> Iterator[tuple[DigitalSignature, _Field]]:
    until = time.process_time() + MAX_SECONDS
    reader: PdfFileReader | DigitalSignature | None = None
    for number, field in enumerate(found):
        if field.is_empty:
            yield DigitalSignature(SignatureResult.EMPTY), field
        elif field.is_large:
            yield unchecked_signature("the signature is too large"), field
        elif number >= MAX_SIGNATURES or time.process_time() > until:
            yield unchecked_signature("the file has too many signatures"), field
        else:
            reader = reader or _opened(file)
            if isinstance(reader, DigitalSignature):
                yield reader, field
            elif signature := _signature(reader, field, trusted):
                yield signature, field


def _opened(file: BinaryIO) -> PdfFileReader | DigitalSignature:
    """Open the file strictly: what pyHanko would guess at, another reader may see otherwise."""
    try:
        reader = PdfFileReader(file, strict=True)
        if reader.encrypted:
            reader.decrypt("")
        reader.root["/Pages"]
    except Exception as error:  # noqa: BLE001 - hostile input raises whatever it likes
        return unchecked_signature(_why(error))
    return reader


def _signature(
    reader: PdfFileReader, field: _Field, trusted: Sequence[x509.Certificate]
) -> DigitalSignature | None:
    """Validate a field's signature. Return None for a sound time stamp of the document."""

    async def guarded() -> DigitalSignature | None:
        try:
            return await _validate(reader, field, trusted)
        except Exception as error:  # noqa: BLE001 - hostile input raises whatever it likes
            return unchecked_signature(_why(error))

    return asyncio.run(guarded())


async def _validate(
    reader: PdfFileReader, field: _Field, trusted: Sequence[x509.Certificate]
) -> DigitalSignature | None:
    number, generation = field.number
    value = reader.get_object(generic.Reference(number, generation, reader))
    if not isinstance(value, generic.DictionaryObject):
        return unchecked_signature("its field is not found")
    embedded = EmbeddedPdfSignature(reader, value, field.name)
    if len(embedded.signed_data["certificates"]) > MAX_CERTIFICATES:
        return unchecked_signature("it brings too many certificates")
    if embedded.sig_object_type == "/DocTimeStamp":
        return await _validate_time_stamp(embedded)
    signed_at = _aware(embedded.self_reported_timestamp)
    if signed_at is None:
        return unchecked_signature("it does not say when it was made")
    context = ValidationContext(
        trust_roots=list(trusted),
        moment=signed_at,
        allow_fetching=False,
        algorithm_usage_policy=_STRENGTH,
    )
    status = await async_validate_pdf_signature(
        embedded,
        signer_validation_context=context,
        diff_policy=_ONLY_SIGNATURES,
        key_usage_settings=KeyUsageConstraints(key_usage={"non_repudiation", "digital_signature"}),
    )
    return _described(embedded, status, signed_at)


async def _validate_time_stamp(embedded: EmbeddedPdfSignature) -> DigitalSignature | None:
    """Validate a time stamp of the document, which only has to be sound: it signs for nobody."""
    status = await async_validate_pdf_timestamp(
        embedded,
        ValidationContext(trust_roots=[], allow_fetching=False),
        diff_policy=_ONLY_SIGNATURES,
    )
    if not (status.intact and status.valid):
        return DigitalSignature(SignatureResult.BROKEN)
    if not _covers_its_revision(embedded):
        return DigitalSignature(SignatureResult.PARTIAL)
    if status.modification_level is ModificationLevel.OTHER:
        return DigitalSignature(SignatureResult.CHANGED)
    return None


def _described(
    embedded: EmbeddedPdfSignature, status: PdfSignatureStatus, signed_at: datetime
) -> DigitalSignature:
    certificate = embedded.signer_cert
    stamp = status.timestamp_validity
    is_timestamped = stamp is not None and stamp.intact and stamp.valid and stamp.trusted
    if stamp is not None and is_timestamped:
        signed_at = stamp.timestamp
    weakness = _weakness(certificate, status.md_algorithm)
    is_last = bool(status.docmdp_ok)
    return DigitalSignature(
        result=_result(embedded, status, signed_at, weakness, is_last=is_last),
        signer=_holder(certificate.subject),
        issuer=_holder(certificate.issuer),
        signed_on=signed_at.astimezone(UTC).date(),
        valid_from=certificate.not_valid_before.astimezone(UTC).date(),
        valid_until=certificate.not_valid_after.astimezone(UTC).date(),
        is_timestamped=is_timestamped,
        is_last=is_last,
        detail=weakness,
    )


def _result(
    embedded: EmbeddedPdfSignature,
    status: PdfSignatureStatus,
    signed_at: datetime,
    weakness: str,
    *,
    is_last: bool,
) -> SignatureResult:
    certificate = embedded.signer_cert
    tests = {
        SignatureResult.BROKEN: not (status.intact and status.valid),
        SignatureResult.PARTIAL: not _covers_its_revision(embedded),
        SignatureResult.CHANGED: not is_last and not _is_allowed_to_fill(embedded),
        SignatureResult.WEAK: bool(weakness),
        SignatureResult.OUT_OF_DATE: not (
            certificate.not_valid_before <= signed_at <= certificate.not_valid_after
        ),
        SignatureResult.UNKNOWN_ISSUER: not status.trusted or _is_for_machines(certificate),
    }
    return next((result for result, holds in tests.items() if holds), SignatureResult.TRUSTED)


def _covers_its_revision(embedded: EmbeddedPdfSignature) -> bool:
    """Return whether it covers all of the file as it was, but for its own bytes in hexadecimal.

    pyHanko compares lengths alone: a signature written in another way would leave room beside it.
    """
    if embedded.evaluate_signature_coverage() < SignatureCoverageLevel.ENTIRE_REVISION:
        return False
    _, end, start, _ = map(int, embedded.byte_range)
    stream = embedded.reader.stream
    stream.seek(end)
    own = stream.read(start - end)
    if not _HEX.fullmatch(own):
        return False
    digits = re.sub(rb"[\s\0]", b"", own[1:-1]).decode()
    return bytes.fromhex(digits + "0" * (len(digits) % 2)) == embedded.pkcs7_content


def _is_allowed_to_fill(embedded: EmbeddedPdfSignature) -> bool:
    """Return whether its author allowed that the form is filled in later, and no more was done."""
    if embedded.docmdp_level not in {MDPPerm.FILL_FORMS, MDPPerm.ANNOTATE}:
        return False
    seen = embedded.evaluate_modifications(DEFAULT_DIFF_POLICY)
    return isinstance(seen, DiffResult) and (
        seen.modification_level <= ModificationLevel.FORM_FILLING
    )


def _weakness(certificate: x509.Certificate, digest: str) -> str:
    """Return what can be forged, in words; "" where nothing is known to be weak."""
    key = certificate.public_key
    if key.algorithm in {"rsa", "rsassa_pss"} and key.bit_size < MIN_RSA_BITS:
        return f"an RSA key of {key.bit_size} bits"
    if key.algorithm == "dsa":
        return "a DSA key"
    if key.algorithm == "ec" and key.bit_size < MIN_CURVE_BITS:
        return f"an elliptic curve of {key.bit_size} bits"
    return f"the digest {digest.upper()}" if digest in WEAK_DIGESTS else ""


def _is_for_machines(certificate: x509.Certificate) -> bool:
    purposes = certificate.extended_key_usage_value
    return purposes is not None and set(purposes.native) <= NOT_FOR_DOCUMENTS


def _holder(name: x509.Name) -> str:
    parts = name.native
    person = " ".join(
        str(parts[part]) for part in ("given_name", "surname") if isinstance(parts.get(part), str)
    )
    known = (parts.get("common_name"), person, parts.get("organization_name"))
    return _plain(next((each for each in known if isinstance(each, str) and each), ""))


def _plain(text: str) -> str:
    """Return the text on one line, printable and bounded: it goes into sentences and records."""
    signs = (sign if sign.isprintable() else " " for sign in text)
    return " ".join("".join(signs).split())[:MAX_NAME]


def _aware(moment: datetime | None) -> datetime | None:
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)


def _why(error: Exception) -> str:
    return _plain(f"{type(error).__name__}: {error}")


class _Strength(DisallowWeakAlgorithmsPolicy):
    """Of all certificates of a chain: pyHanko's own policy knows of no small curves."""

    def signature_algorithm_allowed(
        self,
        algo: algos.SignedDigestAlgorithm,
        moment: datetime | None,
        public_key: keys.PublicKeyInfo | None,
    ) -> AlgorithmUsageConstraint:
        curve = public_key if public_key and public_key.algorithm == "ec" else None
        if curve is not None and curve.bit_size < MIN_CURVE_BITS:
            return AlgorithmUsageConstraint(allowed=False, failure_reason="a small curve")
        return super().signature_algorithm_allowed(algo, moment, public_key)


class _NewFieldsAreSigned(SigFieldCreationRule):
    """A signature field that is added later has to be signed, and may not cover the page."""

    def apply(
        self, context: FieldComparisonContext
    ) -> Iterator[tuple[ModificationLevel, FormUpdate]]:
        for name, spec in context.field_specs.items():
            field = spec.new_field
            if spec.old_field_ref is None and field is not None and spec.field_type == "/Sig":
                _check_new_field(name, field)
        yield from super().apply(context)


def _check_new_field(name: str, field: generic.DictionaryObject) -> None:
    """Raises SuspiciousModification."""
    kids = [kid.get_object() for kid in field.get("/Kids", ())]
    rectangles = [each["/Rect"] for each in (field, *kids) if "/Rect" in each]
    areas = [abs(float(x2 - x1) * float(y2 - y1)) for x1, y1, x2, y2 in rectangles]
    if "/V" not in field and any(areas):
        raise SuspiciousModification(f"field {name} was added and is not signed")
    if any(area > MAX_WIDGET_SHARE * 612 * 792 for area in areas):
        raise SuspiciousModification(f"field {name} was added and covers the page")


_STRENGTH = _Strength(WEAK_DIGESTS, rsa_key_size_threshold=MIN_RSA_BITS)  # type: ignore[no-untyped-call]
# After a signature only further signatures, and what preserves them, may have been added. pyHanko's
# own policy lets values be filled in as well, which the signer has not seen.
_ONLY_SIGNATURES = StandardDiffPolicy(
    global_rules=[
        CatalogModificationRule(),
        *(
            rule.as_qualified(ModificationLevel.LTA_UPDATES)
            for rule in (
                DocInfoRule(),
                XrefStreamRule(),
                ObjectStreamRule(),
                DSSCompareRule(),
                MetadataUpdateRule(),
            )
        ),
    ],
    form_rule=FormUpdatingRule(
        field_rules=[_NewFieldsAreSigned(), SigFieldModificationRule()]  # type: ignore[no-untyped-call]
    ),
)
