"""What can go wrong with one document. The class is the decision, the code is the record.

IngestionError
├── TransientError          tried again, until the budget is spent
│   ├── PortalUnreachable   no connection, or silence: PORTAL_UNAVAILABLE when it never heals
│   ├── PortalFailing       408, 425, 500, 502, 503, 504
│   ├── PortalThrottled     429, with the portal's own waiting time
│   ├── BodyTruncated       fewer bytes than announced
│   └── ChecksumDiffers     other bytes than announced, for the first time
├── PermanentError          the document is rejected, at once
│   ├── AccessRefused       401, 403, 407, or a sign-in page in place of the document
│   ├── NotServed           any other answer: 404, 410, a redirect without end, ...
│   ├── OffLimits           an address that this portal may not send us to
│   ├── TooLarge
│   └── ChecksumMismatch    other bytes than announced, again
└── OurFault                the document is held; its site is never blamed
    ├── StorageUnavailable
    ├── ScannerUnavailable  what nobody has scanned is not read
    └── Misconfigured       a certificate or secret of ours that cannot be used
"""

from collections.abc import Mapping


class IngestionError(Exception):
    """`code` is a finding code; `facts` fill its sentences (str and int only)."""

    code = "INTERNAL_ERROR"

    def __init__(self, message: str = "", **facts: str | int) -> None:
        super().__init__(message or self.__doc__)
        self.facts: Mapping[str, str | int] = facts


class TransientError(IngestionError):
    """The portal may give the document when it is asked again."""

    code = "DOWNLOAD_FAILED"
    retry_after: float | None = None  # seconds, where the portal named them
    # It says nothing about the document: no number of tries condemns it, only its deadline.
    is_the_portals = False


class PortalUnreachable(TransientError):
    """The portal could not be reached, or fell silent."""

    code = "PORTAL_UNAVAILABLE"
    is_the_portals = True


class PortalFailing(TransientError):
    """The portal answered that it cannot serve just now."""


class PortalThrottled(TransientError):
    """The portal asked us to slow down."""

    is_the_portals = True


class BodyTruncated(TransientError):
    """The portal sent fewer bytes than it announced."""


class ChecksumDiffers(TransientError):
    """The bytes are not those that were announced; one clean fetch decides."""

    code = "CHECKSUM_MISMATCH"


class PermanentError(IngestionError):
    """Asking again would give the same answer."""

    code = "DOWNLOAD_FAILED"


class AccessRefused(PermanentError):
    """The portal does not let us in."""


class NotServed(PermanentError):
    """The portal refused to give the document."""


class OffLimits(PermanentError):
    """The portal may not send us to this address."""


class TooLarge(PermanentError):
    """The document is larger than the limit."""

    code = "FILE_TOO_LARGE"


class ChecksumMismatch(PermanentError):
    """The bytes are not those that were announced, twice in a row."""

    code = "CHECKSUM_MISMATCH"


class OurFault(IngestionError):
    """Nothing is wrong with the document."""


class StorageUnavailable(OurFault):
    """Our own disk or database refused to take the document."""

    code = "STORAGE_UNAVAILABLE"


class ScannerUnavailable(OurFault):
    """Our virus scanner did not look at the document."""

    code = "SCANNER_UNAVAILABLE"


class Misconfigured(OurFault):
    """What we were given for this portal cannot be used."""


class LeaseLost(Exception):
    """Another worker owns the chunk now: stop, and write nothing."""
