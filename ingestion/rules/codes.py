"""The registry of finding codes: who has to act, how bad it is, and what it does to the document.

Its order is fixed: between two findings of the same weight, the one that stands
first here is the primary one. The sentences that people read are in `copy`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Category(StrEnum):
    TRANSPORT = "transport"
    INTAKE = "intake"
    PARSE = "parse"
    SCHEMA = "schema"
    COMPLIANCE = "compliance"
    RECONCILIATION = "reconciliation"
    PRIVACY = "privacy"
    PACKET = "packet"
    HUMAN = "human"


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


class Owner(StrEnum):
    SITE = "site"
    QA = "QA"
    OPS = "ops"
    NOBODY = ""


@dataclass(frozen=True, slots=True)
class FindingCode:
    code: str
    category: Category
    severity: Severity
    disposition: Disposition
    owner: Owner
    retryable: bool = False  # the machine may try again by itself
    quarantine: bool = False  # the bytes are withheld from all but QA (decision 16)


_CRITICAL, _MAJOR, _MINOR, _INFO = Severity
_HOLD, _REJECT, _REVIEW, _WARN, _TELL = Disposition
_SITE, _QA, _OPS, _NOBODY = Owner
_C = Category

_REGISTRY = (
    FindingCode("DOWNLOAD_FAILED", _C.TRANSPORT, _MAJOR, _REJECT, _OPS, retryable=True),
    FindingCode("PORTAL_UNAVAILABLE", _C.TRANSPORT, _MAJOR, _HOLD, _OPS, retryable=True),
    FindingCode("STORAGE_UNAVAILABLE", _C.TRANSPORT, _MAJOR, _HOLD, _OPS, retryable=True),
    FindingCode("SCANNER_UNAVAILABLE", _C.TRANSPORT, _MAJOR, _HOLD, _OPS, retryable=True),
    FindingCode("CAPACITY", _C.TRANSPORT, _MINOR, _HOLD, _OPS, retryable=True),
    FindingCode("INTERNAL_ERROR", _C.TRANSPORT, _MAJOR, _HOLD, _OPS, retryable=True),
    FindingCode("POISON", _C.TRANSPORT, _MAJOR, _HOLD, _OPS),
    FindingCode("DUPLICATE_CONTENT", _C.INTAKE, _INFO, _TELL, _NOBODY),
    FindingCode("MALWARE_SUSPECTED", _C.INTAKE, _CRITICAL, _REVIEW, _OPS, quarantine=True),
    FindingCode("EMPTY_FILE", _C.INTAKE, _CRITICAL, _REJECT, _SITE),
    FindingCode("FILE_TOO_LARGE", _C.INTAKE, _CRITICAL, _REJECT, _SITE),
    FindingCode("UNSUPPORTED_TYPE", _C.INTAKE, _CRITICAL, _REJECT, _SITE),
    FindingCode("TYPE_MISMATCH", _C.INTAKE, _MAJOR, _REJECT, _SITE),
    FindingCode("CHECKSUM_MISMATCH", _C.INTAKE, _CRITICAL, _REJECT, _SITE, retryable=True),
    FindingCode("ACTIVE_CONTENT", _C.INTAKE, _CRITICAL, _REVIEW, _OPS, quarantine=True),
    FindingCode("ENCRYPTED_DOCUMENT", _C.PARSE, _CRITICAL, _REJECT, _SITE),
    FindingCode("CORRUPT_DOCUMENT", _C.PARSE, _CRITICAL, _REJECT, _SITE),
    FindingCode("PARSER_FAILURE", _C.PARSE, _CRITICAL, _REJECT, _SITE),
    FindingCode("ILLEGIBLE_SCAN", _C.PARSE, _CRITICAL, _REJECT, _SITE),
    FindingCode("PHI_SUSPECTED", _C.PRIVACY, _CRITICAL, _REVIEW, _QA, quarantine=True),
    FindingCode("BLANK_OR_MISSING_PAGE", _C.PARSE, _MAJOR, _REVIEW, _QA),
    FindingCode("DOC_TYPE_CONFLICT", _C.SCHEMA, _MAJOR, _REVIEW, _QA),
    FindingCode("DOC_TYPE_UNRECOGNIZED", _C.SCHEMA, _MAJOR, _REVIEW, _QA),
    FindingCode("SCHEMA_MISMATCH", _C.SCHEMA, _MAJOR, _REJECT, _SITE),
    FindingCode("SIGNATURE_MISSING", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("SIGNATURE_DATE_MISSING", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("EXPIRED_DOCUMENT", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("STALE_DOCUMENT", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("DATE_IN_FUTURE", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("DATE_INVALID", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    FindingCode("DATE_OUT_OF_SEQUENCE", _C.COMPLIANCE, _MAJOR, _REJECT, _SITE),
    # Mismatches go to a person (decision 16): the register may be what is wrong.
    FindingCode("SITE_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("PROTOCOL_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("PROTOCOL_VERSION_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("PERSON_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("LAB_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("IRB_MISMATCH", _C.RECONCILIATION, _MAJOR, _REVIEW, _QA),
    FindingCode("OCR_LOW_CONFIDENCE", _C.PARSE, _MINOR, _REVIEW, _QA),
    FindingCode("EXPIRES_SOON", _C.COMPLIANCE, _MINOR, _WARN, _SITE),
    FindingCode("FORM_EDITION_OUTDATED", _C.COMPLIANCE, _INFO, _WARN, _NOBODY),
    FindingCode("PACKET_INCOMPLETE", _C.PACKET, _MINOR, _WARN, _SITE),
    FindingCode("QA_REJECTED", _C.HUMAN, _MAJOR, _REJECT, _SITE),
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
