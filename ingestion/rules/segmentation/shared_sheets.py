"""Divides sheets onto which several documents were copied, side by side or one above the other."""

from collections.abc import Iterable, Sequence

from ingestion.core.file_parts import ONE_ABOVE_THE_OTHER, QUARTERS, SIDE_BY_SIDE, Region
from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.landmarks import MIN_TITLE_SHARE, has_type_landmarks
from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.page_regions import (
    WordPlaces,
    convert_region_to_box,
    cut_out,
)
from ingestion.rules.segmentation.titles import (
    Title,
    find_titled_type,
    find_titles,
    find_titles_in_text,
    is_another_document,
)

MIN_SHARED_LINE_SHARE = 0.25  # MIN_TITLE_SHARE for a line that continues in a second column
MAX_MIDDLE_WORD_SHARE = 0.03  # words close to the middle between two documents side by side

GUTTER = 0.01  # share of the width and height on each side of the middle, without words
MAX_GUTTER_WORD_SHARE = 0.03  # of the words of a sheet, above and below its middle
MIN_WORDS = 5  # of each reduced page
# The width of a character in points: the median of the words. Usual print has 3.6 or more. Words in
# tables are often taller on scans than their letters.
MAX_SIDE_WIDTH, MAX_HALF_WIDTH = 3.45, 2.8  # side by side, and at half their size
MIN_SIDE_MARGIN = 0.22  # share of the width beside pages that are reduced to half their height
# The part of the lower document on a sheet that has its title. Its footer is no title.
TITLE_PART: Region = (0.0, 0.0, 1.0, 0.7)


def find_reduced_pages(page: PageReading, places: WordPlaces | None = None) -> tuple[Region, ...]:
    """Return the regions of a sheet onto which pages were copied smaller, or ().

    White bands cross the middle of the sheet between them, and their print is small. `places` are
    those of the words of the page, if they were listed already.
    """
    places = places or WordPlaces(page.words)
    width = places.character_width
    if not width or width > MAX_SIDE_WIDTH:
        return ()
    has_columns = not _find_near_middle(places.lefts, places.rights, page.width)
    has_rows = _has_two_rows(page, places)
    regions: tuple[Region, ...] = ()
    if has_columns and page.width > page.height:
        regions = SIDE_BY_SIDE
    elif has_rows and width <= MAX_HALF_WIDTH and page.width < page.height:
        margin = MIN_SIDE_MARGIN * page.width
        if has_columns:
            regions = QUARTERS
        elif min(places.lefts) > margin and max(places.rights) < page.width - margin:
            regions = ONE_ABOVE_THE_OTHER
    areas = [convert_region_to_box(page, region) for region in regions]
    are_filled = all(
        sum(area.contains_centre_of(word.box) for word in page.words) >= MIN_WORDS for area in areas
    )
    return regions if are_filled else ()


def _has_two_rows(page: PageReading, places: WordPlaces) -> bool:
    """Return whether a white band crosses a sheet from left to right in its middle.

    On a sheet that was scanned askew, the number of a page may be close to the middle.
    """
    middle = page.height / 2
    near = _find_near_middle(places.tops, places.bottoms, page.height)
    if len(near) > MAX_GUTTER_WORD_SHARE * len(places.words):
        return False
    return not any(top < middle < bottom for top, bottom in near)


def _find_near_middle(
    starts: Sequence[float], ends: Sequence[float], length: float
) -> Sequence[tuple[float, float]]:
    """Return the beginnings and ends of words that are close to the middle of a sheet."""
    low, high = length / 2 - GUTTER * length, length / 2 + GUTTER * length
    return [
        (start, end) for start, end in zip(starts, ends, strict=True) if start < high and end > low
    ]


def split_shared_sheet(page: PageReading, places: WordPlaces | None = None) -> tuple[Region, ...]:
    """Return the two halves of a sheet that contains two documents, or () if it contains one.

    `places` are those of the words of the page, if they were listed already.
    """
    titles = find_titles_in_text(page.text)
    places = places or WordPlaces(page.words)
    has_columns = bool(titles) and _has_two_columns(page, places)
    if not titles or not (has_columns or _has_two_rows(page, places)):
        return ()
    texts = page.text.splitlines()
    lines = tuple(zip(texts, fuzzy_phrases.fold_words(texts), strict=True))
    in_lines = _find_titles_in(lines, titles, MIN_SHARED_LINE_SHARE)
    if len(in_lines) < 2:
        return ()  # the usual case
    above, below = lines[: len(lines) // 3], lines[len(lines) // 3 :]
    if has_columns and _show_two_documents(page, in_lines):
        halves = SIDE_BY_SIDE
    elif (
        (lower := _find_titles_in(below, titles, MIN_TITLE_SHARE))
        and _has_two_rows(page, places)
        and _show_two_documents(page, [*_find_titles_in(above, titles, MIN_TITLE_SHARE), *lower])
    ):
        halves = ONE_ABOVE_THE_OTHER
    else:
        return ()
    first, second = (cut_out(page, half) for half in halves)
    has_titles = find_titles(first) and find_titles(cut_out(second, TITLE_PART))
    if not has_titles:
        return ()  # without the slower search of their types
    if not (one := find_titled_type(first)):
        return ()
    other = find_titled_type(second)
    are_two = other and (one != other or is_another_document(first, second, one))
    return halves if are_two else ()


def _has_two_columns(page: PageReading, places: WordPlaces) -> bool:
    near = _find_near_middle(places.lefts, places.rights, page.width)
    return len(near) <= MAX_MIDDLE_WORD_SHARE * len(places.words)


def _find_titles_in(
    lines: Sequence[tuple[str, str]], titles: Iterable[Title], min_share: float
) -> list[Title]:
    """Return the titles that make up this share of a line, as often as they occur.

    `lines` are the lines of a page, each with its folded letters.
    """
    found = []
    all_letters = "\n".join(letters for _, letters in lines)
    for title in titles:
        wanted = fuzzy_phrases.fold_letters(title.phrase)
        if wanted not in all_letters:
            continue
        max_letters = len(wanted) / min_share
        for line, letters in lines:
            if wanted in letters and len(letters) <= max_letters:
                found += [title] * len(fuzzy_phrases.find_occurrences(line, title.phrase))
    return found


def _show_two_documents(page: PageReading, titles: Sequence[Title]) -> bool:
    """Return whether the page shows the types of two of these titles, or one title twice."""
    if len(titles) < 2:
        return False
    repeated = {title.slug for title in titles if titles.count(title) > 1}
    on_page = 0
    for slug in dict.fromkeys(title.slug for title in titles):
        if has_type_landmarks(page, TYPES[slug]):
            on_page += 1
            if on_page > 1 or slug in repeated:
                return True
    return False
