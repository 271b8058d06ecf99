"""Registers the finding codes: the severity of each, and its effect on the document.

The order of the registry is fixed: of two findings with the same disposition and severity, the one
whose code comes first is the primary finding. The messages for people are in `messages`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Severity(StrEnum):
    """Lists the severities of findings, the worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


class Disposition(StrEnum):
    """Lists the consequences that a finding may have for its document, the worst first."""

    HOLD = "hold"  #: a problem of ours or of the portal, for operations; the site has nothing to do
    REJECT = "reject"  #: the site can correct it
    REVIEW = "review"  #: QA decides about it
    WARN = "warn"  #: the document is filed, with a remark
    INFO = "info"


@dataclass(frozen=True, slots=True)
class FindingCode:
    """Describes a kind of finding: its severity, and what happens to the document."""

    code: str
    severity: Severity
    disposition: Disposition
    quarantine: bool = False  # only QA may open the file
    # Whether only QA may open the original for ever. People see pictures of its pages instead.
    locks_original: bool = False
    only_overridden: bool = False  # QA can file the document only by overriding this finding


_CRITICAL, _MAJOR, _MINOR, _INFO = Severity
_HOLD, _REJECT, _REVIEW, _WARN, _INFORM = Disposition

_REGISTRY = (
    FindingCode("DOWNLOAD_FAILED", _MAJOR, _REJECT),
    FindingCode("PORTAL_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("STORAGE_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("SCANNER_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("CONVERTER_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("CAPACITY", _MINOR, _HOLD),
    FindingCode("LANGUAGE_NOT_INSTALLED", _MAJOR, _HOLD),
    FindingCode("INTERNAL_ERROR", _MAJOR, _HOLD),
    FindingCode("POISON", _MAJOR, _HOLD),
    FindingCode("DUPLICATE_CONTENT", _INFO, _INFORM),
    FindingCode("MALWARE_SUSPECTED", _CRITICAL, _REVIEW, quarantine=True),
    FindingCode("EMPTY_FILE", _CRITICAL, _REJECT),
    FindingCode("FILE_TOO_LARGE", _CRITICAL, _REJECT),
    FindingCode("UNSUPPORTED_TYPE", _CRITICAL, _REJECT),
    FindingCode("DYNAMIC_XFA_FORM", _CRITICAL, _REJECT),
    FindingCode("TYPE_MISMATCH", _MAJOR, _REJECT),
    FindingCode("CHECKSUM_MISMATCH", _CRITICAL, _REJECT),
    FindingCode("ACTIVE_CONTENT", _CRITICAL, _REVIEW, quarantine=True, locks_original=True),
    FindingCode("ENCRYPTED_DOCUMENT", _CRITICAL, _REJECT),
    FindingCode("CORRUPT_DOCUMENT", _CRITICAL, _REJECT),
    FindingCode("PARSER_FAILURE", _CRITICAL, _REJECT),
    FindingCode("CONVERSION_FAILED", _CRITICAL, _REJECT),
    FindingCode("CONTAINER_REFUSED", _CRITICAL, _REJECT),
    FindingCode("ENTRY_IN_DOUBT", _MAJOR, _REVIEW),
    FindingCode("ILLEGIBLE_SCAN", _CRITICAL, _REJECT),
    FindingCode("PHI_SUSPECTED", _CRITICAL, _REVIEW, quarantine=True),
    FindingCode("MULTIPLE_DOCUMENTS", _MAJOR, _REVIEW),
    FindingCode("BLANK_OR_MISSING_PAGE", _MAJOR, _REVIEW),
    # Marks that people add. QA decides what they mean for the document.
    FindingCode("STAMPED_VOID", _MAJOR, _REVIEW),
    FindingCode("STAMPED_SUPERSEDED", _MAJOR, _REVIEW),
    FindingCode("STAMPED_DRAFT", _MAJOR, _REVIEW),
    FindingCode("TEXT_COVERED", _MAJOR, _REVIEW),
    FindingCode("TEXT_STRUCK_OUT", _MAJOR, _REVIEW),
    FindingCode("DOC_TYPE_CONFLICT", _MAJOR, _REVIEW),
    FindingCode("DOC_TYPE_UNRECOGNIZED", _MAJOR, _REVIEW),
    FindingCode("NOT_FINAL", _MAJOR, _REVIEW),
    FindingCode("UNFILLED_TEMPLATE", _MAJOR, _REVIEW),
    FindingCode("BLANK_FORM", _MAJOR, _REJECT),
    FindingCode("FORM_PAGES_MIXED", _MAJOR, _REVIEW),
    FindingCode("SCHEMA_MISMATCH", _MAJOR, _REJECT),
    FindingCode("SIGNATURE_BROKEN", _CRITICAL, _REJECT),
    FindingCode("SIGNATURE_PARTIAL", _CRITICAL, _REJECT),
    FindingCode("SIGNATURE_EMPTY", _MAJOR, _REJECT),
    FindingCode("SIGNATURE_OUTDATED", _CRITICAL, _REVIEW),
    FindingCode("SIGNATURE_UNVERIFIED", _MAJOR, _REVIEW),
    FindingCode("SIGNATURE_WEAK", _MAJOR, _REJECT),
    FindingCode("SIGNATURE_CERTIFICATE_EXPIRED", _MAJOR, _REJECT),
    FindingCode("SIGNATURE_ISSUER_UNKNOWN", _MAJOR, _REVIEW),
    FindingCode("SIGNATURE_MISPLACED", _MAJOR, _REVIEW),
    FindingCode("SIGNER_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("SIGNATURE_MISSING", _MAJOR, _REJECT),
    FindingCode("SIGNATURE_DATE_MISSING", _MAJOR, _REJECT),
    FindingCode("EXPIRED_DOCUMENT", _MAJOR, _REJECT),
    FindingCode("STALE_DOCUMENT", _MAJOR, _REJECT),
    FindingCode("DATE_IN_FUTURE", _MAJOR, _REJECT),
    FindingCode("DATE_INVALID", _MAJOR, _REJECT),
    FindingCode("DATE_OUT_OF_SEQUENCE", _MAJOR, _REJECT),
    # QA decides about mismatches, because our own site data may be wrong.
    FindingCode("SITE_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PROTOCOL_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PROTOCOL_VERSION_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PERSON_MISMATCH", _MAJOR, _REVIEW, only_overridden=True),
    FindingCode("PERSON_NOT_READ", _MAJOR, _REVIEW, only_overridden=True),
    FindingCode("LAB_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("IRB_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("VALUE_NEARLY_MATCHES", _MAJOR, _REVIEW, only_overridden=True),
    FindingCode("VALUE_IN_DOUBT", _MINOR, _REVIEW),
    FindingCode("OCR_LOW_CONFIDENCE", _MINOR, _REVIEW),
    FindingCode("EXPIRES_SOON", _MINOR, _WARN),
    FindingCode("FORM_EDITION_OUTDATED", _INFO, _WARN),
    FindingCode("FORM_NOT_REGISTERED", _INFO, _WARN),
    FindingCode("TEXT_CORRECTED", _INFO, _WARN),
    FindingCode("STAMPED_COPY", _INFO, _WARN),
    FindingCode("STAMPED_RECEIVED", _INFO, _WARN),
    FindingCode("PACKET_INCOMPLETE", _MINOR, _WARN),
    FindingCode("QA_REJECTED", _MAJOR, _REJECT),
)

CODES: Mapping[str, FindingCode] = MappingProxyType({entry.code: entry for entry in _REGISTRY})

_DISPOSITIONS, _SEVERITIES, _ORDER = list(Disposition), list(Severity), list(CODES)


def sort_key(code: str, *, is_remark: bool = False) -> tuple[int, int, int]:
    """Return a key that sorts findings by disposition, severity and place in the registry.

    The finding with the smallest key is the primary one. A remark counts as a warning, whatever
    its code would do.
    """
    entry = CODES[code]
    return (
        _DISPOSITIONS.index(Disposition.WARN if is_remark else entry.disposition),
        _SEVERITIES.index(entry.severity),
        _ORDER.index(code),
    )
