"""Finds dates as people write them, as `datetime.date`, without a clock and without time zones."""

import calendar
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from ingestion.rules import fuzzy_phrases
from ingestion.rules.fields.eastern_dates import (
    EasternDate,
    convert_buddhist_year,
    find_eastern_dates,
)
from ingestion.rules.fields.month_names import find_month
from ingestion.rules.fuzzy_phrases import replace_by_digits, strip_punctuation

MONTHS = tuple(name.casefold() for name in calendar.month_name[1:])  # English: no locale is set

_DIGIT = "[0-9OoIl|]"  # a digit, or a letter that OCR reads in its place
_DAY = rf"{_DIGIT}{{1,2}}"  # the pattern below also accepts O05: OCR may double a round character
_YEAR = rf"[12Il|]{_DIGIT}{{3}}"
_SHORT_YEAR = rf"(?:{_YEAR}|{_DIGIT}{{2}})"
_CENTURY_PIVOT = 70  # a year of two digits from here on is of the last century
_LETTER = r"[A-Za-z\u00c0-\u017f\u0400-\u04ff]"
_NAME = rf"{_LETTER[:-1]}01|]{{3,12}}"
_BEHIND_DAY = r"(?:st|nd|rd|th|er|[.\u00ba\u00aa\u00b0\u00bb\u201d])?"  # 1st, 1er, 1., 1º, «1»
_OF = r"(?:\s(?:(?:day\s)?of|del?|d[ei])\b)?"  # 1 of April, 1 de abril


def _compile(year: str) -> re.Pattern[str]:
    """Return a pattern of written dates whose years match `year`, but for ISO dates.

    With years of two digits, a day has a digit: the first letter of October is none. Most words
    begin no date, which the two conditions before the forms find out fast.
    """
    day_with_digit = r"(?=\S*\d)" if year == _SHORT_YEAR else ""
    return re.compile(
        rf"(?<![^\W_])(?<!/)(?:(?={_DIGIT})(?:"
        rf"(?<![A-Za-z]-)(?P<iso_year>{_YEAR})(?P<iso_sign>[-/.])(?P<iso_month>{_DAY})(?P=iso_sign)(?P<iso_day>{_DAY})"
        rf"|(?P<spaced_year>{_YEAR})\.\s(?P<spaced_month>{_DAY})\.\s(?P<spaced_day>{_DAY})(?=\.)"
        rf"|(?P<named_year>{_YEAR})[-/.](?P<named_month>{_NAME})[-/.](?P<named_day>{_DAY})"
        rf"|{day_with_digit}(?P<day>O?{_DAY}){_BEHIND_DAY}{_OF}[\s/-]{{0,3}}"
        rf"(?P<month>{_NAME})\.?(?:\sdel?(?=\s))?[\s,/-]{{0,3}}(?P<year>{year})"
        rf"|(?P<dot_day>{_DAY})\.\s?(?P<dot_month>{_DAY})\.\s?(?P<dot_year>{year})"
        rf"|(?<![A-Za-z]-)(?:(?<!\d-)|(?=\d\d?\s?/))(?P<one>{_DAY})\s?(?P<sign>[/-])\s?(?P<two>{_DAY})\s?(?P=sign)\s?(?P<numeric_year>{year})"
        rf")|(?={_LETTER}*+(?:\||\.?(?:\d|\s{{1,3}}{_DIGIT})))"
        rf"(?P<us_month>{_NAME})\.?(?:\s{{1,3}}|(?=\d))(?P<us_day>{_DAY})(?:st|nd|rd|th)?[\s,.]{{1,4}}(?P<us_year>{_YEAR})"
        r")(?![^\W_])(?!/)"
    )


# The names of the year, the month and the day in each form of a date, by the name of its last part.
# In a date of numbers, the month may be the first or the second one.
_PARTS = {
    "iso_day": ("iso_year", "iso_month", "iso_day"),
    "spaced_day": ("spaced_year", "spaced_month", "spaced_day"),  # 2024. 4. 1. in Korean
    "named_day": ("named_year", "named_month", "named_day"),
    "year": ("year", "month", "day"),
    "us_year": ("us_year", "us_month", "us_day"),
    "dot_year": ("dot_year", "dot_month", "dot_day"),
    "numeric_year": ("numeric_year", "one", "two"),
}
_NAMED_MONTHS = {"year", "us_year", "named_day"}  # the last parts of dates with the name of a month

# Digits and signs of the width of a Chinese character, which have the place of one character too.
_FULL_WIDTH = {
    **{0xFF10 + digit: str(digit) for digit in range(10)},
    **{ord(wide): narrow for wide, narrow in zip("．／－", "./-", strict=True)},
}
_BUDDHIST_ERA = re.compile(r"\bB\.?\s?E\b|\bBuddhist")
_ERA_LENGTH = 14  # characters before and after a date in which its era is named
_MIN_PAGE_LENGTH = 400  # characters; a shorter text is a line, or what follows a caption
_DIGITS = re.compile(r"\d")  # of which a date has at least one, even if OCR misread others
_WRITTEN_DATE = _compile(_YEAR)
_DATE_AT_CAPTION = _compile(_SHORT_YEAR)
_NUMERIC_DATE = re.compile(  # begins with a digit, for which a search is fast
    r"(\d(?<![\w/.-]\d)\d?)[/-](\d{1,2})[/-](?:19|20)\d\d(?![\w/-])"
)


