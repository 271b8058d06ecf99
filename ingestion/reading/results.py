"""Defines the results of reading a file: immutable plain data that passes between processes.

Coordinates are in PDF points (1/72 inch) from the page's top left corner, with y downwards, and
after the page's rotation. They are the same for a text layer and for a scan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from .reading_stages import Stage


class MediaType(StrEnum):
    """The types of files that can be read."""

    PDF = "application/pdf"
    JPEG = "image/jpeg"
    PNG = "image/png"
    TIFF = "image/tiff"
    WEBP = "image/webp"
    HEIC = "image/heic"  #: HEIF files, as phones write them.
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    ODT = "application/vnd.oasis.opendocument.text"
    RTF = "application/rtf"
    ZIP = "application/zip"
    EML = "message/rfc822"
    MSG = "application/vnd.ms-outlook"

    @property
    def is_office(self) -> bool:
        """Return whether a file of this type is read from its rendition as PDF."""
        return self in {MediaType.DOCX, MediaType.ODT, MediaType.RTF}

    @property
    def is_container(self) -> bool:
        """Return whether a file of this type only holds other files."""
        return self in {MediaType.ZIP, MediaType.EML, MediaType.MSG}


SUFFIXES: Mapping[str, MediaType] = MappingProxyType(
    {
        ".pdf": MediaType.PDF,
        ".jpg": MediaType.JPEG,
        ".jpeg": MediaType.JPEG,
        ".png": MediaType.PNG,
        ".tif": MediaType.TIFF,
        ".tiff": MediaType.TIFF,
        ".webp": MediaType.WEBP,
        ".heic": MediaType.HEIC,
        ".heif": MediaType.HEIC,
        ".docx": MediaType.DOCX,
        ".odt": MediaType.ODT,
        ".rtf": MediaType.RTF,
        ".zip": MediaType.ZIP,
        ".eml": MediaType.EML,
        ".msg": MediaType.MSG,
    }
)


class TextSource(StrEnum):
    """The origins of a page's text."""

    NATIVE = "native"  #: The text layer of a born-digital page.
    FORM = "form"  #: A text layer with values that were typed into a form or over the page.
    OCR_LAYER = "ocr-layer"  #: Hidden text that other software's OCR placed under a scan.
    OCR = "ocr"  #: Text that our OCR engine read from the page image.


# Box and Word are tuples, because a page has hundreds of them: a tuple is created and sent to
# another process in a fraction of the time that a dataclass needs.


