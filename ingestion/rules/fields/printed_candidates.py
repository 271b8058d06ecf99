"""Lists the numbers, dates and names that a document prints, each with features of its context.

The model of values (`value_model`) tells by the features which of them is the value of a field. A
feature is a text, such as "before=approved" or "shape=99-9999".
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.reading.results import PageReading
from ingestion.rules.fields.dates import WrittenDate, find_dates
from ingestion.rules.fields.persons import names, person_names
from ingestion.rules.fields.reference_numbers import is_no_reference, list_dates_and_phones
from ingestion.rules.fields.searches.searched_document import SearchedDocument

NUMBER, VERSION, DATE, PERSON, TEXT = "number", "version", "date", "person", "text"
MAX_PAGES = 4  # of a document whose numbers, dates and names are listed
MAX_CANDIDATES = 150  # of one kind
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WITH_DIGIT = re.compile(r"\S*\d\S*")
_OPENING, _CLOSING = "([{\"'\u201c\u2018#,;:", ")].,;:\"'\u201d\u2019}"
# One or two words with a capital before a number, as in "NM-REB 109555".
_PREFIX = re.compile(r"(?:^|(?<=[\s(\[:#]))(?:[A-Z][A-Za-z/-]{0,9} ){1,2}$")
_WORD = re.compile(r"[^\W\d_]+|#|:")
_NAME = re.compile(rf"(?<![^\W\d_])(?:{person_names.PATTERN_AT_CAPTION})")
_TITLED = re.compile(r"(?i)^(?:dr|prof|professor|mr|mrs|ms|miss|mx|assoc|asst|a/prof)\b")
_ADDRESSED = re.compile(r"(?i)\bdear\s+(?P<name>[^\n,:;]{3,60})")
_LONG_DIGITS, _DIGITS = re.compile(r"\d{4,}"), re.compile(r"(?<!9)\d{1,3}(?!\d)")
_CAPITALS, _SMALL = re.compile(r"[A-Z]+"), re.compile(r"[a-z]+")
_NOT_SIGNS = re.compile(r"[\W_]+")
_MAX_SHAPE = 14  # characters
_LINES_PER_PLACE, _CHARACTERS_PER_LENGTH = 4, 20
_DISTANCES = (0, 1, 7, 21, 60, 200, 330, 400, 1200)  # days, at most, between two dates
_WORDS_BEFORE, _WORDS_AFTER, _WORDS_ABOVE = 5, 3, 4
# Features of the date of a letter, which is in the upper lines of the first page.
_LINES_OF_HEAD = 20
_AS_LETTER_DATE = frozenset({"alone", "at end", "directly before=date", "pair before=date :"})


@dataclass(frozen=True, slots=True)
class PrintedCandidate:
    """A number, date or name that a document prints, and the features of its context."""

    text: str  # as it is printed
    page: PageReading
    features: frozenset[str]
    written: WrittenDate | None = None  # a date


def fold_number(text: str) -> str:
    """Return the letters and digits of a number, in small letters."""
    return _NOT_SIGNS.sub("", text).casefold()


def list_numbers(document: SearchedDocument) -> list[PrintedCandidate]:
    """Return what may be numbers of a study.

    That is each text with a digit, with and without a prefix, which is no telephone number, part of
    a date or the like.
    """
    return _list_texts_with_digits(document, is_other=is_no_reference)


def list_versions(document: SearchedDocument) -> list[PrintedCandidate]:
    """Return what may be versions: each text with a digit."""
    return _list_texts_with_digits(document, is_other=lambda *_: False)


def _list_texts_with_digits(
    document: SearchedDocument,
    is_other: Callable[[str, int, int, Sequence[tuple[int, int]]], bool],
) -> list[PrintedCandidate]:
    pages = document.reading.pages[:MAX_PAGES]
    counts = Counter(
        fold_number(match[0]) for page in pages for match in _WITH_DIGIT.finditer(page.text)
    )
    found: list[PrintedCandidate] = []
    for number, page in enumerate(pages):
        lines = page.text.split("\n")
        for place, line in enumerate(lines):
            taken = list_dates_and_phones(line) if _DIGIT.search(line) else []
            for start, end in _spans_of_numbers(line):
                if is_other(line, start, end, taken):
                    continue
                if len(found) >= MAX_CANDIDATES:
                    return found
                text = line[start:end]
                features = {
                    f"shape={_shape_of(text)}",
                    f"digits={min(sum(map(str.isdigit, text)), 12)}",
                    f"count={min(counts[fold_number(text)], 4)}",
                    *(sign for sign in " /-" if sign in text),
                    *_features_of_place(lines, place, start, end, number),
                }
                if any(map(str.isalpha, text)):
                    features.add("letters")
                if line[start - 1 : start] in {"(", "[", "#"}:
                    features.add("opened")
                found.append(PrintedCandidate(text, page, frozenset(features)))
    return found


def list_dates(document: SearchedDocument) -> list[PrintedCandidate]:
    """Return the dates of a document."""
    places = [
        (number, page, lines, place, written)
        for number, page in enumerate(document.reading.pages[:MAX_PAGES])
        for lines in (page.text.split("\n"),)
        for place, line in enumerate(lines)
        for written in _find_dates(line, document.month_first)
    ][:MAX_CANDIDATES]
    days = [days_of(written) for *_, written in places]
    contexts = [
        _features_of_place(lines, place, written.start, written.end, number)
        for number, _, lines, place, written in places
    ]
    ordered = sorted({day for each in days for day in each})
    letter_day = next(
        (
            min(own)
            for (number, _, _, place, _), own, context in zip(places, days, contexts, strict=True)
            if number == 0 and place < _LINES_OF_HEAD and not context.isdisjoint(_AS_LETTER_DATE)
        ),
        None,
    )
    roles: dict[tuple[int, date | None], set[str]] = {}
    for page in {page.number: page for _, page, *_ in places}.values():
        for each in document.dates_of(page):
            roles.setdefault((page.number, each.value.day), set()).add(each.role.value)
    found: list[PrintedCandidate] = []
    for (_, page, _, _, written), own, context in zip(places, days, contexts, strict=True):
        day = min(own)
        at = ordered.index(day)
        features = {
            f"from first={min(at, 4)}",
            f"from last={min(len(ordered) - 1 - at, 3)}",
            f"days={min(len(ordered), 6)}",
            f"count={min(sum(not own.isdisjoint(other) for other in days), 4)}",
            *(f"role={role}" for role in roles.get((page.number, written.day), ())),
            *context,
            *_features_beside_letter(day, letter_day, ordered),
        }
        found.append(PrintedCandidate(written.raw, page, frozenset(features), written))
    return found


def _features_beside_letter(
    day: date, letter_day: date | None, ordered: Sequence[date]
) -> Iterator[str]:
    """Yield the distance of a day from that of the letter, and its rank among those before it."""
    if letter_day is None:
        yield "no letter date"
        return
    distance = (day - letter_day).days
    sign = "-" if distance < 0 else ""
    step = f"{sign}{bisect_left(_DISTANCES, abs(distance))}"
    yield f"from letter={step}"
    if distance < 0:
        rank = sum(day < each <= letter_day for each in ordered)
        yield f"before letter={min(rank, 5)}"
        yield f"before letter={min(rank, 3)} from letter={step}"


def list_persons(document: SearchedDocument) -> list[PrintedCandidate]:
    """Return the names of persons in a document."""
    pages = document.reading.pages[:MAX_PAGES]
    words = Counter(_words_of(document.text))
    addressed = {
        part for match in _ADDRESSED.finditer(document.text) for part in _parts_of(match["name"])
    }
    found: list[PrintedCandidate] = []
    for number, page in enumerate(pages):
        lines = page.text.split("\n")
        for place, line in enumerate(lines):
            for start, name in _find_names(line):
                if len(found) >= MAX_CANDIDATES:
                    return found
                parts = _parts_of(name)
                features = {
                    f"count={min(words[max(parts, key=len)], 5)}",
                    f"words={min(len(parts), 4)}",
                    *_features_of_place(lines, place, start, start + len(name), number),
                }
                if _TITLED.match(name):
                    features.add("titled")
                if "," in name:
                    features.add("comma")
                if not addressed.isdisjoint(parts):
                    features.add("addressed")
                found.append(PrintedCandidate(name, page, frozenset(features)))
    return found


def _find_names(line: str) -> Iterator[tuple[int, str]]:
    """Yield the full names in a line, and where each begins."""
    end = 0
    while match := _NAME.search(line, end):
        name = person_names.trim(match[0])
        end = match.start() + max(len(name), 1)
        if (
            person_names.is_full_name(name)
            and person_names.may_be_name(name)
            and not person_names.has_ordinary_words_only(name)
            and _parts_of(name)
        ):
            yield match.start(), name


def _parts_of(name: str) -> list[str]:
    """Return the words of a name besides titles and degrees."""
    return [part for group in names.split_name(name) for part in group]


def _find_dates(line: str, month_first: bool | None) -> Iterator[WrittenDate]:
    """Yield the dates of a line. A short year stands only behind a sign, as in "03-May-21"."""
    for written in find_dates(line, month_first=month_first, short_years=True):
        is_short = not _LONG_DIGITS.search(written.raw) and " " in written.raw
        if days_of(written) and not is_short:
            yield written


def days_of(written: WrittenDate) -> frozenset[date]:
    """Return the days that a date may mean."""
    return frozenset(written.readings or ((written.day,) if written.day else ()))


def _spans_of_numbers(line: str) -> Iterator[tuple[int, int]]:
    """Yield where texts with a digit begin and end, without the punctuation around them."""
    for match in _WITH_DIGIT.finditer(line):
        text = match[0]
        start = match.start() + len(text) - len(text.lstrip(_OPENING))
        stripped = text.rstrip(_CLOSING)
        if "(" in stripped.lstrip(_OPENING) and text[len(stripped) :].startswith(")"):
            stripped += ")"  # as in "2018-055(K)"
        end = match.start() + len(stripped)
        if not _DIGIT.search(line, start, end) or _YEAR.fullmatch(line, start, end):
            continue
        yield start, end
        if prefix := _PREFIX.search(line, max(0, start - 24), start):
            yield prefix.start(), end


def _shape_of(text: str) -> str:
    """Return the form of a number: "AB-2023-01" is "A-9999-99"."""
    shape = _SMALL.sub("a", _CAPITALS.sub("A", text))
    shape = _LONG_DIGITS.sub("9999", shape)
    return _DIGITS.sub(lambda digits: "9" if len(digits[0]) < 2 else "99", shape)[:_MAX_SHAPE]


def _features_of_place(
    lines: Sequence[str], place: int, start: int, end: int, page: int
) -> set[str]:
    """Return the features of the words around a part of a line, and of its place on the page."""
    line = lines[place]
    before = _words_of(line[:start])[-_WORDS_BEFORE:]
    after = _words_of(line[end:])[:_WORDS_AFTER]
    above = _words_of(lines[place - 1])[-_WORDS_ABOVE:] if place else []
    features = {
        f"page={min(page, 2)}",
        f"place={min(place // _LINES_PER_PLACE, 10)}",
        f"length={min(len(line) // _CHARACTERS_PER_LENGTH, 5)}",
        *(f"before={word}" for word in before),
        *(f"after={word}" for word in after),
        *(f"above={word}" for word in above),
        *(f"first={word}" for word in _words_of(line)[:2]),
    }
    if before:
        features |= {f"directly before={before[-1]}", f"pair before={' '.join(before[-2:])}"}
    else:
        features |= {"at start", *(f"before start={word}" for word in above)}
    if after:
        features.add(f"directly after={after[0]}")
    else:
        below = _words_of(lines[place + 1])[:_WORDS_AFTER] if place + 1 < len(lines) else []
        features |= {"at end", *(f"below={word}" for word in below)}
    if not before and not after:
        features.add("alone")
    return features


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
