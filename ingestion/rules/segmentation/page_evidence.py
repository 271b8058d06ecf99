"""Collects the evidence of a page that tells whether a document begins with it.

`PageEvidence` is collected once for each page. `page_comparison` compares the evidence of pages.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from operator import sub
from statistics import median
from typing import NamedTuple, Self

from ingestion.reading.results import PageReading
from ingestion.rules.classification.landmarks import score_page
from ingestion.rules.fuzzy_phrases import GENERAL_PUNCTUATION
from ingestion.rules.segmentation.page_regions import WordPlaces
from ingestion.rules.segmentation.print_rows import (
    HEAD_ROWS,
    MIN_TABLE_GAPS,
    PageRows,
    count_gaps,
    describe_head,
    describe_rows,
    find_rows,
)
from ingestion.rules.segmentation.titles import (
    Title,
    choose_best_type,
    find_titles,
    find_type_with_title,
)

Numbering = frozenset[tuple[int, int]]  # (2, 3) for "Page 2 of 3"; a page may have two numbers

# In lower case. The search begins with letters, which makes it fast.
_NUMBERED = re.compile(r"pa(?<!\wpa)(?:ge|rt)\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b")
# A line that consists of a page number, or ends with "Page 2".
_BARE_NUMBER = re.compile(
    r"^\W*(?:page\s*)?(\d{1,3})(?:\s*(?:of|/)\s*(\d{1,3}))?\W*$|\bpage\s*(\d{1,3})\W*$",
    re.IGNORECASE,
)
_SALUTATION = re.compile(r"(?m)^\W*(?:dear\b|to whom it may concern|to:|re:)", re.IGNORECASE)
_CLOSING = re.compile(
    r"\b(?:sincerely|kind regards|respectfully|signature|signed|yours (?:faithfully|truly))\b"
)  # in lower case
_CONTINUED = re.compile(r"\bcontinu(?:ed|ation)\b", re.IGNORECASE)
_CONTINUED_TITLE = re.compile(r"\w\W*[(,:-] *cont(?:inued|'?d)?\.?\)?$", re.IGNORECASE)
_ATTACHED = re.compile(
    r"^\W*(?:attachment|appendix|appendices|annex|annexe|annexure|schedule|exhibit|enclosure|addendum)"
    r"(?:\s+(?:[A-Z]|[IVX]+|\d+|[|!]))?\s*(?:$|[:(.,-])",  # OCR reads a lone "I" as "|"
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"^\W*(?:references|publications|\d{1,2}(?:\.\d{1,2})*\.? +\w)", re.IGNORECASE
)
_NUMBERED_ITEM = re.compile(r"(\d{1,2})(?:\.\d{1,2})*[.)]? +[A-Z]")
_MENTIONS_ATTACHMENT = re.compile(
    r"\b(?:attached|attachment|enclosed|enclosure|appendix|appendices|annex|schedule [a-z1-9])\b"
)  # in lower case
_STEMS_OF_ATTACHMENTS = ("attach", "enclos", "append", "annex", "schedule")
_DATE = re.compile(
    r"\b(?:\d{1,2}[ ./-](?:\d{1,2}|[A-Za-z]{3,9})[ ./-]\d{2,4}|\d{4}-\d\d-\d\d"
    r"|[A-Za-z]{3,9} \d{1,2}(?:st|nd|rd|th)?, \d{4})\b"
)
_CAPTION = re.compile(r"^[A-Z][^:]{1,40}:(?:\s|$)")
_LONG_WORD = re.compile(r"[a-z]{5,}")
_REFERENCE = re.compile(r"\b[A-Za-z/-]*\d[\w/-]{3,}\b")
_SENTENCE_END = (".", "!", "?", ":", ";", ")")
_HEAD_LINES, _TAIL_LINES, _EDGE_LINES = 8, 12, 2
_MIN_TEXT_LINE = 30  # characters of a line that may end in the middle of a sentence
_HEADING_LINES = 3
_HEAD_ROWS = 6  # rows of a page that are searched for in the first page of a document
_MAX_TITLE_WORDS = 8  # of a line that may be a title of any document
_NOT_TITLE_END = (".", ",", ";")
_MIN_INTRODUCTION_WORDS = 3  # of a line that introduces a list or table, as "We reviewed these:"
_MIN_RUNNING_PAGES = 3  # of a file in which a line of every page is a running line
_MIN_EDGE_LETTERS = 6
# What is not a letter in lines. To search for both in one pattern takes twice as long.
_NOT_WORDS, _DIGITS = re.compile(r"[^\w\n]+"), re.compile(r"[\d_]+")
_ASCII_NOT_LETTERS = re.sub(rb"[A-Za-z\n]", b"", bytes(range(128)))  # are removed much faster


class PrintArea(NamedTuple):
    """The size and the place of the print of a page. All are 0 if the page has no words."""

    height: float = 0.0  # of a word, in points: the median
    max_height: float = 0.0  # of the words of the upper third
    left: float = 0.0  # of the text, as a share of the width
    right: float = 0.0
    top: float = 0.0  # of the text, as a share of the height
    bottom: float = 0.0
    character_width: float = 0.0  # in points: the median of the longer words

    @classmethod
    def of(cls, page: PageReading, places: WordPlaces) -> Self:
        """Return the print of a page. One word in twenty may be outside of the text."""
        if not page.words or not page.width or not page.height:
            return cls()
        heights = list(map(sub, places.bottoms, places.tops))
        upper_third = page.height / 3
        heads = [
            height
            for length, height, top in zip(places.lengths, heights, places.tops, strict=True)
            if top < upper_third and length > 1
        ]
        outside = len(heights) // 20
        return cls(
            median(heights),
            max(heads, default=0.0),
            sorted(places.lefts)[outside] / page.width,
            sorted(places.rights)[-1 - outside] / page.width,
            sorted(places.tops)[outside] / page.height,
            max(places.bottoms) / page.height,
            places.character_width,
        )


@dataclass(frozen=True)
class PageEvidence:
    """Contains the evidence of one page by itself."""

    page: PageReading
    lines: tuple[str, ...]  # that are not blank
    letters_of_lines: Sequence[str]
    numbering: Numbering
    bare_number: int  # the number at the edge of the page; 0 if there is none
    words: frozenset[str]
    references: frozenset[str]  # numbers and codes
    heads: frozenset[str]  # the letters of the lines at the top and at the bottom
    places: WordPlaces
    printed: PageRows
    has_running_lines: bool  # which are left out

    @cached_property
    def print_area(self) -> PrintArea:
        """Return the size and the place of the print."""
        return PrintArea.of(self.page, self.places)

    @cached_property
    def features(self) -> Mapping[str, float]:
        """Return the features without those of `row_features`. A first page needs none."""
        return _describe_page(self)

    @cached_property
    def mentions_attachment(self) -> bool:
        """Return whether the page mentions an attachment."""
        folded = self.page.text.casefold()
        # The search of the pattern is slow, so that most pages are left out before.
        may_mention = any(each in folded for each in _STEMS_OF_ATTACHMENTS)
        return may_mention and bool(_MENTIONS_ATTACHMENT.search(folded))

    @property
    def word_count(self) -> float:
        """Return the number of words, on a logarithmic scale."""
        return log2(1 + len(self.page.words))

    @property
    def head_height(self) -> float:
        """Return the greatest height of a word of the upper third, in usual heights."""
        area = self.print_area
        return min(area.max_height / area.height, 4.0) if area.height else 0.0

    @cached_property
    def letters(self) -> frozenset[str]:
        """Return the letters of all lines. Short lines are left out."""
        return _without_short(self.letters_of_lines)

    @cached_property
    def head_letters(self) -> frozenset[str]:
        """Return the letters of the first lines. Short lines are left out."""
        return _without_short(self.letters_of_lines[:_HEAD_LINES])

    @cached_property
    def head_words(self) -> frozenset[str]:
        """Return the long words of the first lines."""
        return _long_words(self.lines[:_HEAD_LINES])

    @cached_property
    def heading_words(self) -> frozenset[str]:
        """Return the long words of the very first lines."""
        return _long_words(self.lines[:_HEADING_LINES])

    @cached_property
    def has_closing(self) -> bool:
        """Return whether the last lines have the end of a letter, or a place for a signature."""
        return bool(_CLOSING.search("\n".join(self.lines[-_TAIL_LINES:]).casefold()))

    @cached_property
    def is_open(self) -> bool:
        """Return whether the text ends in the middle of a sentence."""
        end = next(
            (
                line
                for line in reversed(self.lines)
                if not _BARE_NUMBER.search(line) and len(line) > _MIN_TEXT_LINE
            ),
            "",
        )
        return bool(end) and not end.rstrip().endswith(_SENTENCE_END)

    @cached_property
    def rows(self) -> Sequence[str]:
        """Return the letters of the printed rows, from top to bottom."""
        return _letters_of([row.text for row in self.printed.all()])

    @cached_property
    def row_features(self) -> Mapping[str, float]:
        """Return the features for which all printed rows are needed."""
        return describe_rows(self.printed.all(), self.print_area.character_width)

    @cached_property
    def head_rows(self) -> frozenset[str]:
        """Return the letters of the first printed rows. Short rows are left out."""
        return _without_short(self.rows[:_HEAD_ROWS])

    @cached_property
    def table_head(self) -> Sequence[str]:
        """Return the letters of the rows from the title to the head of the first table.

        They are empty if no table begins among the first rows, or none of these rows is above it.
        """
        head = self.printed.first(_HEAD_ROWS)
        for place, gaps in enumerate(count_gaps(head, self.print_area.character_width)):
            if place and gaps >= MIN_TABLE_GAPS:
                return self.rows[: place + 1]
        return ()

    @cached_property
    def long_rows(self) -> frozenset[str]:
        """Return the letters of the printed rows. Short rows are left out."""
        return _without_short(self.rows)

    @cached_property
    def sections(self) -> Sequence[int]:
        """Return the numbers of the sections and items, as 2 for "2. Methods" and "2.1 Design"."""
        return [int(match[1]) for line in self.lines if (match := _NUMBERED_ITEM.match(line))]

    @cached_property
    def titles(self) -> Sequence[Title]:
        """Return the phrases among the first lines that may be titles of types."""
        return find_titles(self.page)

    @cached_property
    def points(self) -> Mapping[str, int]:
        """Return the points of each type that the page has by itself, the best type first."""
        return {score.slug: score.points for score in score_page(self.page)}

    @property
    def type(self) -> str:
        """Return the type of the page by itself, or ""."""
        return choose_best_type(self.points)

    @property
    def titled_type(self) -> str:
        """Return the type of the page by itself if it has a title of it, or ""."""
        return find_type_with_title(self.type, self.titles) if self.titles else ""


def find_running_lines(pages: Sequence[PageReading]) -> frozenset[str]:
    """Return the letters of the lines that every page of a file has at its edges.

    They say nothing about the documents, for example a notice of the system that printed the file.
    """
    filled = [page for page in pages if not page.is_blank]
    if len(filled) < _MIN_RUNNING_PAGES:
        return frozenset()
    common = _edge_letters(_split_lines(filled[0]))
    for page in filled[1:]:
        common &= _edge_letters(_split_lines(page))
        if not common:
            break
    return common


def _split_lines(page: PageReading) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, page.text.splitlines())))


def _edge_letters(lines: Sequence[str]) -> frozenset[str]:
    """Return the letters of the first and the last lines. Short lines are left out."""
    return _without_short(_letters_of(_edges_of(lines)))


def _edges_of(lines: Sequence[str]) -> Sequence[str]:
    """Return the first and the last ones of the lines of a page, or of their letters."""
    return (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES - 1 :])


def _without_short(letters: Iterable[str]) -> frozenset[str]:
    return frozenset([each for each in letters if len(each) >= _MIN_EDGE_LETTERS])


def _letters_of(lines: Sequence[str]) -> list[str]:
    """Return the letters of each line."""
    if not lines:
        return []
    signs = "\n".join(lines).encode("utf-8", "surrogatepass")
    signs = GENERAL_PUNCTUATION.sub(b"", signs.translate(None, _ASCII_NOT_LETTERS))
    text = signs.decode("utf-8", "surrogatepass")
    if not text.isascii():
        text = _NOT_WORDS.sub("", text)
        if not text.replace("\n", "").isalpha():
            text = _DIGITS.sub("", text)
    return text.casefold().split("\n")


def _long_words(lines: Sequence[str]) -> frozenset[str]:
    return frozenset(_LONG_WORD.findall(" ".join(lines).casefold()))


def collect_evidence(
    page: PageReading,
    running: frozenset[str] = frozenset(),
    places: WordPlaces | None = None,
) -> PageEvidence:
    """Return the evidence of a page. `running`: lines that are left out (`find_running_lines`).

    `places` are those of the words of the page, if they were listed already.
    """
    text = page.text
    places = places or WordPlaces(page.words)
    lines = _split_lines(page)
    letters_of_lines = _letters_of(lines)
    if running:
        kept = [number for number, each in enumerate(letters_of_lines) if each not in running]
        lines = tuple(lines[number] for number in kept)
        letters_of_lines = [letters_of_lines[number] for number in kept]
    folded = text.casefold()
    printed = PageRows(
        row
        for row in find_rows(page, places)
        if not running or _letters_of([row.text])[0] not in running
    )
    return PageEvidence(
        page,
        lines,
        letters_of_lines,
        frozenset((int(match[1]), int(match[2])) for match in _NUMBERED.finditer(folded)),
        _find_bare_number(lines),
        frozenset(_LONG_WORD.findall(folded)),
        frozenset(_find_references(text)),
        _without_short(_edges_of(letters_of_lines)),
        places,
        printed,
        bool(running),
    )


def _describe_page(one: PageEvidence) -> Mapping[str, float]:
    """Return the features of a page by itself, without those of all rows."""
    page, lines, bare, print_area = one.page, one.lines, one.bare_number, one.print_area
    head = lines[:_HEAD_LINES]
    first = lines[0] if lines else ""
    numbers = {number for number, _ in one.numbering}
    return {
        "number one": float(1 in numbers),
        "number two": float(bool(numbers) and 1 not in numbers),
        "bare one": float(bare == 1),
        "bare two": float(bare > 1),
        "tall head": one.head_height,
        "salutation": float(bool(_SALUTATION.search("\n".join(lines[:20])))),
        "date in head": float(bool(_DATE.search("\n".join(head)))),
        "captions in head": float(sum(bool(_CAPTION.match(line)) for line in head)),
        "capital head": float(sum(line.isupper() for line in lines[:4])),
        "lower beginning": float(first[:1].islower()),
        "continued": float(bool(_CONTINUED.search("\n".join(lines[:4])))),
        "continued title": float(any(_CONTINUED_TITLE.search(line) for line in head[:3])),
        "attached": float(any(_ATTACHED.match(line) for line in lines[:4])),
        "first words": float(min(first.count(" ") + 1, 20)) if first else 0.0,
        "head words": sum(line.count(" ") + 1 for line in head) / max(len(head), 1),
        "word count": one.word_count,
        "top": print_area.top,
        "landscape": float(page.width > page.height),
        "section": float(bool(first and _SECTION.match(first))),
        "mentions attachment": float(one.mentions_attachment),
        "running": float(one.has_running_lines),
        "form": float(page.forms[0].page) if page.forms else 0.0,
        "bottom": print_area.bottom,
        "title lines": float(sum(_may_be_title(line) for line in lines[:4])),
        "introduces": float(
            first.endswith(":") and first.count(" ") + 1 >= _MIN_INTRODUCTION_WORDS
        ),
        **describe_head(page, one.printed.first(HEAD_ROWS), one.places.character_width),
    }


def _find_bare_number(lines: Sequence[str]) -> int:
    """Return the number at the edge of a page with these lines; 0 if there is none."""
    for line in (*lines[-3:], *lines[:_EDGE_LINES]):
        if match := _BARE_NUMBER.search(line):
            return int(match[1] or match[3])
    return 0


def _find_references(text: str) -> list[str]:
    """Return the numbers and codes of a text. The search leaves out words of letters only."""
    return _REFERENCE.findall(" ".join([word for word in text.split() if not word.isalpha()]))


def _may_be_title(line: str) -> bool:
    """Return whether a line may be the title of a document of any type."""
    is_short = line.count(" ") + 1 <= _MAX_TITLE_WORDS
    return is_short and line[:1].isupper() and not line.endswith(_NOT_TITLE_END)
