"""Decides how a page is read: by its text layer, by OCR, or by both.

The decision is made for each page and not for each document, because a scanned contract with a
born-digital stamp on each page has a text layer everywhere that contains nothing of the contract.
The thresholds were measured on 709 real pages (reading.md, section 2.2).
"""

from dataclasses import dataclass
from enum import StrEnum


class Route(StrEnum):
    """The ways to read a page."""

    TEXT = "text"  #: The text layer contains the whole page.
    OCR_LAYER = "ocr-layer"  #: A scan that already has an OCR layer, which is used and recorded.
    OCR_AND_TEXT = "ocr-and-text"  #: A scan with some text of its own, such as a stamp.
    OCR = "ocr"  #: The page has no text layer, or one whose characters have no meaning.


MIN_PAGE_CHARACTERS = 32  # of a page's text layer; a page number alone has fewer
MAX_STAMP_CHARACTERS = 400  # of a text layer over an image that does not repeat its content
MIN_IMAGE_SHARE = 0.5  # of the page's area, from which on a page may be a scan
MAX_GARBLED_SHARE = 0.05  # of a text layer's characters, that have no meaning


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The measurements of a page that decide its route."""

    characters: int  # of the text layer, without white space
    unreadable_share: float  # of the text layer's characters, from 0 to 1
    coverage: float  # share of the page's area under images, from 0 to 1
    hidden_text: bool  # whether some of the text layer is drawn in invisible mode


def choose_route(facts: PageFacts) -> Route:
    """Return how a page with these measurements is read."""
    if facts.characters == 0 or facts.unreadable_share > MAX_GARBLED_SHARE:
        return Route.OCR
    if facts.characters < MIN_PAGE_CHARACTERS:
        return Route.OCR_AND_TEXT if facts.coverage > 0 else Route.TEXT
    if facts.coverage < MIN_IMAGE_SHARE:
        return Route.TEXT
    if facts.hidden_text:
        return Route.OCR_LAYER
    return Route.OCR_AND_TEXT if facts.characters < MAX_STAMP_CHARACTERS else Route.TEXT
