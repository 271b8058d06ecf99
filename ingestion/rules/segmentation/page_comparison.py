"""Compares a page with the pages before it: the features of the model of boundaries.

`compare_pages` compares the evidence of a page (`page_evidence`) with that of the earlier pages of
the document before it. The model is in `boundary_model`.
"""

from collections.abc import Iterable, Sequence
from math import log2

from rapidfuzz import fuzz, process

from ingestion.reading.results import PageReading
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.values import SCAN_SOURCES
from ingestion.rules.segmentation.page_evidence import PageEvidence
from ingestion.rules.segmentation.titles import (
    has_prominent_title,
    is_another_document,
    list_mentioned_types,
)

# The features of `compare_rows`.
ROW_FEATURES = frozenset(
    {
        "head space",
        "last gaps",
        "table rows",
        "repeated rows",
        "head rows of first",
        "gaps before",
    }
)
_MAX_NEW_REFERENCES = 8
_MAX_SIZE_DIFFERENCE = 4  # points
_RECENT_PAGES = 5  # of a document with which a page is compared
_MIN_ROW_LETTERS = 6  # shorter rows are often misread, or no print at all
_MIN_SIMILARITY = 85  # of 100, between the letters of two lines of which one may be misread


def compare_pages(
    one: PageEvidence, earlier: Sequence[PageEvidence], *, length: int, blanks: int
) -> dict[str, float]:
    """Return the features of a page after the pages `earlier` of the document before it.

    This document has `length` pages until here, with blank ones. `blanks` blank pages are directly
    before the page.
    """
    features = compare_without_rows(one, earlier, length=length, blanks=blanks)
    return {**features, **compare_rows(one, earlier)}


def compare_rows(one: PageEvidence, earlier: Sequence[PageEvidence]) -> dict[str, float]:
    """Return the features ROW_FEATURES of `compare_pages`, for which all rows are needed.

    To find them takes longer than the other features, and they seldom decide.
    """
    first, before = earlier[0], earlier[-1]
    repeated_rows = _find_similar(one.long_rows, first.long_rows)
    return {
        **one.row_features,
        "repeated rows": len(repeated_rows) / max(len(one.long_rows), 1),
        "head rows of first": float(len(repeated_rows & one.head_rows)),
        "gaps before": before.row_features["last gaps"],
    }


def compare_without_rows(
    one: PageEvidence, earlier: Sequence[PageEvidence], *, length: int, blanks: int
) -> dict[str, float]:
    """Return the features of `compare_pages` except ROW_FEATURES."""
    first, before = earlier[0], earlier[-1]
    recent = earlier[-_RECENT_PAGES:]
    page, other = one.page, before.page
    continues = any((number - 1, total) in before.numbering for number, total in one.numbering)
    shared = len(one.words & before.words)
    shared_first = len(one.words & first.words)
    least = min(len(one.words), len(before.words))
    least_first = min(len(one.words), len(first.words))
    slug = one.titled_type
    own_titles = [title for title in one.titles if title.slug == slug]
    current = first.type if slug else ""
    is_same = bool(slug) and slug == current
    may_be_mentioned = bool(slug) and slug in (
        TYPES[current].mentions if current else list_mentioned_types()
    )
    new_references = len(_without_known(one.references, [e.references for e in earlier]))
    new_words = len(_without_known(one.words, [each.words for each in recent]))
    same_form = bool(page.forms and other.forms and page.forms[0].form == other.forms[0].form)
    return {
        **one.features,
        "title": float(bool(one.titles)),
        "titled": float(bool(slug)),
        "same type": float(is_same),
        "other type": float(bool(slug and current and not is_same)),
        "type lead": min(one.points[slug] - one.points.get(current, 0), 20) if slug else 0.0,
        "mentioned": float(may_be_mentioned),
        "prominent": float(bool(slug) and has_prominent_title(page, own_titles)),
        "differs": float(
            is_same and is_another_document(page, first.page, slug, with_dates=not continues)
        ),
        "continues": float(continues),
        "other total": float(
            bool(one.numbering and before.numbering)
            and not {t for _, t in one.numbering} & {t for _, t in before.numbering}
        ),
        "before is last": float(any(number == total for number, total in before.numbering)),
        "numbers stop": float(bool(before.numbering) and not one.numbering),
        "numbers start": float(bool(one.numbering) and not before.numbering),
        "bare continues": float(
            bool(before.bare_number) and one.bare_number == before.bare_number + 1
        ),
        "bare stops": float(bool(before.bare_number) and not one.bare_number),
        "bare starts": float(bool(one.bare_number) and not before.bare_number),
        "same size": float(_have_same_size(page, other)),
        "same source": float(page.source == other.source),
        "height change": abs(log2(one.print_area.height / before.print_area.height))
        if one.print_area.height and before.print_area.height
        else 0.0,
        "left change": abs(one.print_area.left - before.print_area.left),
        "top change": one.print_area.top - before.print_area.top,
        "head taller": log2(one.print_area.max_height / first.print_area.max_height)
        if one.print_area.max_height and first.print_area.max_height
        else 0.0,
        "shared edges": float(_count_shared_edges(one, before)),
        "shared edges with first": float(_count_shared_edges(one, first)),
        "shared words": shared / least if least else 0.0,
        "shared words with first": shared_first / least_first if least_first else 0.0,
        "shared references": float(min(len(one.references & before.references), 5)),
        "shared references with first": float(min(len(one.references & first.references), 5)),
        "same beginning": float(bool(one.lines and first.lines) and one.lines[0] == first.lines[0]),
        "head lines of first": float(len(one.head_letters & first.letters)),
        "head lines before": float(len(one.head_letters & before.letters)),
        "shared edges with recent": float(max(_count_shared_edges(one, each) for each in recent)),
        "shared words with recent": (len(one.words) - new_words) / len(one.words)
        if one.words
        else 0.0,
        "section follows": float(_follows_section(one, recent)),
        "shared head words": _share_head_words(one, first),
        "attachment mentioned": float(first.mentions_attachment or before.mentions_attachment),
        "right change": abs(one.print_area.right - before.print_area.right),
        "width change": abs(
            log2(one.print_area.character_width / before.print_area.character_width)
        )
        if one.print_area.character_width and before.print_area.character_width
        else 0.0,
        "same height": float(abs(one.print_area.height - before.print_area.height) < 0.1),
        "same height as first": float(abs(one.print_area.height - first.print_area.height) < 0.1),
        "bottom before": before.print_area.bottom,
        "closing before": float(before.has_closing),
        "open sentence": float(before.is_open),
        "words before": before.word_count,
        "tall head before": before.head_height,
        "length": float(min(length, 10)),
        "blanks": float(min(blanks, 2)),
        "new references": float(min(new_references, _MAX_NEW_REFERENCES)),
        "known references": 1 - new_references / len(one.references) if one.references else 0.0,
        "form follows": float(same_form and page.forms[0].page == other.forms[0].page + 1),
    }