# Countries by the order of day and month in numeric dates, in the letters of `strip_punctuation`:
# names in English and codes of ISO 3166. Countries that use several orders, such as Canada, the
# Philippines and South Africa, or that put the year first, are in neither.
# Source: Unicode CLDR 44, short date formats of the countries' languages.
_MONTH_FIRST = frozenset({"us", "usa", "unitedstates", "unitedstatesofamerica"})
_DAY_FIRST = frozenset(
    re.findall(
        r"\w+",
        "gb uk unitedkingdom greatbritain england scotland wales northernireland ie ireland"
        " de germany at austria ch switzerland fr france be belgium nl netherlands thenetherlands"
        " lu luxembourg it italy es spain pt portugal gr greece dk denmark no norway fi finland"
        " is iceland pl poland cz czechia czechrepublic sk slovakia si slovenia hr croatia"
        " rs serbia ro romania bg bulgaria ee estonia lv latvia ua ukraine tr turkey turkiye"
        " il israel in india pk pakistan bd bangladesh lk srilanka au australia nz newzealand"
        " sg singapore my malaysia id indonesia th thailand vn vietnam br brazil ar argentina"
        " cl chile co colombia mx mexico pe peru uy uruguay ec ecuador eg egypt ma morocco"
        " tn tunisia ng nigeria gh ghana ke kenya ug uganda tz tanzania sa saudiarabia"
        " ae unitedarabemirates ge georgia am armenia cy cyprus mt malta",
    )
)


def puts_month_first(country: str) -> bool | None:
    """Return whether numeric dates of a country put the month first; None if that is not known."""
    name = strip_punctuation(country)
    if name in _MONTH_FIRST:
        return True
    return False if name in _DAY_FIRST else None


class WrittenDate(NamedTuple):
    """A date as it is written in a text.

    `day` is None if the text names a day that does not exist, or may mean two days. Then `readings`
    has both, the one with the day before the month first.
    """

    raw: str
    start: int
    end: int
    day: date | None
    is_ambiguous: bool = False  # 03/12/2026, unless the order of day and month is known
    readings: tuple[date, ...] = ()


# The number of a section or of several, as "sections 5.1.22 and 5.1.23".
_SECTION = re.compile(
    r"(?i)\b(?:sections?|clauses?|paragraphs?|chapters?|ss?\.)\s?"
    r"(?:\d+(?:\.\d+)+(?:,|\sand|\sor|\sto)\s)*\d+(?:\.\d+)+$"
)
_SECTION_LENGTH = 40  # characters


def find_dates(
    text: str, *, month_first: bool | None = None, short_years: bool = False
) -> Iterator[WrittenDate]:
    """Yield the written dates of a text in order.

    `month_first` is the order in 03/12/2026: True for 12 March, False for 3 December, None if it is
    not known. With `short_years`, 03.12.26 is a date too; it is not safe outside of a caption's
    place, where it may be the number of a section.
    """
    if not text.isascii():
        text = text.translate(_FULL_WIDTH)
    elif not _DIGITS.search(text):
        return
    if len(text) >= _MIN_PAGE_LENGTH:
        yield from _find_all_dates(text, month_first, short_years)
        return
    yield from _read_dates(text, month_first, short_years)


@lru_cache(maxsize=64)
def _find_all_dates(
    text: str, month_first: bool | None, short_years: bool
) -> tuple[WrittenDate, ...]:
    """Return the written dates of a page, on which several rules search for them."""
    return tuple(_read_dates(text, month_first, short_years))


def _read_dates(text: str, month_first: bool | None, short_years: bool) -> Iterator[WrittenDate]:
    """Yield the dates of a text. A date may begin within what only has the form of one.

    As in "approval 2020-Oct-06", in which "approva", "l" and "2020" have that form.
    """
    eastern = [] if text.isascii() else sorted(find_eastern_dates(text))
    pattern = _DATE_AT_CAPTION if short_years else _WRITTEN_DATE
    start = 0
    while match := pattern.search(text, start):
        while eastern and eastern[0].start < match.end():
            found = eastern.pop(0)
            yield _read_eastern(text, found)
            start = found.end
        if match.start() < start:
            continue
        before = max(0, match.start() - _SECTION_LENGTH)
        is_section = _SECTION.search(text, before, match.end())
        written = None if is_section else _read_match(match, month_first)
        if written:
            yield written
        start = match.end() if written else match.start() + 1
    yield from (_read_eastern(text, found) for found in eastern if found.start >= start)


