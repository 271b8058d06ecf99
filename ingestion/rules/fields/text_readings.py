"""Finds values by the order of the text: after a caption, or in a sentence.

The order of the text is evidence that is independent of the positions on the page. Where both lead
to the same value, it belongs to its caption.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.titles import title_lines
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    FieldValue,
    ParsedValue,
    parse_value,
)

Span = tuple[int, int]  # the first character and the one after the last

VALUE_PLACE = "<value>"  # in the pattern of a sentence
_GAP = "..."  # any words of the same sentence
_MAX_OCCURRENCES = 20  # of a phrase on a page; the limit bounds the time
CONTEXT_LENGTH = 80  # characters before a caption in which `near` and `not_near` are searched
_MAX_SENTENCE_GAP = 90  # characters
_BEFORE_WORDS = ' ,(\n"\u201c\u2013-'  # signs between a name and the words after it
_MAX_SIGNS = 3  # characters between the words of a sentence and a date
_MAX_GAP_OF_DATE = 14  # characters after "..." at the end of a sentence's beginning
_DIGIT = re.compile(r"\d")
_REST_OF_NUMBER = re.compile(r"[-/]\w")  # behind a part of a longer number
_START_OF_NUMBER = re.compile(r"\w[-/]$")  # before it
_COLON = re.compile(r"\s?:")
_SEPARATOR = re.compile(r"\W*[:\u2013\u2014-]")
_NO_WORDS = re.compile(r"^[\W\d_]*$")
_SECOND_ROLE = re.compile(
    r"(?i)\b(?:executive|executing|co|sub|other(?:\s(?:participating|involved|collaborating))?|assistant|associate|second|additional|further)[\s-]*$"
)  # before "investigator"
_CAPTION_ALONE = re.compile(r"[\s:.#*)(\]\[]*$")


def values_after_caption(
    page: PageReading,
    label: str,
    spec: FieldSpec,
    *,
    month_first: bool | None,
    is_other: Callable[[str], bool],
) -> Iterator[FieldValue]:
    """Yield the values that follow a caption in the text: on its line, or on the next one.

    `is_other` says of the words before the caption of a date whether they change its meaning.
    The next line counts only if the caption is all of its line.
    """
    is_scan = page.source in SCAN_SOURCES
    captions = fuzzy_phrases.find_occurrences(page.text, label)
    for caption in captions[:_MAX_OCCURRENCES]:
        if not is_in_context(_read_context(page.text, caption), spec):
            continue
        if spec.roles and is_other(_sentence_before(page.text, caption)):
            continue
        rest, following = _text_after(page.text, caption, spec, is_word=" " not in label)
        parsed = parse_value(rest, spec, month_first=month_first, is_scan=is_scan) if rest else None
        if parsed is not None:
            value = (
                title_lines.continue_title(parsed.value, following.split("\n"))
                if spec.wraps
                else parsed.value
            )
            yield _locate(page, spec, parsed, value)


def is_in_context(context: str, spec: FieldSpec) -> bool:
    """Return whether a caption, with the text before it, has `near` and not `not_near`."""
    if spec.near and not fuzzy_phrases.contains_phrase(context, spec.near):
        return False
    return not (spec.not_near and fuzzy_phrases.contains_phrase(context, spec.not_near))


def _read_context(text: str, caption: Span) -> str:
    """Return a caption with the text shortly before it."""
    return text[max(0, caption[0] - CONTEXT_LENGTH) : caption[1]]


def _sentence_before(text: str, caption: Span) -> str:
    """Return the text shortly before a caption, within its paragraph and its sentence."""
    before = text[max(0, caption[0] - CONTEXT_LENGTH) : caption[0]]
    return re.split(r"\n\s*\n|(?<!\bNo)[.;:]\s", before)[-1]


def _text_after(text: str, caption: Span, spec: FieldSpec, *, is_word: bool) -> tuple[str, str]:
    """Return the text that a caption belongs to and what follows it; "" if it is no caption.

    A single word is the caption of a date only at the beginning of a line or before a colon.
    """
    start, end = caption
    line_start = text.rfind("\n", 0, start) + 1
    starts_line = _NO_WORDS.match(text[line_start:start]) is not None
    if spec.kind in {"date", "name"} and "\n" in text[start:end].strip() and not starts_line:
        return "", ""  # the end of a heading and the beginning of the line below it
    if spec.is_investigator and _SECOND_ROLE.search(text[line_start:start]):
        return "", ""
    has_colon = _COLON.match(text, end) is not None
    is_caption = (
        starts_line
        or (has_colon and spec.kind == "name" and not is_word)
        or (spec.kind not in {"text", "name"} and (spec.kind != "date" or not is_word or has_colon))
    )
    rest, _, following = text[end:].partition("\n")
    if _CAPTION_ALONE.fullmatch(rest):
        is_caption = starts_line
        rest, _, following = following.lstrip().partition("\n")
    elif spec.kind == "text" and not _SEPARATOR.match(rest):
        is_caption = False
    return (rest, following) if is_caption else ("", "")


def values_in_sentences(
    page: PageReading, spec: FieldSpec, *, month_first: bool | None
) -> Iterator[FieldValue]:
    """Yield the values in sentences of the field's patterns, such as "approved on <value>"."""
    for sentence in spec.sentences:
        before, _, after = sentence.partition(VALUE_PLACE)
        if before.strip():
            yield from _values_within(page, spec, before, after, month_first=month_first)
        else:
            yield from _values_before(page, spec, after)