def continues_log(one: PageEvidence, first: PageEvidence) -> bool:
    """Return whether a page repeats the title and the head of the table of a first page.

    The first page has more between them, as the site, the investigator and the protocol of a log.
    The log of another site has all of this too.
    """
    head = one.table_head
    if not head or any(len(head[end]) < _MIN_ROW_LETTERS for end in (0, -1)):
        return False
    places = [_find_row(row, first.rows) for row in head]
    return -1 not in places and any(
        len(row) >= _MIN_ROW_LETTERS
        for place, row in enumerate(first.rows)
        if places[0] < place < places[-1] and place not in places
    )


def _count_shared_edges(one: PageEvidence, other: PageEvidence) -> int:
    """Return how many lines at the edges of a page are also at those of another one.

    On a scan, a few letters may be misread.
    """
    if one.page.source not in SCAN_SOURCES:
        return len(one.heads & other.heads)
    return sum(_is_in(letters, other.heads) for letters in one.heads)


def _without_known(found: frozenset[str], known: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return what is in none of the other sets. To unite these would take longer."""
    for each in known:
        found -= each
    return found


def _is_in(letters: str, others: frozenset[str]) -> bool:
    """Return whether a line is among others. A few letters may be misread."""
    return letters in others or bool(
        process.extractOne(letters, others, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY)
    )


def _find_similar(lines: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Return the lines for which `_is_in` is true. All of them are compared at once."""
    found, rest = lines & others, list(lines - others)
    if not rest or not others:
        return found
    scores = process.cdist(rest, list(others), score_cutoff=_MIN_SIMILARITY)
    return found.union(rest[row] for row, _ in zip(*scores.nonzero(), strict=True))


def _find_row(letters: str, rows: Sequence[str]) -> int:
    """Return the place of a row among others, or -1. A few letters may be misread."""
    if letters in rows:
        return rows.index(letters)
    found = process.extractOne(letters, rows, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY)
    return found[2] if found else -1


def _have_same_size(page: PageReading, other: PageReading) -> bool:
    """Return whether two pages have the same size, even if one of them is turned."""
    pairs = zip(_measure_sides(page), _measure_sides(other), strict=True)
    return all(abs(one - two) < _MAX_SIZE_DIFFERENCE for one, two in pairs)


def _measure_sides(page: PageReading) -> list[float]:
    """Return the shorter and the longer side of the original page, in points.

    A page that was turned or straightened is larger than its original.
    """
    original = page.page_map or page
    return sorted((original.width, original.height))


def _follows_section(one: PageEvidence, earlier: Iterable[PageEvidence]) -> bool:
    """Return whether the first numbered section of a page follows the last one of a document."""
    before = [number for each in earlier for number in each.sections]
    return bool(
        before and one.sections and one.sections[0] > 1 and one.sections[0] - before[-1] in (0, 1)
    )


def _share_head_words(one: PageEvidence, first: PageEvidence) -> float:
    """Return the share of the long words of the first lines of a page that `first` has there."""
    words = one.heading_words
    return len(words & first.head_words) / len(words) if words else 0.0
