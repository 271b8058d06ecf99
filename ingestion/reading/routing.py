"""Which way a page is read, from a few facts about it. Pure.

Per page, never per document: a scanned contract with a born-digital stamp on each page has
text everywhere and nothing of the contract in it. The thresholds were measured on 709 real
pages (reading.md, section 2.2).
"""

from dataclasses import dataclass
from enum import StrEnum


class Route(StrEnum):
    TEXT = "text"  #: the text layer is the page
    OCR_LAYER = "ocr-layer"  #: a scan with somebody's OCR under it: kept, and marked as such
    OCR_AND_TEXT = "ocr-and-text"  #: a scan with some text of its own, a stamp for instance
    OCR = "ocr"  #: there is no text, or none that means anything


MIN_PAGE_CHARACTERS = 32  # characters; fewer are a page number, not a page
MAX_STAMP_CHARACTERS = 400  # characters; a text layer this short over a picture does not cover it
MIN_PICTURE_SHARE = 0.5  # of the page's area
MAX_GARBLED_SHARE = 0.05  # share of characters without a meaning


@dataclass(frozen=True, slots=True)
class PageFacts:
    characters: int  # of the text layer, without blanks
    unreadable_share: float  # of those, from 0 to 1
    coverage: float  # of the page's area by pictures, from 0 to 1
    hidden_text: bool  # some of the text layer is drawn in invisible ink


def choose_route(facts: PageFacts) -> Route:
    if facts.characters == 0 or facts.unreadable_share > MAX_GARBLED_SHARE:
        return Route.OCR
    if facts.characters < MIN_PAGE_CHARACTERS:
        return Route.OCR_AND_TEXT if facts.coverage > 0 else Route.TEXT
    if facts.coverage < MIN_PICTURE_SHARE:
        return Route.TEXT
    if facts.hidden_text:
        return Route.OCR_LAYER
    return Route.OCR_AND_TEXT if facts.characters < MAX_STAMP_CHARACTERS else Route.TEXT
