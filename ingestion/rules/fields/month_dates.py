"""Finds dates without a day, such as "October 2023" or "10/2023".

Their value is the month, as "2023-10". Where a day is needed, it is the first one of the month.
This module is pure.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import NamedTuple

from ingestion.rules.fields.dates import MONTHS

_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY_BEFORE = r"(?<!\d)(?<!\d )(?<!\d,)(?<!\dst )(?<!\dnd )(?<!\drd )(?<!\dth )(?<! of )(?<![/.-])"
_MONTH_DATE = re.compile(
    rf"{_DAY_BEFORE}\b(?:(?P<name>[^\W\d_]{{3,9}})\.?,?[ -]|(?P<number>0?[1-9]|1[0-2])/)"
    rf"(?P<year>{_YEAR.pattern})(?![\w/.-]\w|\w)"
)
_VALUE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")


class WrittenMonth(NamedTuple):
    """A month with its year as it is written in a text. `value` is in ISO 8601, as "2023-10"."""

    raw: str
    start: int
    end: int
    value: str


def find_months(text: str) -> Iterator[WrittenMonth]:
    """Yield the months of a text in order, but not those of whole dates."""
    if not _YEAR.search(text):
        return  # which is much faster to search
    for match in _MONTH_DATE.finditer(text):
        number = int(match["number"] or 0)
        if name := (match["name"] or "").casefold():
            name = "sep" if name == "sept" else name
            number = next((at for at, full in enumerate(MONTHS, 1) if full.startswith(name)), 0)
        if number:
            yield WrittenMonth(match[0], *match.span(), f"{match['year']}-{number:02d}")


def find_day(name: str, value: str) -> date | None:
    """Return the day of the value of a field or a fact, and the first day of a month; or None.

    The number of a study may have the form of a month, so the name has to say that it is a date.
    """
    match = _VALUE.fullmatch(value)
    if match is None or not (match[3] or name.endswith("date")):
        return None
    with suppress(ValueError):
        return date(int(match[1]), int(match[2]), int(match[3] or 1))
    return None