class Box(NamedTuple):
    """A bounding box on a page, in points."""

    left: float
    top: float
    right: float
    bottom: float

    def intersects(self, other: "Box") -> bool:
        """Return whether the two boxes overlap. Boxes that only share an edge do not."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def contains_centre_of(self, other: "Box") -> bool:
        """Return whether the centre of the other box is inside this one or on its edge."""
        x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def compute_bounding_box(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that contains all boxes. Raises ValueError if there is none."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    if len(lefts) == 1:
        return Box(lefts[0], tops[0], rights[0], bottoms[0])
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


class Word(NamedTuple):
    """A word with its place on the page."""

    text: str
    box: Box
    confidence: float  # of the OCR engine, 0 to 100; 100 for a text layer
    engine: str = ""  # that read it, such as "tesseract"; "" for a word of a text layer
    other: str = ""  # what the other engine read instead, if they read different numbers

    def moved_to(self, box: Box) -> "Word":
        """Return the word at another place."""
        return self._replace(box=box)


class AddedMarkKind(StrEnum):
    """The kinds of marks that people add to a finished document."""

    VOID = "void"  #: A stamp that declares the document void.
    SUPERSEDED = "superseded"  #: A stamp that says that another document took its place.
    DRAFT = "draft"  #: A stamp or a watermark that says that the document is not final.
    COPY = "copy"  #: A stamp that says that this is a copy.
    RECEIVED = "received"  #: A stamp of the office that received the document.
    STRUCK_OUT = "struck-out"  #: Printed words with a line through them.
    COVERED = "covered"  #: Printed words under a sticker or another opaque area.


class AddedMark(NamedTuple):
    """A mark that a person added, with its place on the page."""

    kind: AddedMarkKind
    box: Box
    text: str = ""  # the words of a stamp, or the words that are struck out; "" if unknown


def drop_repetitions(marks: Iterable[AddedMark]) -> list[AddedMark]:
    """Return the marks without those that a mark of the same kind overlaps.

    A flattened annotation is a part of the page too, and OCR reads a stamp that is drawn.
    """
    found: list[AddedMark] = []
    for mark in marks:
        if not any(mark.kind is each.kind and mark.box.intersects(each.box) for each in found):
            found.append(mark)
    return found


class CorrectionKind(StrEnum):
    """The kinds of corrections of a page image, in the order in which they are made."""

    REDUCED = "reduced"  #: The resolution was reduced, to the amount in dpi.
    INVERTED = "inverted"  #: Light print on dark paper became dark print on light paper.
    CONTRAST = "contrast"  #: Faint ink was darkened.
    LIGHT = "light"  #: Shadows were removed.
    DESKEWED = "deskewed"  #: The page was turned back by the amount, in degrees clockwise.
    #: Lines in perspective, or of a curled or slightly turned page, became straight and level.
    STRAIGHTENED = "straightened"
    DOTTED_LINES = "dotted-lines"  #: The dots of leaders and of rules were removed.
    SMOOTHED = "smoothed"  #: The jagged edges of a fax, or the noise of a scanner, were smoothed.
    SHARPENED = "sharpened"  #: The edges of letters in a photograph were sharpened.
    ENLARGED = "enlarged"  #: The resolution was raised, to the amount in dpi.
    COLOURED_INK = "coloured-ink"  #: Print was read without the coloured ink that crosses it.
    ROTATED = "rotated"  #: The page was turned clockwise by the amount: 90, 180 or 270 degrees.


class Correction(NamedTuple):
    """A correction of a page image before OCR, marks and signatures were searched in it."""

    kind: CorrectionKind
    amount: float = 0.0  # in the unit of the kind; 0 if the kind has none


_SOURCE_CELLS = 64  # of a page in each direction, in which `PageMap.find_sources` searches


class PageMap(NamedTuple):
    """Says where the places of a page whose geometry was corrected are on the original.

    The original is shown to people upright, which means rotated by `PageReading.rotation`, and has
    no other correction. Lengths are in points.
    """

    width: float  # of the original
    height: float
    # The places on the original of points at equal distances in the corrected page, row by row
    # from its top left to its bottom right corner.
    points: Sequence[Sequence[tuple[float, float]]]

    def locate(self, box: Box, width: float, height: float) -> Box:
        """Return where a box is on the original, of a corrected page of this width and height."""
        across = (box.left, (box.left + box.right) / 2, box.right)
        places = [
            self._locate_point(x / width, y / height) for x in across for y in (box.top, box.bottom)
        ]
        x, y = zip(*places, strict=True)
        return Box(min(x), min(y), max(x), max(y))

    def find_sources(self, place: Box, width: float, height: float) -> list[Box]:
        """Return the places of a corrected page of this size that are in a place of the original.

        They are cells of the page, and together they may be somewhat larger than the place.
        """
        across, down = width / _SOURCE_CELLS, height / _SOURCE_CELLS
        cells = (
            Box(column * across, row * down, (column + 1) * across, (row + 1) * down)
            for row in range(_SOURCE_CELLS)
            for column in range(_SOURCE_CELLS)
        )
        found: list[Box] = []
        for cell in cells:
            if not self.locate(cell, width, height).intersects(place):
                continue
            last = found[-1] if found else None
            if last and last.top == cell.top and abs(last.right - cell.left) < across / 2:
                found[-1] = Box(last.left, last.top, cell.right, last.bottom)
            else:
                found.append(cell)
        return found

    def _locate_point(self, across: float, down: float) -> tuple[float, float]:
        """Return the place on the original of a point at shares, 0 to 1, of the corrected page."""
        rows, columns = len(self.points) - 1, len(self.points[0]) - 1
        x, y = (
            min(max(share, 0.0), 1.0) * cells for share, cells in ((across, columns), (down, rows))
        )
        column, row = min(int(x), columns - 1), min(int(y), rows - 1)
        x, y = x - column, y - row
        corners = (
            (self.points[row][column], (1 - x) * (1 - y)),
            (self.points[row][column + 1], x * (1 - y)),
            (self.points[row + 1][column], (1 - x) * y),
            (self.points[row + 1][column + 1], x * y),
        )
        return (
            sum(point[0] * weight for point, weight in corners),
            sum(point[1] * weight for point, weight in corners),
        )


class MeasuredBox(NamedTuple):
    """A box of a registered form, as it was filled in. The print of the blank form is left out."""

    position: int  # of the box in its page of `forms.catalogue`, from 0
    box: Box  # its place on the page
    words: tuple[Word, ...] = ()  # the words in it, in reading order
    ink: float = 0.0  # square points of ink; of a tick, inside its square
    # Square points of ink in no word: handwriting, a stamp, a drawing. Of a tick, all around it.
    unread_ink: float = 0.0
    line: float = 0.0  # length of its longest straight stroke, as a share of the width of the ink
    is_anchored: bool = True  # whether the print in and around it was found in its place


@dataclass(frozen=True, slots=True)
class RegisteredPage:
    """A page that was recognised as a page of a registered form, and aligned with the blank form.

    It is a page of this edition if `is_edition_certain`. Otherwise it may be a page of another
    edition with the same print.
    """

    form: str  # key of the edition in `forms.catalogue`
    page: int  # number of the page of the blank form, from 1
    match: float  # share of the words of the blank form that were found in their place, 0 to 1
    is_edition_certain: bool  # whether the printed edition was read in its place
    boxes: tuple[MeasuredBox, ...] = ()
    placed: float = 1.0  # share in their places of the words that both have once


@dataclass(frozen=True, slots=True)
class PageReading:
    """One page as it was read."""

    number: int  # from 1
    width: float  # points
    height: float  # points
    text: str  # lines separated by \n, in reading order
    source: TextSource
    words: Sequence[Word] = ()  # in reading order
    marks: Sequence[Box] = ()  # ink that is neither text nor rule: signatures, stamps, drawings
    # Empty check boxes. A check box that is not listed may be ticked, or was not recognised.
    empty_squares: Sequence[Box] = ()
    confidence: float = 100.0  # mean of the words' confidence, 0 to 100
    uncovered: float = 0.0  # share of letter-like ink that is in no word read by OCR, 0 to 1
    dpi: int = 0  # resolution of the image that OCR read; 0 for a text layer
    # Degrees clockwise by which OCR turned the page upright: 0, 90, 180 or 270. Sizes and boxes
    # are those after the rotation.
    rotation: int = 0
    # Degrees clockwise by which the page was scanned askew, 2 or more if it was deskewed. The
    # page is deskewed before it is rotated.
    skew: float = 0.0
    corrections: tuple[Correction, ...] = ()  # of the page image, in the order of their making
    # Where the page's places are on the original; None if it was at most rotated.
    page_map: PageMap | None = None
    is_blank: bool = False  # whether the page has neither text nor ink
    error: str = ""  # the reason why this page could not be read; "" if it could
    # Stages that exceeded their time. What they would have found is missing.
    unfinished: tuple[Stage, ...] = ()
    added_marks: Sequence[AddedMark] = ()  # stamps, strike-outs and covered words
    # The page of a registered form that it is, or nothing. A sequence, because it may be lazy.
    forms: Sequence[RegisteredPage] = ()
    language: str = ""  # see `languages.NAMES`; "" if it was not identified
    # Whether OCR has no data for the language, so that the text is not what the page says.
    is_language_missing: bool = False
    separator_codes: Sequence[str] = ()  # the texts of the QR codes of separator sheets


class SignatureResult(StrEnum):
    """The results of validating a digital signature, the worst first.

    Each result implies that no result before it applies.
    """

    EMPTY = "empty"  #: The field's value contains no signature.
    UNCHECKED = "unchecked"  #: The signature could not be validated, so its worth is unknown.
    BROKEN = "broken"  #: The signed bytes differ from those of the file.
    PARTIAL = "partial"  #: The signature does not cover the whole file at the time of signing.
    CHANGED = "changed"  #: The file was changed after signing in a way that was not permitted.
    WEAK = "weak"  #: The key is too short, or the digest algorithm can be forged.
    OUT_OF_DATE = "out-of-date"  #: The certificate was not valid at the time of signing.
    UNKNOWN_ISSUER = "unknown-issuer"  #: No trusted issuer stands behind the certificate.
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class DigitalSignature:
    """A signature field of a PDF that has a value.

    Names come from the certificate and not from what the file states about the signer.
    """

    result: SignatureResult
    field: str = ""  # its full name
    page: int = 0  # from 1; 0 if the signature is not visible on a page
    box: Box | None = None  # its place on the page; None if the signature is not visible
    signer: str = ""
    issuer: str = ""
    signed_on: date | None = None  # in UTC; by the signer's own clock unless `is_timestamped`
    valid_from: date | None = None  # the first day of the certificate
    valid_until: date | None = None  # the last day of the certificate
    is_timestamped: bool = False  # whether a trusted authority confirms `signed_on`
    is_last: bool = True  # whether at most further signatures were added after it
    detail: str = ""  # the reason why it could not be validated
    weakness: str = ""  # what can be forged, in words with {bits} and {digest}
    bits: int = 0  # the size of the signer's key
    digest: str = ""  # the name of the digest that was signed


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """A file that could be opened."""

    media_type: MediaType
    pages: tuple[PageReading, ...]
    fields: Mapping[str, str] = field(default_factory=dict)  # values of form fields, by full name
    # Properties of the file: javascript, launch, embedded-file, file-link (it opens another
    # document), remote (it sends data elsewhere or loads it from there), unsearched (not all of
    # it could be searched), xfa, digital-signature, unread-form (its form took too long to draw).
    flags: frozenset[str] = frozenset()
    signatures: tuple[DigitalSignature, ...] = ()
    repaired: bool = False
    engine: str = ""  # "pytesseract 0.3.13, tesseract 5.3.0, eng" if OCR read a page

    @property
    def text(self) -> str:
        """Return the text of all pages."""
        return "\n".join(page.text for page in self.pages)

    @property
    def used_ocr(self) -> bool:
        """Return whether OCR read at least one page."""
        return any(page.source is TextSource.OCR for page in self.pages)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be read, with the finding code of the reason.

    `code` is one of EMPTY_FILE, FILE_TOO_LARGE, UNSUPPORTED_TYPE, DYNAMIC_XFA_FORM,
    ENCRYPTED_DOCUMENT, CORRUPT_DOCUMENT, CONVERSION_FAILED,
    CONTAINER_REFUSED, PARSER_FAILURE. `facts` are the values for the
    placeholders of the code's sentences.
    """

    code: str
    facts: Mapping[str, str | int] = field(default_factory=dict)