def _read_eastern(text: str, found: EasternDate) -> WrittenDate:
    """Return a date of East or South-East Asia, whose day may not exist."""
    day: date | None = None
    with suppress(ValueError):
        day = date(found.year, found.month, found.day)
    return WrittenDate(text[found.start : found.end], found.start, found.end, day)


def _read_match(match: re.Match[str], month_first: bool | None) -> WrittenDate | None:
    """Return the date that a text with the form of one is, or None if it is none."""
    if not (interpretations := _interpret(match)):
        return None
    days: list[date | None] = []
    for year, month, day_of_month in interpretations:
        try:
            days.append(date(year, month, day_of_month))
        except ValueError:
            days.append(None)
    possible = tuple(dict.fromkeys(each for each in days if each is not None))
    is_ambiguous = len(possible) > 1 and month_first is None
    day: date | None = None
    if len(possible) > 1 and month_first is not None:
        day = days[0] if month_first else days[1]
    elif possible and not is_ambiguous:
        day = possible[0]
    readings = tuple(reversed(possible)) if is_ambiguous else ()
    return WrittenDate(match[0], match.start(), match.end(), day, is_ambiguous, readings)


def find_date_order(texts: Iterable[str]) -> bool | None:
    """Return whether the numeric dates of a document put the month first; None if not known.

    A date that can be read in one way shows the order, as 25/03/2026 does. So does 02/06/2026 in a
    document that also writes "2 June 2026" in words. If there are dates of both orders, nothing is
    known.
    """
    known = list(texts)
    orders = _find_orders(known)
    if not orders and any(_NUMERIC_DATE.search(text) for text in known):
        orders = _find_repeated_orders(known)
    return orders.pop() if len(orders) == 1 else None


def has_both_orders(texts: Iterable[str]) -> bool:
    """Return whether some numeric dates of a document put the month first, and others the day."""
    return len(_find_orders(texts)) > 1


def _find_orders(texts: Iterable[str]) -> set[bool]:
    return {order for text in texts for order in _find_orders_in_text(text)}


@lru_cache(maxsize=64)  # the order is needed for the fields and for the signature
def _find_orders_in_text(text: str) -> frozenset[bool]:
    orders = set()
    for match in _NUMERIC_DATE.finditer(text):
        one, two = int(match[1]), int(match[2])
        if 12 < one <= 31 and 1 <= two <= 12:
            orders.add(False)
        elif 12 < two <= 31 and 1 <= one <= 12:
            orders.add(True)
    return frozenset(orders)


def _find_repeated_orders(texts: Iterable[str]) -> set[bool]:
    """Return the orders in which numeric dates are days that the texts also write in words."""
    written = [each for text in texts for each in find_dates(text)]
    in_words = {each.day for each in written if each.day and re.search(r"[^\W\d_]{3}", each.raw)}
    return {
        each.readings.index(day) == 1
        for each in written
        for day in each.readings
        if day in in_words and not in_words.issuperset(each.readings)
    }


def _names_buddhist_era(match: re.Match[str]) -> bool:
    """Return whether the era is named beside a date, as in "1 April 2567 B.E."."""
    around = match.string[max(match.start() - _ERA_LENGTH, 0) : match.end() + _ERA_LENGTH]
    return "B" in around and _BUDDHIST_ERA.search(around) is not None


def _find_foreign_month(match: re.Match[str], last: str, word: str) -> list[int]:
    """Return the month that a word of another language than English names, or nothing."""
    _, month, _ = _PARTS[last]
    start, end = match.start(month), match.end(month)
    around = match.string[start - 1 : start] + match.string[end : end + 1]
    plain = fuzzy_phrases.remove_accents(word)
    found = find_month(plain, is_between_strokes=around in {"//", "--"})
    return [found] if found else []


def add_months(day: date, months: int) -> date:
    """Return the same day of a later month, or the last day of that month if it is shorter."""
    years, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _interpret(match: re.Match[str]) -> list[tuple[int, int, int]]:
    """Return each possible (year, month, day); none if a word in the text is not a month.

    Of two, the first has the month before the day.
    """
    last = str(match.lastgroup)
    written_year, written_month, written_day = match.group(*_PARTS[last])
    year, day = int(replace_by_digits(written_year)), int(replace_by_digits(written_day))
    if len(written_year) == 2:
        year += 1900 if year >= _CENTURY_PIVOT else 2000
    elif _names_buddhist_era(match):
        year = convert_buddhist_year(year)
    if last in _NAMED_MONTHS:
        word = written_month.casefold().replace("0", "o").translate(str.maketrans("1|", "ll"))
        named = [number for number, full in enumerate(MONTHS, 1) if full.startswith(word)]
        if not named:
            named = _find_foreign_month(match, last, word)
        return [(year, named[0], day)] if named else []
    month = int(replace_by_digits(written_month))
    return (
        [(year, month, day), (year, day, month)] if last == "numeric_year" else [(year, month, day)]
    )
