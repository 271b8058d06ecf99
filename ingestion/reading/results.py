"""What reading a file yields: plain frozen data that crosses process boundaries.

Coordinates are PDF points from the page's top left corner, y downwards, after
the page's rotation: the same for a text layer and for a scan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class MediaType(StrEnum):
    PDF = "application/pdf"
    JPEG = "image/jpeg"
    PNG = "image/png"
    TIFF = "image/tiff"


# Decision 17: PDF, and scans as pictures.
SUFFIXES: Mapping[str, MediaType] = MappingProxyType(
    {
        ".pdf": MediaType.PDF,
        ".jpg": MediaType.JPEG,
        ".jpeg": MediaType.JPEG,
        ".png": MediaType.PNG,
        ".tif": MediaType.TIFF,
        ".tiff": MediaType.TIFF,
    }
)


class TextSource(StrEnum):
    NATIVE = "native"  #: the text layer of a born-digital page
    FORM = "form"  #: a text layer with values typed into a form, or over it
    OCR_LAYER = "ocr-layer"  #: hidden text that somebody else's OCR left under a scan
    OCR = "ocr"  #: read by us from the picture


# Boxes and words are tuples: a page has hundreds, and each is made and sent to another process
# in a fraction of a dataclass's time.


class Box(NamedTuple):
    left: float  # points
    top: float
    right: float
    bottom: float

    def intersects(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def contains_center_of(self, other: "Box") -> bool:
        """The middle of it."""
        x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def bounding_box(boxes: Iterable[Box]) -> Box:
    """The one that holds them all, of which there is one at least."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return Box(min(left), min(top), max(right), max(bottom))


class Word(NamedTuple):
    text: str
    box: Box
    confidence: float  # 0 to 100; 100 for a text layer


@dataclass(frozen=True, slots=True)
class PageReading:
    number: int  # from 1
    width: float  # points
    height: float
    text: str  # lines separated by \n, in reading order
    source: TextSource
    words: Sequence[Word] = ()  # in reading order
    marks: Sequence[Box] = ()  # ink that is neither text nor rule: signatures, stamps, drawings
    # Boxes to tick that hold nothing; one that is not among them may be ticked, or not be one.
    empty_squares: Sequence[Box] = ()
    confidence: float = 100.0  # mean of the words' confidence
    uncovered: float = 0.0  # share of what looks like letters that OCR read no word from, 0 to 1
    dpi: int = 0  # at which it was read by OCR; 0 for a text layer
    # Degrees clockwise that OCR turned it upright: 0, 90, 180, 270; sizes are after.
    rotation: int = 0
    # Degrees clockwise that it lay, 2 or more; straightened before it was turned.
    skew: float = 0.0
    is_blank: bool = False  # neither text nor ink
    error: str = ""  # why this page could not be read; "" when it could


class SignatureResult(StrEnum):
    """What came of validating a digital signature, the worst first.

    Each says that nothing of what stands before it is the case.
    """

    EMPTY = "empty"  #: the field has a value that holds no signature
    UNCHECKED = "unchecked"  #: it could not be validated: nobody knows what it is worth
    BROKEN = "broken"  #: the bytes that were signed are not those of the file
    PARTIAL = "partial"  #: it does not cover all of the file as it was when it was signed
    CHANGED = "changed"  #: something was changed after it, or its author did not allow it
    WEAK = "weak"  #: its key is too short, or its digest can be forged
    OUT_OF_DATE = "out-of-date"  #: the certificate was not valid when it was used
    UNKNOWN_ISSUER = "unknown-issuer"  #: nobody who is trusted vouches for the certificate
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class DigitalSignature:
    """A field of a PDF that is digitally signed, or pretends to be.

    Names are those of the certificate, not those that the file states about it.
    """

    result: SignatureResult
    field: str = ""  # its full name
    page: int = 0  # from 1; 0 where it is shown on none
    box: Box | None = None  # where it is shown; None for one that nobody sees
    signer: str = ""
    issuer: str = ""
    signed_on: date | None = None  # in UTC; by the signer's own clock unless `is_timestamped`
    valid_from: date | None = None  # the certificate's first day and its last
    valid_until: date | None = None
    is_timestamped: bool = False  # a trusted authority vouches for `signed_on`
    is_last: bool = True  # nothing but further signatures was added after it
    detail: str = ""  # why it could not be validated, or what is weak


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """A file that could be opened. `fields` are the named form values, by full name."""

    media_type: MediaType
    pages: tuple[PageReading, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    # javascript, launch, embedded-file, file-link (it opens another document), remote (data goes to
    # a place outside the file, or comes from there), unsearched, xfa, digital-signature,
    # unread-form (it took too long to draw)
    flags: frozenset[str] = frozenset()
    signatures: tuple[DigitalSignature, ...] = ()
    repaired: bool = False
    engine: str = ""  # "pytesseract 0.3.13, tesseract 5.3.0, eng" when a page went through OCR

    @property
    def text(self) -> str:
        return "\n".join(page.text for page in self.pages)

    @property
    def used_ocr(self) -> bool:
        return any(page.source is TextSource.OCR for page in self.pages)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be read, and the finding code that says why.

    `code` is one of EMPTY_FILE, FILE_TOO_LARGE, UNSUPPORTED_TYPE, DYNAMIC_XFA_FORM,
    ENCRYPTED_DOCUMENT, CORRUPT_DOCUMENT, PARSER_FAILURE. `facts` fill the placeholders of its
    sentences.
    """

    code: str
    facts: Mapping[str, str | int] = field(default_factory=dict)
