"""Defines what can go wrong with one document. The class says what follows, the code is recorded.

IngestionError
├── TransientError          The request is repeated, by the rules of `core.retry`.
│   ├── PortalUnreachable   No connection, or no answer.
│   ├── PortalFailing       Status 408, 425, 500, 502, 503 or 504.
│   ├── PortalThrottled     Status 429, with the portal's own waiting time.
│   ├── BodyTruncated       Fewer bytes than announced.
│   └── ChecksumDiffers     Other bytes than announced, for the first time.
├── PermanentError          The document is rejected at once.
│   ├── AccessRefused       Status 401, 403 or 407, or a sign-in page in place of the document.
│   ├── NotServed           Any other status: 404, 410, redirects without end, ...
│   ├── OffLimits           An address to which this portal may not redirect.
│   ├── TooLarge
│   └── ChecksumMismatch    Other bytes than announced, for the second time.
└── OurFault                The document is held. Its site is never blamed.
    ├── StorageUnavailable
    ├── ScannerUnavailable  A file that was not scanned is not opened.
    ├── ReadingFault        The reader failed, and not because of the file.
    │   └── ConverterUnavailable  Documents of word processors cannot be converted.
    └── Misconfigured       A certificate or a secret for the portal cannot be used.
        └── AddressNotApproved  No second person approved the address of the portal.

Ledger entries of failed requests contain the name of the class, so the names do not change.
"""

from collections.abc import Mapping


class IngestionError(Exception):
    """The base of all expected errors.

    `code` is a finding code. `facts` fill the placeholders of its sentences.
    """

    code = "INTERNAL_ERROR"

    def __init__(self, message: str = "", **facts: str | int) -> None:
        super().__init__(message or self.__doc__)
        self.facts: Mapping[str, str | int] = facts


class TransientError(IngestionError):
    """The portal may serve the document when it is asked again."""

    code = "DOWNLOAD_FAILED"
    retry_after: float | None = None  # seconds, if the portal named them


class PortalUnreachable(TransientError):
    """The portal could not be reached, or stopped answering."""

    code = "PORTAL_UNAVAILABLE"


class PortalFailing(TransientError):
    """The portal answered that it cannot serve at the moment."""


class PortalThrottled(TransientError):
    """The portal asked for fewer requests."""


class BodyTruncated(TransientError):
    """The portal sent fewer bytes than it announced."""


class ChecksumDiffers(TransientError):
    """The bytes are not those that were announced. One more download decides."""

    code = "CHECKSUM_MISMATCH"


class PermanentError(IngestionError):
    """Asking again would give the same answer."""

    code = "DOWNLOAD_FAILED"


class AccessRefused(PermanentError):
    """The portal did not accept the credentials."""


class NotServed(PermanentError):
    """The portal refused to serve the document."""


class OffLimits(PermanentError):
    """The portal may not redirect to this address."""


class TooLarge(PermanentError):
    """The document is larger than the limit."""

    code = "FILE_TOO_LARGE"


class ChecksumMismatch(PermanentError):
    """The bytes are not those that were announced, twice in a row."""

    code = "CHECKSUM_MISMATCH"


class OurFault(IngestionError):
    """The cause is in SiteLedger. The document may be valid."""


class StorageUnavailable(OurFault):
    """The disk or the database did not store the document."""

    code = "STORAGE_UNAVAILABLE"


class ScannerUnavailable(OurFault):
    """The virus scanner did not scan the document."""

    code = "SCANNER_UNAVAILABLE"


class ReadingFault(OurFault):
    """The reader itself failed, which is not the fault of the file."""


class ConverterUnavailable(ReadingFault):
    """Documents of word processors cannot be converted to PDF in an isolated process."""

    code = "CONVERTER_UNAVAILABLE"


class Misconfigured(OurFault):
    """The configuration for this portal cannot be used."""

    code = "PORTAL_MISCONFIGURED"


class AddressNotApproved(Misconfigured):
    """No second person approved the address of this portal."""

    code = "PORTAL_NOT_APPROVED"


class LeaseLost(Exception):
    """Another worker owns the chunk now. Stop, and write nothing."""
