"""The evidence that a page begins a document: what it shows itself, and what it shares with others.

Each kind of evidence is a number, mostly 0 or 1, which `boundary_weights` weighs. None of it needs
a known document type except that of titles, so that documents of unsupported types are separated
as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from statistics import median

from ingestion.reading.results import PageReading
from ingestion.rules.classification.classify import score_page
from ingestion.rules.document_types import MIN_TYPE_SCORE, TYPES
from ingestion.rules.segmentation import page_titles

Evidence = dict[str, float]

EDGE_LINES = 3  # lines at the top and at the bottom that may be running lines or a page number
HEAD_LINES = 14  # lines that may contain the beginning of a letter
TAIL_LINES = 12  # lines that may contain a closing or a signature
MIN_RUNNING_LETTERS = 8  # of a header that recurs; a shorter line may recur by chance
MIN_OPEN_LINE = 45  # characters of a line that is interrupted by the end of the page
MIN_VOCABULARY = 8  # words, fewer say nothing about what a page is about
LARGE_PRINT = 1.35  # times the median height of the words

_LETTER = re.compile(
    r"\W*(dear\b|to:|from:|re:|subject:|date:|memorandum\b|memo\b|attn)", re.IGNORECASE
)
_DATE_LINE = re.compile(
    r"\W*(\d{1,2}(st|nd|rd|th)?[ /.-]\w+[ /.,-]+\d{2,4}|\w+ \d{1,2}(st|nd|rd|th)?,? \d{4}"
    r"|(date|dated)\b.{0,30}\d{4})\W*$",
    re.IGNORECASE,
)
_ATTACHMENT = re.compile(
    r"\W*(attachment|appendix|annex|enclosure|exhibit|schedule|addendum)\b.{0,40}$", re.IGNORECASE
)
_CLOSING = re.compile(
    r"\W*(sincerely|yours (sincerely|faithfully|truly)|(kind|best|warm|with) .{0,6}regards|regards"
    r"|respectfully|cc:|signature|signed|printed name|name and title|enclosures?)\b",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(r"\W*(?:page|p\.?|pg\.?)?\W*(\d{1,3})\W*$", re.IGNORECASE)
_PAGE_NUMBER = re.compile(r"\bpage\s*(\d{1,3})\b", re.IGNORECASE)
_PAGE_OF = re.compile(
    r"\b(?:page|part|pg\.?|p\.)\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b"
    r"|^\W*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\W*$",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"[a-z]{4,}")
_IDENTIFIER = re.compile(r"\b(?=[\w/.-]*\d)[\w/.-]{5,}\b")
_COMMON_WORDS = frozenset({
    "about", "also", "been", "date", "each", "from", "have", "information", "into", "must", "name",
    "number", "only", "other", "page", "please", "research", "shall", "should", "study", "such",
    "than", "that", "their", "there", "these", "they", "this", "those", "were", "when", "where",
    "which", "will", "with", "would", "your",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What one page shows."""

    page: PageReading
    numbering: frozenset[tuple[int, int]]  # (2, 3) for "Page 2 of 3"; a page may have two
    numbers: frozenset[int]  # page numbers without a total
    top: frozenset[str]  # its first lines, without digits
    bottom: frozenset[str]  # its last lines, without digits
    own: Evidence  # the evidence that depends on this page alone
    is_closed: bool  # whether a closing or a place for a signature is among the last lines
    is_open: bool  # whether the last line is interrupted
    vocabulary: frozenset[str]
    identifiers: frozenset[str]
    height: float  # median of the words in points; 0 without words
    left: float  # left margin as a share of the width
    fill: float  # where the text ends, as a share of the height
    slug: str  # the type whose title it has, or ""
    kind: str  # the type that is recognised, or ""
    points: Mapping[str, int]  # of the types, if it has a title
    is_prominent: bool  # whether its title is large or centred


def collect_evidence(page: PageReading) -> PageEvidence:
    """Return what one page shows."""
    lines = [line.strip() for line in page.text.splitlines() if line.strip()]
    edges = (*lines[:EDGE_LINES], *lines[-EDGE_LINES:])
    numbers = {int(match[1]) for line in edges if (match := _BARE_NUMBER.match(line))}
    numbers |= {int(match[1]) for line in edges for match in _PAGE_NUMBER.finditer(line)}
    body = [line for line in lines if not _BARE_NUMBER.match(line)]
    last = body[-1] if body else ""
    heights = [word.box.bottom - word.box.top for word in page.words]
    height = median(heights) if heights else 0.0
    scores = score_page(page)
    kind = scores[0].slug if scores[0].points >= MIN_TYPE_SCORE else ""
    slug = kind if kind and page_titles.has_title(page, kind) else ""
    return PageEvidence(
        page=page,
        numbering=_find_numbering(page.text),
        numbers=frozenset(numbers),
        top=frozenset(map(_without_digits, lines[: EDGE_LINES - 1])),
        bottom=frozenset(map(_without_digits, lines[-EDGE_LINES:])),
        own=_own_evidence(page, lines, height),
        is_closed=any(map(_CLOSING.match, lines[-TAIL_LINES:])),
        is_open=len(last) > MIN_OPEN_LINE and (last[-1].isalnum() or last[-1] in ",;-"),
        vocabulary=frozenset(_WORD.findall(page.text.lower())) - _COMMON_WORDS,
        identifiers=frozenset(each.strip("./-").lower() for each in _IDENTIFIER.findall(page.text)),
        height=height,
        left=_quantile([word.box.left for word in page.words], 0.05) / (page.width or 1.0),
        fill=_quantile([word.box.bottom for word in page.words], 0.93) / (page.height or 1.0),
        slug=slug,
        kind=kind,
        points={score.slug: score.points for score in scores} if slug else {},
        is_prominent=bool(slug) and page_titles.has_prominent_title(page, slug),
    )


