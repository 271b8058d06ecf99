"""Finds dates of East and South-East Asia: 令和6年4月1日, 2024년 4월 1일, 1 เมษายน 2567.

Japanese years count in eras, years in Taiwan from the founding of the republic, and Thai years in
the Buddhist era. Numbers may be Chinese characters. Full-width digits are replaced by the caller.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ingestion.rules.fields.month_names import THAI_MONTHS

# The year before the first one of each era.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "民國": 1911, "民国": 1911}
_FIRST_YEAR_OF_ERA = "元"
_BUDDHIST_ERA = 543  # years before the common era
# Years of the Buddhist era from 1900 to 2100. Others in a Thai date are of the common era.
_BUDDHIST_YEARS = range(1900 + _BUDDHIST_ERA, 2101 + _BUDDHIST_ERA)
_CHINESE_DIGITS = {sign: digit for digit, sign in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "○": 0,
}
_TEN = "十"

_NUMBER = rf"(?:\d{{1,2}}|[{_TEN}一二三四五六七八九]{{1,3}})"
_EAST_ASIAN = re.compile(
    rf"(?:(?P<era>{'|'.join(_ERAS)})\s?(?P<era_year>\d{{1,3}}|{_NUMBER}|{_FIRST_YEAR_OF_ERA})"
    r"|(?<!\d)(?P<year>(?:19|20)\d\d|[一二][〇零○一二三四五六七八九]{3}))"
    rf"\s?[年년]\s?(?P<month>{_NUMBER})\s?[月월]\s?(?P<day>{_NUMBER})\s?[日일号號]?"
)
_THAI = re.compile(
    rf"(?<!\d)(?P<day>\d{{1,2}})\s{{0,2}}(?P<month>{'|'.join(map(re.escape, THAI_MONTHS))})"
    r"\s{0,2}(?:พ\.?ศ\.?\s{0,2})?(?P<year>\d{4})(?!\d)"
)
_SIGNS = re.compile("[年년\u0e00-\u0e7f]")  # one of which each of these dates has
_THAI_DIGITS = str.maketrans("๐๑๒๓๔๕๖๗๘๙", "0123456789")


class EasternDate(NamedTuple):
    """A date with its place in a text. It may be a day that does not exist."""

    start: int
    end: int
    year: int
    month: int
    day: int


def find_eastern_dates(text: str) -> Iterator[EasternDate]:
    """Yield the dates of a text that is not ASCII, those of each form in their order."""
    if not _SIGNS.search(text):
        return
    for match in _EAST_ASIAN.finditer(text):
        if match["era"]:
            first = match["era_year"] == _FIRST_YEAR_OF_ERA
            year = _ERAS[match["era"]] + (1 if first else _read_number(match["era_year"]))
        else:
            year = _read_digits(match["year"])
        month, day = _read_number(match["month"]), _read_number(match["day"])
        yield EasternDate(match.start(), match.end(), year, month, day)
    for match in _THAI.finditer(text.translate(_THAI_DIGITS)):
        year = convert_buddhist_year(int(match["year"]))
        month = THAI_MONTHS[match["month"]]
        yield EasternDate(match.start(), match.end(), year, month, int(match["day"]))


def convert_buddhist_year(year: int) -> int:
    """Return a year of the Buddhist era as one of the common era, and any other year as it is."""
    return year - _BUDDHIST_ERA if year in _BUDDHIST_YEARS else year


def _read_digits(text: str) -> int:
    """Return a year that is written digit by digit: 2024, or 二〇二四."""
    return int("".join(str(_CHINESE_DIGITS.get(sign, sign)) for sign in text))


def _read_number(text: str) -> int:
    """Return a number up to 99: 12, or 十二."""
    if _TEN not in text:
        return _read_digits(text)
    tens, _, units = text.partition(_TEN)
    return 10 * (_CHINESE_DIGITS[tens] if tens else 1) + (_CHINESE_DIGITS[units] if units else 0)
