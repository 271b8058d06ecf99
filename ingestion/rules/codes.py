"""Registers the finding codes: the attributes of each, and its effect on the document.

The attributes of a code are its category, its severity, its disposition, its owner, and whether it
is retryable (docs/finding-codes.md). They are derived from the code wherever they are shown, so
that stored findings need no columns for them.

The order of the registry is fixed: of two findings with the same disposition and severity, the one
whose code comes first is the primary finding. The messages for people are in `messages`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class FindingCategory(StrEnum):
    """Lists the categories of finding codes, by the step of the work that reports them."""

    TRANSPORT = "transport"  #: the portal did not deliver the file
    INFRASTRUCTURE = "infrastructure"  #: a fault of SiteLedger, transient or not
    INTAKE = "intake"  #: the file as it was received, before it is opened
    PARSE = "parse"  #: the file was opened, and its pages cannot be read, or not with certainty
    SCHEMA = "schema"  #: the submission, the type or the form is not one that the rules know
    COMPLIANCE = "compliance"  #: signatures, dates, validity, and marks on the document
    RECONCILIATION = "reconciliation"  #: the document differs from the register or the declaration
    PRIVACY = "privacy"  #: the document may name participants of the study
    PACKET = "packet"  #: other documents of the site are missing
    HUMAN = "human"  #: a person decided


class FindingOwner(StrEnum):
    """Lists who has to act before a finding is resolved."""

    SITE = "site"
    QA = "qa"
    OPERATIONS = "operations"
    PORTAL = "portal"  #: the operators of the portal
    SPONSOR = "sponsor"  #: the sponsor or its CRO, who set the rules of the study


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
    """Describes a kind of finding, and what happens to the document."""

    code: str
    category: FindingCategory
    severity: Severity
    disposition: Disposition
    owner: FindingOwner
    # Whether the same file may pass another attempt, without a new file from the site.
    is_retryable: bool
    quarantine: bool = False  # only QA may open the file
    # Whether only QA may open the original for ever. People see pictures of its pages instead.
    locks_original: bool = False
    only_overridden: bool = False  # QA can file the document only by overriding this finding


_TRANSPORT, _INFRASTRUCTURE, _INTAKE, _PARSE, _SCHEMA = list(FindingCategory)[:5]
_COMPLIANCE, _RECONCILIATION, _PRIVACY, _PACKET, _HUMAN = list(FindingCategory)[5:]
_CRITICAL, _MAJOR, _MINOR, _INFO = Severity
_HOLD, _REJECT, _REVIEW, _WARN, _INFORM = Disposition
_SITE, _QA, _OPERATIONS, _PORTAL, _SPONSOR = FindingOwner
_RETRY, _FINAL = True, False

_REGISTRY = (
    FindingCode("DOWNLOAD_FAILED", _TRANSPORT, _MAJOR, _REJECT, _PORTAL, _RETRY),
    FindingCode("PORTAL_UNAVAILABLE", _TRANSPORT, _MAJOR, _HOLD, _PORTAL, _RETRY),
    FindingCode("PORTAL_NOT_APPROVED", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("PORTAL_MISCONFIGURED", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("STORAGE_UNAVAILABLE", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("SCANNER_UNAVAILABLE", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("CONVERTER_UNAVAILABLE", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("CAPACITY", _INFRASTRUCTURE, _MINOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("LANGUAGE_NOT_INSTALLED", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("INTERNAL_ERROR", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("POISON", _INFRASTRUCTURE, _MAJOR, _HOLD, _OPERATIONS, _RETRY),
    FindingCode("DUPLICATE_CONTENT", _INTAKE, _INFO, _INFORM, _SITE, _FINAL),
    FindingCode("MALWARE_SUSPECTED", _INTAKE, _CRITICAL, _REVIEW, _QA, _FINAL, quarantine=True),
    FindingCode("EMPTY_FILE", _INTAKE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("FILE_TOO_LARGE", _INTAKE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("UNSUPPORTED_TYPE", _INTAKE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("DYNAMIC_XFA_FORM", _INTAKE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("TYPE_MISMATCH", _INTAKE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("CHECKSUM_MISMATCH", _INTAKE, _CRITICAL, _REJECT, _SITE, _RETRY),
    FindingCode(
        "ACTIVE_CONTENT",
        _INTAKE,
        _CRITICAL,
        _REVIEW,
        _QA,
        _FINAL,
        quarantine=True,
        locks_original=True,
    ),
    FindingCode("ENCRYPTED_DOCUMENT", _PARSE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("CORRUPT_DOCUMENT", _PARSE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("PARSER_FAILURE", _PARSE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("CONVERSION_FAILED", _PARSE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("CONTAINER_REFUSED", _INTAKE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("ENTRY_IN_DOUBT", _INTAKE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("ILLEGIBLE_SCAN", _PARSE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("PHI_SUSPECTED", _PRIVACY, _CRITICAL, _REVIEW, _QA, _FINAL, quarantine=True),
    FindingCode("MULTIPLE_DOCUMENTS", _SCHEMA, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("BLANK_OR_MISSING_PAGE", _PARSE, _MAJOR, _REVIEW, _QA, _FINAL),
    # Marks that people add. QA decides what they mean for the document.
    FindingCode("STAMPED_VOID", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("STAMPED_SUPERSEDED", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("STAMPED_DRAFT", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("TEXT_COVERED", _PARSE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("TEXT_STRUCK_OUT", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("DOC_TYPE_CONFLICT", _SCHEMA, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("DOC_TYPE_UNRECOGNIZED", _SCHEMA, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("NOT_FINAL", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("UNFILLED_TEMPLATE", _SCHEMA, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("BLANK_FORM", _SCHEMA, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("FORM_PAGES_MIXED", _SCHEMA, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("SCHEMA_MISMATCH", _SCHEMA, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_BROKEN", _COMPLIANCE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_PARTIAL", _COMPLIANCE, _CRITICAL, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_EMPTY", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_OUTDATED", _COMPLIANCE, _CRITICAL, _REVIEW, _QA, _FINAL),
    FindingCode("SIGNATURE_UNVERIFIED", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("SIGNATURE_WEAK", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_CERTIFICATE_EXPIRED", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_ISSUER_UNKNOWN", _COMPLIANCE, _MAJOR, _REVIEW, _SPONSOR, _FINAL),
    FindingCode("SIGNATURE_MISPLACED", _COMPLIANCE, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("SIGNER_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("SIGNATURE_MISSING", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("SIGNATURE_DATE_MISSING", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("EXPIRED_DOCUMENT", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("STALE_DOCUMENT", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("DATE_IN_FUTURE", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("DATE_INVALID", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    FindingCode("DATE_OUT_OF_SEQUENCE", _COMPLIANCE, _MAJOR, _REJECT, _SITE, _FINAL),
    # QA decides about mismatches, because our own site data may be wrong.
    FindingCode("SITE_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("PROTOCOL_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("PROTOCOL_VERSION_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("VERSION_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode(
        "PERSON_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL, only_overridden=True
    ),
    FindingCode(
        "PERSON_NOT_READ", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL, only_overridden=True
    ),
    FindingCode("LAB_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode("IRB_MISMATCH", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL),
    FindingCode(
        "VALUE_NEARLY_MATCHES", _RECONCILIATION, _MAJOR, _REVIEW, _QA, _FINAL, only_overridden=True
    ),
    FindingCode("VALUE_IN_DOUBT", _PARSE, _MINOR, _REVIEW, _QA, _FINAL),
    FindingCode("OCR_LOW_CONFIDENCE", _PARSE, _MINOR, _REVIEW, _QA, _FINAL),
    FindingCode("EXPIRES_SOON", _COMPLIANCE, _MINOR, _WARN, _SITE, _FINAL),
    FindingCode("FORM_EDITION_OUTDATED", _COMPLIANCE, _INFO, _WARN, _SPONSOR, _FINAL),
    FindingCode("FORM_NOT_REGISTERED", _SCHEMA, _INFO, _WARN, _SPONSOR, _FINAL),
    FindingCode("TEXT_CORRECTED", _COMPLIANCE, _INFO, _WARN, _SITE, _FINAL),
    FindingCode("STAMPED_COPY", _COMPLIANCE, _INFO, _WARN, _SITE, _FINAL),
    FindingCode("STAMPED_RECEIVED", _COMPLIANCE, _INFO, _WARN, _SITE, _FINAL),
    FindingCode("LANGUAGE_DIFFERS", _RECONCILIATION, _INFO, _WARN, _SITE, _FINAL),
    FindingCode("PACKET_INCOMPLETE", _PACKET, _MINOR, _WARN, _SITE, _FINAL),
    FindingCode("QA_REJECTED", _HUMAN, _MAJOR, _REJECT, _SITE, _FINAL),
)

CODES: Mapping[str, FindingCode] = MappingProxyType({entry.code: entry for entry in _REGISTRY})

_DISPOSITIONS, _SEVERITIES, _ORDER = list(Disposition), list(Severity), list(CODES)


def select_codes(
    *,
    category: str | None = None,
    severity: str | None = None,
    owner: str | None = None,
    retryable: bool | None = None,
) -> list[str]:
    """Return the codes with all these attributes. None and "" select codes with any value."""
    return [
        code
        for code, entry in CODES.items()
        if (not category or entry.category == category)
        and (not severity or entry.severity == severity)
        and (not owner or entry.owner == owner)
        and (retryable is None or entry.is_retryable == retryable)
    ]


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