def weigh_pages(before: PageEvidence, page: PageEvidence) -> Evidence:
    """Return the evidence that a page begins a document, and does not continue the one before it.

    Both pages are neighbours, apart from blank pages between them.
    """
    first = any(number == 1 for number, _ in page.numbering)
    continued = any((number - 1, total) in before.numbering for number, total in page.numbering)
    last = any(number == total for number, total in before.numbering)
    counted = not before.numbers.isdisjoint(number - 1 for number in page.numbers)
    shared = len(before.vocabulary & page.vocabulary)
    fewer, more = sorted((len(before.vocabulary), len(page.vocabulary)))
    sides, sides_before = _sides(page.page), _sides(before.page)
    resized = abs(sides[0] - sides_before[0]) + abs(sides[1] - sides_before[1])
    is_turned = (page.page.width > page.page.height) != (before.page.width > before.page.height)
    heights = before.height and page.height and not is_turned
    return {
        **page.own,
        "numbered as first": float(first),
        "numbering continues": float(continued),
        "numbering jumps": float(bool(page.numbering) and not first and not continued),
        "before is last": float(last),
        "before is not last": float(bool(before.numbering) and not last and not continued),
        "number continues": float(counted),
        "number is one": float(1 in page.numbers and not counted),
        "number is higher": float(
            not counted and 1 not in page.numbers and any(each > 1 for each in page.numbers)
        ),
        "same header": float(_share_line(before.top, page.top)),
        "same footer": float(_share_line(before.bottom, page.bottom)),
        "before is closed": float(before.is_closed),
        "before is open": float(before.is_open),
        "before ends early": max(0.0, 0.85 - before.fill),
        "shared words": shared / fewer if fewer >= MIN_VOCABULARY else 0.25,
        "same form": max(0.0, shared / (fewer + more - shared) - 0.6) * 2.5 if fewer else 0.0,
        "shared identifier": float(not before.identifiers.isdisjoint(page.identifiers)),
        "other print": min(1.0, abs(log(before.height / page.height))) if heights else 0.2,
        "other margin": 0.0 if is_turned else 5 * min(0.2, abs(before.left - page.left)),
        "other size": float(resized > 6),
        "other source": float(before.page.source is not page.page.source),
    }


def weigh_title(first: PageEvidence, page: PageEvidence) -> Evidence:
    """Return the evidence of a title that a page belongs to no document that begins at `first`."""
    if not page.slug:
        return {}
    is_other = page.slug != first.kind
    lead = page.points.get(page.slug, 0) - page.points.get(first.kind, 0) if is_other else 0
    mentions = TYPES[first.kind].mentions if first.kind else page_titles.mentioned_types()
    return {
        "title": 1.0,
        "title of another type": float(is_other),
        "lead of the title": min(max(lead, -4), 8) / 8,
        "prominent title": float(page.is_prominent),
        "both types are known": float(is_other and bool(first.kind)),
        "title may be mentioned": float(page.slug in mentions and not page.is_prominent),
        "another person or number": float(
            not is_other
            and page_titles.is_another_document(page.page, first.page, page.slug, with_dates=False)
        ),
    }


def _own_evidence(page: PageReading, lines: list[str], height: float) -> Evidence:
    head = lines[:HEAD_LINES]
    begin = next((line for line in lines[:4] if len(line) > 15), "")
    large = sum(
        word.box.bottom < 0.4 * page.height
        and word.box.bottom - word.box.top > LARGE_PRINT * height
        and len(word.text) > 2
        for word in page.words
    )
    return {
        "letter": min(2, sum(bool(_LETTER.match(line)) for line in head)) / 2,
        "date line": float(any(map(_DATE_LINE.match, head))),
        "begins in lower case": float(begin[:1].islower()),
        "attachment": float(any(map(_ATTACHMENT.match, lines[:4]))),
        "capitals": min(2, sum(line.isupper() and len(line) > 6 for line in lines[:6])) / 2,
        "large print": min(6, large) / 6,
    }


def _sides(page: PageReading) -> tuple[float, float]:
    """Return the shorter and the longer side of a page in points."""
    return min(page.width, page.height), max(page.width, page.height)


def _find_numbering(text: str) -> frozenset[tuple[int, int]]:
    found = (
        (int(match[1] or match[3]), int(match[2] or match[4])) for match in _PAGE_OF.finditer(text)
    )
    return frozenset((number, total) for number, total in found if 0 < number <= total)


def _without_digits(line: str) -> str:
    return re.sub(r"\d+", "#", re.sub(r"[^a-z0-9]+", " ", line.lower())).strip()


def _share_line(one: frozenset[str], other: frozenset[str]) -> bool:
    return any(len(line) >= MIN_RUNNING_LETTERS for line in one & other)


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * len(values))] if values else 0.0
