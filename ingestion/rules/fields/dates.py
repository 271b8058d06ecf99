"""Dates as people write them, as `datetime.date`: no clock, no time zone, never shifted."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ingestion.rules.fuzzy_phrases import digits

MONTHS = tuple(name.casefold() for name in calendar.month_name[1:])  # English: no locale is set

_DIGIT = "[0-9OoIl|]"  # or what recognition makes of one
_DAY = rf"{_DIGIT}{{1,2}}"  # before a month's name also O05: recognition doubles a round sign
_YEAR = rf"[12Il|]{_DIGIT}{{3}}"
_NAME = r"[A-Za-z01|]{3,9}"
_WRITTEN = re.compile(
    r"(?<![^\W_])(?<!/)(?:"
    rf"(?P<iso_year>{_YEAR})[-/.](?P<iso_month>{_DAY})[-/.](?P<iso_day>{_DAY})"
    rf"|(?P<day>O?{_DAY})(?:st|nd|rd|th|\.)?[\s-]{{0,3}}(?P<month>{_NAME})\.?[\s,-]{{0,3}}(?P<year>{_YEAR})"
    rf"|(?P<us_month>{_NAME})\.?\s{{0,3}}(?P<us_day>{_DAY})(?:st|nd|rd|th)?[\s,.]{{1,4}}(?P<us_year>{_YEAR})"
    rf"|(?P<dot_day>{_DAY})\.\s?(?P<dot_month>{_DAY})\.\s?(?P<dot_year>{_YEAR})"
    rf"|(?P<one>{_DAY})\s?[/-]\s?(?P<two>{_DAY})\s?[/-]\s?(?P<numeric_year>{_YEAR})"
    r")(?![^\W_])(?!/)"
)


@dataclass(frozen=True, slots=True)
class Written:
    """A date as it stands in a text. `day` is None when it means no day, or may mean two."""

    raw: str
    start: int
    end: int
    day: date | None
    is_ambiguous: bool = False  # 03/12/2026 outside a form that asks for mm/dd/yyyy


def find(text: str, *, month_first: bool = False) -> Iterator[Written]:
    """Every written date, in order. `month_first` reads 03/12/2026 as 12 March."""
    for match in _WRITTEN.finditer(text):
        readings = _readings({name: part for name, part in match.groupdict().items() if part})
        if not readings:
            continue
        days = [day for reading in readings if (day := _day(*reading))]
        is_ambiguous = len(set(days)) > 1 and not month_first
        day = days[0] if days and not is_ambiguous else None
        yield Written(match[0], match.start(), match.end(), day, is_ambiguous)


def months_later(day: date, months: int) -> date:
    """The same day of a later month, or that month's last day where it has no such day."""
    years, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _readings(parts: dict[str, str]) -> list[tuple[int, int, int]]:
    """Year, month and day as the text may be read; none where it names no month."""
    name = parts.get("month") or parts.get("us_month")
    numbers = {key: int(digits(part)) for key, part in parts.items() if part != name}
    year = next(value for key, value in numbers.items() if key.endswith("year"))
    if "one" in numbers:
        one, two = numbers["one"], numbers["two"]
        return [(year, one, two), (year, two, one)]
    day = next(value for key, value in numbers.items() if key.endswith("day"))
    if name:
        month = _month(name)
        return [(year, month, day)] if month else []
    month = next(value for key, value in numbers.items() if key.endswith("month"))
    return [(year, month, day)]


def _month(name: str) -> int | None:
    word = name.casefold().replace("0", "o").translate(str.maketrans("1|", "ll"))
    matching = (number for number, full in enumerate(MONTHS, 1) if full.startswith(word))
    return next(matching, None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
