"""Finds titles of studies by the places of their lines: beside or below a caption, in one column.

The places show better than the order of the text, which `titles_in_text` reads, where a title
ends.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from ingestion.rules.fields import geometry
from ingestion.rules.fields.text_lines import TextLine, line_gap
from ingestion.rules.fields.titles import title_captions, title_lines, title_texts, titles_in_text

_MAX_LINE_GAP = 1.6  # of the usual space between two lines, to the next line of the same text
_MIN_PARAGRAPH_GAP = 2.0  # points; a paragraph begins after so much more space
_MIN_TITLE_WORDS = 2
_MAX_OFF_MIDDLE = 4.0  # points, twice the distance of a caption from the middle of its cell
_MAX_CELL_HEIGHT = 4.0  # of the height of the caption, from its middle up and down, together
_MAX_OFFSET = 3.0  # points, between the left edges of a caption and of a line below it
_SEARCHED_LENGTH = 24  # characters of a title by which its first line is found


def correct_end(title: str, by_place: Sequence[str]) -> str:
    """Return the title found by position if it is longer or shorter, else `title`."""
    return next(
        (each for each in by_place if title.startswith(f"{each} ") or each.startswith(f"{title} ")),
        title,
    )


def end_at_paragraph(title: str, lines: Sequence[TextLine], gap: float) -> str:
    """Return a title up to the end of its paragraph, which only the places of its lines show.

    Another place may have only its first words.
    """
    found = []
    for at, line in enumerate(lines):
        start = line.text.find(title[:_SEARCHED_LENGTH])
        if start < 0 or not title.startswith(f"{line.text[start:]} "):
            continue
        whole = line.text[start:]
        for below in _column_below(line, lines[at + 1 :], gap):
            if below.startswith(title[len(whole) + 1 :]):
                return title
            if not title.startswith(f"{whole} {below}"):
                break
            whole = f"{whole} {below}"
        found.append(whole)
    return max(found, key=len, default=title)


def find_titles_by_place(lines: Sequence[TextLine]) -> Iterator[str]:
    """Yield the titles beside or below their captions. A title goes on in its own column only."""
    gap = line_gap(lines)
    for at, line in enumerate(lines):
        is_study = title_captions.is_name_of_study(line.text)
        if not is_study and not title_captions.is_caption_line(line.text):
            continue
        beside = [
            each
            for each in lines[max(0, at - 2) : at + 4]
            if each.box.left > line.box.right
            and geometry.is_level_with(line.box, each.box)
            and not titles_in_text.ONLY_NUMBER.fullmatch(each.text.strip("[]()"))
        ]
        if cell := _cell_beside_middle(line, lines):
            yield title_texts.clean(" ".join(cell))
            continue
        centre = line.box.top + line.box.bottom
        first = min(
            beside,
            key=lambda each: (round(each.box.left), abs(each.box.top + each.box.bottom - centre)),
            default=line,
        )
        column = _column_below(first, lines[at + 1 :], gap)
        if first is not line and not column:
            column = _lines_below_caption(line, first, lines, gap)
        if is_study:
            if first is not line and len(first.text.split()) > _MIN_TITLE_WORDS:
                yield title_texts.clean(title_lines.continue_title(first.text, column))
            continue
        own = [line.text] if first is line else [f"{line.text.rstrip(' :')}:", first.text]
        found = titles_in_text.titles_at_captions([*own, *column], is_cell=first is not line)
        yield from islice(found, 1)


def _cell_beside_middle(caption: TextLine, lines: Sequence[TextLine]) -> list[str]:
    """Return the lines of the next cell if the caption stands beside their middle; else none."""
    centre, height = caption.box.top + caption.box.bottom, caption.box.bottom - caption.box.top
    near = [
        each
        for each in lines
        if each.box.left > caption.box.right
        and abs(each.box.top + each.box.bottom - centre) < _MAX_CELL_HEIGHT * height
    ]
    left = min((each.box.left for each in near), default=0.0)
    cell = sorted(
        (each for each in near if each.box.left - left < 2), key=lambda each: each.box.top
    )
    off_centre = cell[0].box.top + cell[-1].box.bottom - centre if cell else 0.0
    # The number of a row may stand before its caption.
    others = [
        each
        for each in lines
        if each.box.right > caption.box.left or not geometry.is_level_with(each.box, caption.box)
    ]
    others.remove(caption)
    gap = line_gap(lines)
    is_one = all(
        below.box.top - above.box.bottom <= max(_MAX_LINE_GAP * gap, gap + _MIN_PARAGRAPH_GAP)
        for above, below in pairwise(cell)
    )
    is_cell = (
        len(cell) > 1
        and is_one
        and abs(off_centre) < _MAX_OFF_MIDDLE
        and not any(_has_cell_before(each, others) for each in cell)
    )
    return [each.text for each in cell] if is_cell else []


def _column_below(first: TextLine, lines: Sequence[TextLine], gap: float) -> list[str]:
    """Return the texts of the lines that follow a line in its column, without a gap."""
    column = []
    last = first
    for line in lines:
        if line.box.top <= first.box.top + 2 or not (
            line.box.left < first.box.right and line.box.right > first.box.left
        ):
            continue
        is_far = line.box.top - last.box.bottom > max(_MAX_LINE_GAP * gap, gap + _MIN_PARAGRAPH_GAP)
        if is_far or (line.box.left > first.box.left - 2 and _has_cell_before(line, lines)):
            break
        column.append(line.text)
        last = line
    return column


def _lines_below_caption(
    caption: TextLine, first: TextLine, lines: Sequence[TextLine], gap: float
) -> list[str]:
    """Return the lines of a title that go on at the left edge of its caption, as in typed text.

    The first line is full: the word below it has no space beside it.
    """
    below = [
        each
        for each in lines
        if abs(each.box.left - caption.box.left) < _MAX_OFFSET
        and each.box.top > caption.box.top + 2
    ]
    if not below or _is_beside_others(below[0], lines):
        return []
    start = below[0]
    margin = max(each.box.right for each in lines)
    word = start.words[0].box
    is_full = first.box.right + word.right - word.left > margin - start.size / 2
    is_near = start.box.top - first.box.bottom <= max(_MAX_LINE_GAP * gap, gap + _MIN_PARAGRAPH_GAP)
    if not is_full or not is_near:
        return []
    return [start.text, *_column_below(start, lines[lines.index(start) + 1 :], gap)]


def _is_beside_others(line: TextLine, lines: Sequence[TextLine]) -> bool:
    return any(each is not line and geometry.is_level_with(each.box, line.box) for each in lines)


def _has_cell_before(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether another text stands to the left of a line, as in the next row of a table.

    The caption of a title may stand beside the middle of its cell.
    """
    return any(
        each.box.right <= line.box.left
        and geometry.is_level_with(each.box, line.box)
        and not title_captions.is_caption_line(each.text)
        for each in lines
    )
