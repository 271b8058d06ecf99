"""Sheets onto which a copier put several documents: their regions, in reading order.

A sheet is divided only if it shows the titles of two documents. Two or four pages of one document
on a sheet stay one page.
"""

from collections.abc import Iterable, Iterator, Sequence

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.classify import MIN_TITLE_SHARE, has_type_landmarks
from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.page_regions import Region, cut_out, region_box
from ingestion.rules.segmentation.page_titles import (
    Title,
    is_another_document,
    recognise_type,
    titled_type,
    titles_in_text,
)

MIN_LANDSCAPE_RATIO = 1.15  # width to height of a sheet that may be two pages side by side
MIN_LINES_OF_FOUR = 60  # lines of a sheet that may be four pages
MIN_REGION_WORDS = 12  # of each page on a shared sheet
MIN_DOUBTED_WORDS = 50  # of each half of a landscape page that may be two pages
MAX_MIDDLE_WORD_SHARE = 0.03  # words across the middle of a sheet with documents side by side

SIDE_BY_SIDE: tuple[Region, ...] = ((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0))
ONE_ABOVE_THE_OTHER: tuple[Region, ...] = ((0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0))
QUARTERS: tuple[Region, ...] = tuple(
    (x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5)
)


def split_shared_sheet(page: PageReading) -> tuple[Region, ...]:
    """Return the regions of a sheet that contains several documents, or () if it contains one."""
    return next((regions for regions in _candidates(page) if _are_documents(page, regions)), ())


def may_be_shared_sheet(page: PageReading) -> bool:
    """Return whether a sheet looks like several pages, although not all of them are recognised.

    A landscape page with much text on both sides does, and so does any page on which two of the
    pages are recognised as types. Two columns of one page, as in a journal, do not.
    """
    for regions in _candidates(page):
        if regions is SIDE_BY_SIDE and _have_text(page, regions, MIN_DOUBTED_WORDS):
            return True
        slugs = {recognise_type(cut_out(page, region)) for region in regions} - {""}
        if regions is not ONE_ABOVE_THE_OTHER and len(slugs) > 1:
            return True
    return False


def _candidates(page: PageReading) -> Iterator[tuple[Region, ...]]:
    """Yield the divisions that the white space on a page or its titles suggest."""
    lines = page.text.splitlines()
    if page.width > MIN_LANDSCAPE_RATIO * page.height:
        if _have_text(page, SIDE_BY_SIDE) and _is_clear(page, across=True):
            yield SIDE_BY_SIDE
        return
    titles = titles_in_text(page.text)
    above, below = lines[: len(lines) // 3], lines[len(lines) // 3 :]
    lower = _find_titles_in(below, titles, MIN_TITLE_SHARE)
    shows_two = bool(lower) and _show_two_documents(
        page, [*_find_titles_in(above, titles, MIN_TITLE_SHARE), *lower]
    )
    if (shows_two or len(lines) > MIN_LINES_OF_FOUR) and (
        _have_text(page, QUARTERS)
        and _is_clear(page, across=True)
        and _is_clear(page, across=False)
    ):
        yield QUARTERS
    elif shows_two:
        yield ONE_ABOVE_THE_OTHER


def _are_documents(page: PageReading, regions: Sequence[Region]) -> bool:
    """Return whether each region shows a type, and no two show the same document.

    One document may mention the title of another, so halves of a page need titles.
    """
    contents = [cut_out(page, region) for region in regions]
    recognise = titled_type if regions is ONE_ABOVE_THE_OTHER else recognise_type
    slugs: list[str] = []
    for content in contents:
        slug = recognise(content)
        is_repeated = any(
            slug == other and not is_another_document(content, before, slug)
            for other, before in zip(slugs, contents, strict=False)
        )
        if not slug or is_repeated:
            return False
        slugs.append(slug)
    return True


def _have_text(
    page: PageReading, regions: Sequence[Region], min_words: int = MIN_REGION_WORDS
) -> bool:
    areas = [region_box(page, region) for region in regions]
    return all(
        sum(area.contains_centre_of(word.box) for word in page.words) >= min_words for area in areas
    )


def _is_clear(page: PageReading, *, across: bool) -> bool:
    """Return whether few words cross the middle of a page, from left to right or downwards."""
    if across:
        middle = page.width / 2
        crossing = sum(word.box.left < middle < word.box.right for word in page.words)
    else:
        middle = page.height / 2
        crossing = sum(word.box.top < middle < word.box.bottom for word in page.words)
    return crossing <= MAX_MIDDLE_WORD_SHARE * len(page.words)


def _find_titles_in(lines: Sequence[str], titles: Iterable[Title], min_share: float) -> list[Title]:
    """Return the titles that make up this share of a line, as often as they occur."""
    found = []
    for title in titles:
        max_letters = len(fuzzy_phrases.fold_letters(title.phrase)) / min_share
        pattern = fuzzy_phrases.compile_phrase(title.phrase)
        for line in lines:
            if len(fuzzy_phrases.fold_letters(line)) <= max_letters:
                found += [title] * len(pattern.findall(line))
    return found


def _show_two_documents(page: PageReading, titles: Sequence[Title]) -> bool:
    """Return whether the page shows the types of two of these titles, or one title twice."""
    if len(titles) < 2:
        return False
    slugs = {title.slug for title in titles}
    on_page = {slug for slug in slugs if has_type_landmarks(page, TYPES[slug])}
    return len(on_page) > 1 or any(
        titles.count(title) > 1 for title in titles if title.slug in on_page
    )
