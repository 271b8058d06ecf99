"""What is looked for on a page when somebody asks, while its document is open: words and marks.

Placing every word of a page takes twice as long as reading its text, and rendering it to look for a
hand on it longer still; most pages are never asked where a word stands, or whether somebody signed
there. A page that nobody asked about does not claim to have none: it has LateWords and LateMarks,
which look when they are counted, listed or compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn, TypeVar, overload

from ingestion.reading.results import Box, PageReading, Word

Found = TypeVar("Found")

PIXEL = 1.0  # points, rounded up: a mark may reach as far out of its area


class LazyReadError(Exception):
    """Page `number` fails when it is looked at again, so it cannot be read. Stays in the child."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)
        self.number, self.reason = number, reason


class LazySequence(Sequence[Found]):
    """As the tuple that it stands for. For the process that has the document open.

    `settled` before it travels. Looking may raise LateUnreadableError.
    """

    @cached_property
    def _all(self) -> tuple[Found, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Found]:
        return iter(self._all)

    @overload
    def __getitem__(self, at: int) -> Found: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Found, ...]: ...
    def __getitem__(self, at: int | slice) -> Found | tuple[Found, ...]:
        return self._all[at]

    def __eq__(self, other: object) -> bool:
        return tuple(other) == self._all if isinstance(other, LazySequence) else other == self._all

    __hash__ = None  # type: ignore[assignment]  # equal to a tuple that it does not hash as

    def __reduce__(self) -> NoReturn:
        raise TypeError("words and marks are to be settled before a page is sent anywhere")


class LazyWords(LazySequence[Word]):
    """In reading order; all of them are found at once."""

    def __init__(self, find: Callable[[], Sequence[Word]]) -> None:
        self._find = find

    @cached_property
    def _all(self) -> tuple[Word, ...]:
        return tuple(self._find())


class LazySquares(LazySequence[Box]):
    """From the top of the page down; the page is drawn for them."""

    def __init__(self, find: Callable[[], Sequence[Box]]) -> None:
        self._find = find

    @cached_property
    def _all(self) -> tuple[Box, ...]:
        return tuple(self._find())


class LazyMarks(LazySequence[Box]):
    """From the top of the page down.

    `areas` says where on the page marks may be at all; each is looked at with `look`, once.
    """

    def __init__(
        self, areas: Callable[[], Sequence[Box]], look: Callable[[Box], Sequence[Box]]
    ) -> None:
        self._find_areas, self._look = areas, look
        self._seen: dict[Box, Sequence[Box]] = {}

    def near(self, place: Box) -> list[Box]:
        """The marks of every area that touches the place."""
        left, top, right, bottom = place
        wider = Box(left - PIXEL, top - PIXEL, right + PIXEL, bottom + PIXEL)
        near = [area for area in self._areas if area.intersects(wider)]
        return [mark for area in near for mark in self._marks_of(area)]

    @cached_property
    def _areas(self) -> Sequence[Box]:
        return self._find_areas()

    @cached_property
    def _all(self) -> tuple[Box, ...]:
        marks = (mark for area in self._areas for mark in self._marks_of(area))
        return tuple(sorted(marks, key=lambda box: (box.top, box.left)))

    def _marks_of(self, area: Box) -> Sequence[Box]:
        if area not in self._seen:
            self._seen[area] = self._look(area)
        return self._seen[area]


def marks_near(page: PageReading, place: Box) -> Sequence[Box]:
    """At least the marks that touch the place; where none were looked for yet, it looks there."""
    return page.marks.near(place) if isinstance(page.marks, LazyMarks) else page.marks


def evaluate(page: PageReading) -> PageReading:
    """With its words, marks and squares as plain data."""
    words, marks, squares = page.words, page.marks, page.empty_squares
    if any(isinstance(found, LazySequence) for found in (words, marks, squares)):
        plain = tuple(words), tuple(marks), tuple(squares)
        return replace(page, words=plain[0], marks=plain[1], empty_squares=plain[2])
    return page
