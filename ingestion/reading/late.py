"""Marks that are looked for when somebody asks, while their document is open.

Rendering a page to look for a hand on it takes longer than reading all its words, and most pages
are never asked whether somebody signed there. A page that nobody asked about does not claim to
have no marks: it has LateMarks, which look when they are counted, listed or compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn, overload

from .facts import Box, Page

PIXEL = 1.0  # points, rounded up: a mark may reach as far out of its area


class MarksUnreadableError(Exception):
    """Page `number` cannot be drawn, and so cannot be read. Stays inside the child."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)
        self.number, self.reason = number, reason


class LateMarks(Sequence[Box]):
    """As the tuple of marks that it stands for, from the top of the page down.

    `areas` says where on the page marks may be at all; each is looked at with `look`, once.
    Both may raise MarksUnreadableError. For the process that has the document open: `settled`
    before it travels.
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
        near = [area for area in self._areas if area.touches(wider)]
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

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, at: int) -> Box: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Box, ...]: ...
    def __getitem__(self, at: int | slice) -> Box | tuple[Box, ...]:
        return self._all[at]

    def __eq__(self, other: object) -> bool:
        return tuple(other) == self._all if isinstance(other, LateMarks) else other == self._all

    __hash__ = None  # type: ignore[assignment]  # equal to a tuple that it does not hash as

    def __reduce__(self) -> NoReturn:
        raise TypeError("marks are to be settled before a page is sent anywhere")


def marks_near(page: Page, place: Box) -> Sequence[Box]:
    """At least the marks that touch the place; where none were looked for yet, it looks there."""
    return page.marks.near(place) if isinstance(page.marks, LateMarks) else page.marks


def settled(page: Page) -> Page:
    """With its marks as plain data."""
    return replace(page, marks=tuple(page.marks)) if isinstance(page.marks, LateMarks) else page
