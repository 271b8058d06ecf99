"""The registry of finding codes: how bad each is, and what it does to the document.

Its order is fixed: between two findings of the same weight, the one that stands
first here is the primary one. The sentences that people read are in `copy`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Severity(StrEnum):
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


class Disposition(StrEnum):
    """What a finding does to its document, worst first."""

    HOLD = "hold"  #: our fault or the portal's: ops sees to it, the site is not troubled
    REJECT = "reject"  #: the site can mend it
    REVIEW = "review"  #: QA decides
    WARN = "warn"  #: filed, with a remark
    INFO = "info"


@dataclass(frozen=True, slots=True)
class FindingCode:
    code: str
    severity: Severity
    disposition: Disposition
    quarantine: bool = False  # the bytes are withheld from all but QA (decision 16)
    only_overridden: bool = False  # a simple release does not file it: somebody has to overrule it


_CRITICAL, _MAJOR, _MINOR, _INFO = Severity
_HOLD, _REJECT, _REVIEW, _WARN, _TELL = Disposition

_REGISTRY = (
    FindingCode("DOWNLOAD_FAILED", _MAJOR, _REJECT),
    FindingCode("PORTAL_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("STORAGE_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("SCANNER_UNAVAILABLE", _MAJOR, _HOLD),
    FindingCode("CAPACITY", _MINOR, _HOLD),
    FindingCode("INTERNAL_ERROR", _MAJOR, _HOLD),
    FindingCode("POISON", _MAJOR, _HOLD),
    FindingCode("DUPLICATE_CONTENT", _INFO, _TELL),
    FindingCode("MALWARE_SUSPECTED", _CRITICAL, _REVIEW, quarantine=True),
    FindingCode("EMPTY_FILE", _CRITICAL, _REJECT),
    FindingCode("FILE_TOO_LARGE", _CRITICAL, _REJECT),
    FindingCode("UNSUPPORTED_TYPE", _CRITICAL, _REJECT),
    FindingCode("DYNAMIC_XFA_FORM", _CRITICAL, _REJECT),
    FindingCode("TYPE_MISMATCH", _MAJOR, _REJECT),
    FindingCode("CHECKSUM_MISMATCH", _CRITICAL, _REJECT),
    FindingCode("ACTIVE_CONTENT", _CRITICAL, _REVIEW, quarantine=True),
    FindingCode("ENCRYPTED_DOCUMENT", _CRITICAL, _REJECT),
    FindingCode("CORRUPT_DOCUMENT", _CRITICAL, _REJECT),
    FindingCode("PARSER_FAILURE", _CRITICAL, _REJECT),
    FindingCode("ILLEGIBLE_SCAN", _CRITICAL, _REJECT),
    FindingCode("PHI_SUSPECTED", _CRITICAL, _REVIEW, quarantine=True),
    FindingCode("MULTIPLE_DOCUMENTS", _MAJOR, _REVIEW),
    FindingCode("BLANK_OR_MISSING_PAGE", _MAJOR, _REVIEW),
    FindingCode("DOC_TYPE_CONFLICT", _MAJOR, _REVIEW),
    FindingCode("DOC_TYPE_UNRECOGNIZED", _MAJOR, _REVIEW),
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
    # Mismatches go to a person (decision 16): the register may be what is wrong.
    FindingCode("SITE_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PROTOCOL_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PROTOCOL_VERSION_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("PERSON_MISMATCH", _MAJOR, _REVIEW, only_overridden=True),
    FindingCode("PERSON_NOT_READ", _MAJOR, _REVIEW, only_overridden=True),
    FindingCode("LAB_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("IRB_MISMATCH", _MAJOR, _REVIEW),
    FindingCode("OCR_LOW_CONFIDENCE", _MINOR, _REVIEW),
    FindingCode("EXPIRES_SOON", _MINOR, _WARN),
    FindingCode("FORM_EDITION_OUTDATED", _INFO, _WARN),
    FindingCode("PACKET_INCOMPLETE", _MINOR, _WARN),
    FindingCode("QA_REJECTED", _MAJOR, _REJECT),
)

CODES: Mapping[str, FindingCode] = MappingProxyType({entry.code: entry for entry in _REGISTRY})

_DISPOSITIONS, _SEVERITIES, _ORDER = list(Disposition), list(Severity), list(CODES)


def weight(code: str, *, is_remark: bool = False) -> tuple[int, int, int]:
    """Sorts findings, the primary one first: by what it does, how bad it is, and its place here.

    `is_remark`: it does no more than warn, whatever its code would do.
    """
    entry = CODES[code]
    return (
        _DISPOSITIONS.index(Disposition.WARN if is_remark else entry.disposition),
        _SEVERITIES.index(entry.severity),
        _ORDER.index(code),
    )
