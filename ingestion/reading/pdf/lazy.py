"""Defines lazy sequences of words and marks, which are searched when they are first needed.

To locate every word of a page takes twice as long as to read its text, and to render the page for
the search of marks takes longer still. For most pages, no rule needs the place of a word or asks
for a signature. The words and marks of such a page are LazyWords and LazyMarks, which search when
they are counted, listed or compared, as long as their document is open.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn, TypeVar, overload

from ingestion.reading.reading_stages import Stage
from ingestion.reading.results import Box, PageReading, RegisteredPage, Word

Item = TypeVar("Item")

MAX_MARK_OVERHANG_POINTS = 1.0  # by which rounding to pixels moves a mark out of its area


class LazyReadError(Exception):
    """A lazy search of page `number` fails. Stays in the parser process.

    The page cannot be read or, with a `stage` that exceeded its time, not completely.
    """

    def __init__(self, number: int, reason: str, stage: Stage | None = None) -> None:
        super().__init__(number, reason)
        self.number, self.reason, self.stage = number, reason, stage


class LazySequence(Sequence[Item]):
    """A sequence that behaves like the tuple of its items, for the process with the open document.

    Each use may raise LazyReadError. `evaluate` a page before it is sent to another process.
    """

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        return self._items[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazySequence):
            return tuple(other) == self._items
        return other == self._items

    __hash__ = None  # type: ignore[assignment]  # it equals a tuple whose hash it does not have

    def __reduce__(self) -> NoReturn:
        raise TypeError("evaluate the words and marks of a page before it is sent anywhere")


class LazyWords(LazySequence[Word]):
    """Words in reading order. All of them are searched at once, by `find`."""

    def __init__(self, find: Callable[[], Sequence[Word]]) -> None:
        self._find = find

    @cached_property
    def _items(self) -> tuple[Word, ...]:
        return tuple(self._find())


class LazySquares(LazySequence[Box]):
    """Empty check boxes from top to bottom. `find` renders the page for them.

    `find_near`, if it is given, renders only the surroundings of a place.
    """

    def __init__(
        self,
        find: Callable[[], Sequence[Box]],
        find_near: Callable[[Box], Sequence[Box]] | None = None,
    ) -> None:
        self._find, self._find_near = find, find_near

    def near(self, place: Box) -> Sequence[Box]:
        """Return all check boxes whose centre is in a place, and possibly others."""
        return self if self._find_near is None else self._find_near(place)

    @cached_property
    def _items(self) -> tuple[Box, ...]:
        return tuple(self._find())


class LazyForms(LazySequence[RegisteredPage]):
    """The page of a registered form that a page is, or nothing. `find` renders a form."""

    def __init__(self, find: Callable[[], Sequence[RegisteredPage]]) -> None:
        self._find = find

    @cached_property
    def _items(self) -> tuple[RegisteredPage, ...]:
        return tuple(self._find())


class LazyCodes(LazySequence[str]):
    """The texts of separator codes. `find` renders the page for them."""

    def __init__(self, find: Callable[[], Sequence[str]]) -> None:
        self._find = find

    @cached_property
    def _items(self) -> tuple[str, ...]:
        return tuple(self._find())


class LazyMarks(LazySequence[Box]):
    """Marks from top to bottom.

    `find_areas` returns the areas of the page in which marks are possible. `find_marks` searches
    one area, and is called at most once for each.
    """

    def __init__(
        self,
        find_areas: Callable[[], Sequence[Box]],
        find_marks: Callable[[Box], Sequence[Box]],
    ) -> None:
        self._find_areas, self._find_marks = find_areas, find_marks
        self._searched: dict[Box, Sequence[Box]] = {}

    def each(self) -> Iterator[Box]:
        """Yield the marks area by area. Those of an area are searched when they are needed."""
        return (mark for area in self._areas for mark in self._marks_in(area))

    def near(self, place: Box) -> Iterator[Box]:
        """Yield the marks of every area that intersects the place. Other areas are skipped."""
        left, top, right, bottom = place
        overhang = MAX_MARK_OVERHANG_POINTS
        wider = Box(left - overhang, top - overhang, right + overhang, bottom + overhang)
        areas = (area for area in self._areas if area.intersects(wider))
        return (mark for area in areas for mark in self._marks_in(area))

    @cached_property
    def _areas(self) -> Sequence[Box]:
        return self._find_areas()

    @cached_property
    def _items(self) -> tuple[Box, ...]:
        return tuple(sorted(self.each(), key=lambda box: (box.top, box.left)))

    def _marks_in(self, area: Box) -> Sequence[Box]:
        if area not in self._searched:
            self._searched[area] = self._find_marks(area)
        return self._searched[area]


def iter_marks(page: PageReading) -> Iterator[Box]:
    """Yield the marks of a page. Lazy marks are searched as long as the caller asks for more."""
    return page.marks.each() if isinstance(page.marks, LazyMarks) else iter(page.marks)


def iter_marks_near(page: PageReading, place: Box) -> Iterator[Box]:
    """Yield all marks that intersect the place, and possibly others.

    Lazy marks are searched near the place only, and as long as the caller asks for more.
    """
    return page.marks.near(place) if isinstance(page.marks, LazyMarks) else iter(page.marks)


def list_squares_near(page: PageReading, place: Box) -> Sequence[Box]:
    """Return all empty check boxes whose centre is in a place, and possibly others."""
    squares = page.empty_squares
    return squares.near(place) if isinstance(squares, LazySquares) else squares


def evaluate(page: PageReading) -> PageReading:
    """Return the page with its words, marks, check boxes, forms and codes as plain tuples."""
    words, marks, squares, forms = page.words, page.marks, page.empty_squares, page.forms
    codes = page.separator_codes
    if any(isinstance(items, LazySequence) for items in (words, marks, squares, forms, codes)):
        return replace(
            page,
            words=tuple(words),
            marks=tuple(marks),
            empty_squares=tuple(squares),
            forms=tuple(forms),
            separator_codes=tuple(codes),
        )
    return page
