"""Dates as people write them, as `datetime.date`, without a clock and without time zones."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ingestion.rules.fuzzy_phrases import to_digits

MONTHS = tuple(name.casefold() for name in calendar.month_name[1:])  # English: no locale is set

_DIGIT = "[0-9OoIl|]"  # a digit, or a letter that OCR reads in its place
_DAY = rf"{_DIGIT}{{1,2}}"  # the pattern below also accepts O05: OCR may double a round character
_YEAR = rf"[12Il|]{_DIGIT}{{3}}"
_NAME = r"[A-Za-z01|]{3,9}"
_WRITTEN_DATE = re.compile(
    r"(?<![^\W_])(?<!/)(?:"
    rf"(?P<iso_year>{_YEAR})[-/.](?P<iso_month>{_DAY})[-/.](?P<iso_day>{_DAY})"
    rf"|(?P<day>O?{_DAY})(?:st|nd|rd|th|\.)?[\s-]{{0,3}}(?P<month>{_NAME})\.?[\s,-]{{0,3}}(?P<year>{_YEAR})"
    rf"|(?P<us_month>{_NAME})\.?\s{{0,3}}(?P<us_day>{_DAY})(?:st|nd|rd|th)?[\s,.]{{1,4}}(?P<us_year>{_YEAR})"
    rf"|(?P<dot_day>{_DAY})\.\s?(?P<dot_month>{_DAY})\.\s?(?P<dot_year>{_YEAR})"
    rf"|(?P<one>{_DAY})\s?[/-]\s?(?P<two>{_DAY})\s?[/-]\s?(?P<numeric_year>{_YEAR})"
    r")(?![^\W_])(?!/)"
)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as it is written in a text.

    `day` is None if the text names a day that does not exist, or may mean two days.
    """

    raw: str
    start: int
    end: int
    day: date | None
    is_ambiguous: bool = False  # 03/12/2026, unless the form asks for mm/dd/yyyy


def find_dates(text: str, *, month_first: bool = False) -> Iterator[WrittenDate]:
    """Yield the written dates of a text in order. `month_first` reads 03/12/2026 as 12 March."""
    for match in _WRITTEN_DATE.finditer(text):
        parts = {name: part for name, part in match.groupdict().items() if part}
        if not (interpretations := _interpret(parts)):
            continue
        days = []
        for year, month, day_of_month in interpretations:
            try:
                days.append(date(year, month, day_of_month))
            except ValueError:
                continue
        is_ambiguous = len(set(days)) > 1 and not month_first
        day = days[0] if days and not is_ambiguous else None
        yield WrittenDate(match[0], match.start(), match.end(), day, is_ambiguous)


def add_months(day: date, months: int) -> date:
    """Return the same day of a later month, or the last day of that month if it is shorter."""
    years, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _interpret(parts: dict[str, str]) -> list[tuple[int, int, int]]:
    """Return each possible (year, month, day); none if a word in the text is not a month."""
    name = parts.get("month") or parts.get("us_month")
    numbers = {key: int(to_digits(part)) for key, part in parts.items() if part != name}
    year = next(value for key, value in numbers.items() if key.endswith("year"))
    if "one" in numbers:
        one, two = numbers["one"], numbers["two"]
        return [(year, one, two), (year, two, one)]
    day = next(value for key, value in numbers.items() if key.endswith("day"))
    if name:
        word = name.casefold().replace("0", "o").translate(str.maketrans("1|", "ll"))
        named = [number for number, full in enumerate(MONTHS, 1) if full.startswith(word)]
        return [(year, named[0], day)] if named else []
    month = next(value for key, value in numbers.items() if key.endswith("month"))
    return [(year, month, day)]