def _values_within(
    page: PageReading, spec: FieldSpec, before: str, after: str, *, month_first: bool | None
) -> Iterator[FieldValue]:
    """Yield the values between the words `before` and `after` of a sentence."""
    text, is_scan, is_date = page.text, page.source in SCAN_SOURCES, spec.kind == "date"
    literals = (max(part.split(_GAP), key=len).strip() for part in (before, after))
    if not all(fuzzy_phrases.may_contain_phrase(text, each) for each in literals):
        return
    max_gap = _MAX_GAP_OF_DATE if before.endswith(f"{_GAP} ") else _MAX_SIGNS
    pattern = _compile_sentence(before.removesuffix(f"{_GAP} "))
    for match in islice(pattern.finditer(text), _MAX_OCCURRENCES):
        if not is_in_context(_read_context(text, match.span()), spec):
            continue
        if is_date and not _DIGIT.search(text, match.end(), match.end() + 20 + max_gap):
            continue
        rest = " ".join(text[match.end() : match.end() + 300].split()).lstrip(" ,")
        parsed = parse_value(rest, spec, month_first=month_first, is_scan=is_scan, max_gap=max_gap)
        if parsed is None:
            continue
        following = rest[parsed.end :].lstrip(" ,:;.-")
        if not after.strip() or _compile_sentence(after.strip()).match(following):
            yield _locate(page, spec, parsed, parsed.value)


def _values_before(page: PageReading, spec: FieldSpec, words: str) -> Iterator[FieldValue]:
    """Yield the names directly before these words, as in "<value> is conducting a study"."""
    if not fuzzy_phrases.may_contain_phrase(page.text, max(words.split(_GAP), key=len)):
        return
    for match in islice(_compile_sentence(words).finditer(page.text), _MAX_OCCURRENCES):
        start = max(0, match.start() - _MAX_SENTENCE_GAP)
        before = " ".join(page.text[start : match.start()].rpartition("\n\n")[2].split(" "))
        before = before.rpartition("\n")[2] or before
        for name in re.finditer(person_names.PATTERN, before):
            if not before[name.end() :].strip(_BEFORE_WORDS):
                text = person_names.trim(name[0])
                if text == name[0].strip(" ,") and person_names.is_full_name(text):
                    yield _locate(page, spec, ParsedValue(text, 0, len(text)), text)


def is_repeated(text: str, value: str) -> bool:
    """Return whether a value is printed at least twice in a text."""
    folded = fuzzy_phrases.fold_letters(value)
    if len(folded) <= 3 or fuzzy_phrases.fold_page(text).count(folded) < 2:
        return False
    found = fuzzy_phrases.find_occurrences(text, value)
    if not _DIGIT.search(value):
        return len(found) > 1
    # A number may be a part of a longer one.
    whole = [
        start
        for start, end in found
        if not _REST_OF_NUMBER.match(text, end)
        and not _START_OF_NUMBER.search(text[max(0, start - 2) : start])
    ]
    return len(whole) > 1


@lru_cache(maxsize=512)
def _compile_sentence(words: str) -> re.Pattern[str]:
    """Return a pattern for a part of a sentence, in which "..." stands for any words."""
    parts = [r"[\W_]+".join(map(re.escape, re.findall(r"\w+", part))) for part in words.split(_GAP)]
    body = rf"(?:[^.;]|\.(?=\w)){{0,{_MAX_SENTENCE_GAP}}}?".join(parts)
    return re.compile(rf"(?<!\w){body}(?!\w)" if parts[0] else rf"\W*{body}(?!\w)", re.IGNORECASE)


def value_of_text(page: PageReading, spec: FieldSpec, text: str) -> FieldValue:
    """Return a part of the text of a page as a value, with its position if it is known."""
    return _locate(page, spec, ParsedValue(text, 0, len(text)), text)


def _locate(page: PageReading, spec: FieldSpec, parsed: ParsedValue, value: str) -> FieldValue:
    """Return a value of the text with its position, if the words of the page have it."""
    wanted = parsed.value if parsed.day is None else value
    span = next(geometry.find_phrase(page, wanted), None)
    confidence = min(span.confidence if span else page.confidence, parsed.max_confidence)
    return FieldValue(
        spec.name,
        value,
        page.number,
        page.source,
        confidence,
        span.box if span else None,
        parsed.day,
        parsed.readings,
    )
