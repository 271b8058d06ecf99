"""Finds the name of a course in a sentence, such as "completed a course in Good Clinical Practice".

The name is what stands between quotation marks, the words with capital letters around a phrase by
which courses are known, or the line below one that leads to it. This module is pure. It knows
neither document types nor pages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ingestion.reading.results import Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.fields import geometry
from ingestion.rules.fields.text_lines import TextLine, is_in_title_case

_IN_SENTENCE = re.compile(
    r"(?i)\b(?:ha(?:s|ve|ving)|complet(?:ed|ing)|attend(?:ed|ing)|certif(?:y|ies)|participated|passed"
    r"|instruction|(?:course|training|seminar|workshop|module|programme?) (?:in|on)"
    r"|the (?:course|training|module|workshop))\b"
)
_QUOTED = re.compile(r"[\u201c\"\u00ab](?P<text>[^\u201c\u201d\"\u00bb]{4,200})[\u201d\"\u00bb]")
_OPENING = frozenset('\u201c"\u00ab')
_INSTITUTION = re.compile(
    r"(?i)(?:[\w'\u2019-]+ ){0,3}(?:institute|centre|center|office|committee|board|university"
    r"|academy|school|department)\b"
)
_CONNECTING = frozenset({"of", "in", "for", "and", "the", "to", "on", "with", "&", "a", "an"})
_COURSE = (
    r"(?:course|module|training|workshop|seminar|webinar|tutorial|program(?:me)?|exam(?:ination)?"
    r"|assessment|lecture|e-?learning)"
)
# The end of a line below which the name of the course stands.
_LEADS = re.compile(
    rf"(?i)(?:\b{_COURSE}(?: (?:in|on|of|for|entitled|titled|called|named))?"
    r"|\b(?:le cours|la formation|el curso|o curso|den kurs)"
    r"|\b(?:complet(?:ed|ing|ion of)|attend(?:ed|ing)|pass(?:ed|ing)|finish(?:ed|ing))"
    r"(?: (?:the|an?))?"
    r"|\b(?:has|have|having|for|of|requirements|standards?|instruction|hours)\b.*"
    r"\b(?:in|on|of|entitled|titled|called))\s*:?$"
)
_SENTENCE_WORDS = re.compile(
    r"\b(?:has|have|having|was|the|for|of|an?|on|attended|completed|completing|passed|took|fulfilled)\b"
)
_HEADING = re.compile(
    r"(?i)(?:certificate|statement|record|report|confirmation|proof|modules|topics|units|sessions)\b"
)
_AFTER_WORD = re.compile(
    rf"\b{_COURSE}\s+(?:in |on |entitled |titled |called |named )?"
    r"(?:[\u201c\"\u00ab](?P<quoted>[^\n\u201d\"\u00bb]{5,140})[\u201d\"\u00bb]"
    r"|(?P<name>[A-Z][^\n.;\u201d\"\u00bb]{5,140}?)"
    r"(?=[.;,\n]|\s+(?:on|from) (?:the )?(?:\d|[A-Z][a-z]+,? \d)|\s+(?:at|held|organi[sz]ed"
    r"|conducted|which|that|provided|offered|of the|with a|by)\s|$))"
)
_WRAPPED_LINE = re.compile(r"\n(?<=[^\n]{60}\n)(?=\S)")
_NO_NAME = re.compile(
    r"(?i)^(?:on|held|at|with|and|completed?|date|this|from|in|certificate|for|by|given|presented|issued"
    r"|not valid|valid|expir|duration|has|was|under|score|contact|cpd|cme|of)\b"
    r"|^(?:\S+\s){0,3}[^\s:]*(?<!\d):|\d{4}$"  # a caption
)
_LIST_ITEM = re.compile(r"[\u2022\u25cf\u2013-]\s")
_NOTE = re.compile(r"(?i)not valid\b")
_BEHIND_NAME = re.compile(
    r",?\s+(?:(?:given|offered|provided|organi[sz]ed|conducted|held|delivered|run|hosted|taught)"
    r"\s(?:by|at|on|in)\b|with a (?:score|mark)\b"
    r"|(?:on|from)\s(?:the\s)?\d{1,2}(?:st|nd|rd|th)?\s[A-Z]"
    r"|on\s[A-Z][a-z]{2,8}\s\d{1,2}\b).*$"
)
_MAX_DROP = 36.0  # points from a line to the name of the course below it
_MAX_LINE_GAP = 0.9  # of the height of a line, to the next line of the same name
_MAX_SIZE_DIFFERENCE = 0.15  # of the type size of the lines of a name
_MAX_SIZE_DIFFERENCE_WITH_BRACKET = 0.3  # brackets are higher than letters
_MAX_GAP_IN_NAME = 2.0  # the same, if the words show that the name goes on
_MAX_NAMES = 5
_MIN_FULL_SHARE = 0.9  # of the width of the text, of a line that goes on in the next one
_AROUND = 160  # characters before and after a phrase in which the name is searched


def may_be_course(text: str) -> bool:
    """Return whether a text may be the name of a course, and no note beside it."""
    return _NOTE.match(text) is None


def in_sentence(text: str, phrase: str, words: Sequence[Word]) -> str:
    """Return the name of the course around a phrase, or "" if its line is not a sentence.

    `words` are those of the line in which the phrase stands.
    """
    if not _IN_SENTENCE.search(" ".join(word.text for word in words)):
        return ""
    line = " ".join(word.text for word in words)
    matches = fuzzy_phrases.compile_phrase(phrase).finditer(text)
    match = next((each for each in matches if _is_in_line(text, each, line)), None)
    if match is None:
        return ""
    start = max(0, match.start() - _AROUND)
    around = " ".join(text[start : match.end() + _AROUND].split())
    for quoted in _QUOTED.finditer(around):
        if fuzzy_phrases.contains_phrase(quoted["text"], phrase):
            return quoted["text"].strip(" ,;.")
    before = text[start : match.start()].rpartition("\n")[2].split()
    after = text[match.end() : match.end() + _AROUND].partition("\n")[0]
    kept_before = _named_words(reversed(before), ends_before=True)[::-1]
    kept_after = [] if after[:1].strip() else _named_words(after.split(), ends_before=False)
    name = " ".join([*kept_before, *match[0].split(), *kept_after]).strip(" ,;.")
    return name if any(sign.isupper() for sign in name) else ""


def clean(name: str) -> str:
    """Return the name of a course without the words behind it, as "given by" and a date."""
    return _BEHIND_NAME.sub("", name).strip(" ,;")


def find_names_below(lines: Sequence[TextLine]) -> Iterator[tuple[str, TextLine]]:
    """Yield the names of courses below lines that lead to them, as "has completed the course"."""
    for line in lines:
        if not _leads_to_course(line, lines):
            continue
        first = _next_below(line, lines, _MAX_DROP)
        if (
            first is None
            or _has_neighbour(first, lines)
            or (first.text[:1] not in _OPENING and _leads_to_course(first, lines))
            or _NO_NAME.search(first.text)
            or _LIST_ITEM.match(first.text)
            or not first.text[:2].strip('\u201c"*(').strip()
        ):
            continue
        whole = join_lines(first, lines, _MAX_LINE_GAP)
        quoted = _QUOTED.search(whole)
        text = (quoted["text"] if quoted else whole).strip(" ,;.")
        if text != text.lower() and " " in text:
            yield text, first


def join_lines(first: TextLine, lines: Sequence[TextLine], gap: float = 0.0) -> str:
    """Return the text of a line with the lines below that continue it in the same type size.

    A line continues another one if its words show that, or if it is closer than `gap` heights.
    """
    parts = [first]
    while len(parts) < _MAX_NAMES:
        last, height = parts[-1], first.box.bottom - first.box.top
        is_open = _is_open_quotation(first.text, parts)
        drop = (gap if not (is_open or is_cut(last.text)) else _MAX_GAP_IN_NAME) * height
        following = _next_below(last, lines, drop) if drop else None
        if following is None:
            following = _next_below(last, lines, _MAX_GAP_IN_NAME * height)
            if following is None or following.text.split()[0] not in _CONNECTING:
                break
        is_word = following.text.isalpha() and following.text[0].isupper()
        goes_on = is_open or is_word or is_in_title_case([following]) or is_cut(last.text)
        goes_on = goes_on or (following.text[0].isupper() and _is_full(last, lines))
        if is_in_title_case([last]) and not goes_on:
            break  # a line that describes the course
        has_bracket = "(" in first.text or "(" in following.text
        tolerance = _MAX_SIZE_DIFFERENCE_WITH_BRACKET if has_bracket else _MAX_SIZE_DIFFERENCE
        is_same_size = abs(following.size - first.size) < tolerance * first.size
        if not is_same_size or _NO_NAME.search(following.text.removeprefix("for ")):
            break
        parts.append(following)
    return " ".join(part.text for part in parts)


def _is_full(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line is nearly as long as all lines together are wide."""
    left, right = min(each.box.left for each in lines), max(each.box.right for each in lines)
    return line.box.right - line.box.left >= _MIN_FULL_SHARE * (right - left)


def _is_open_quotation(text: str, parts: Sequence[TextLine]) -> bool:
    """Return whether a text begins with a quotation mark, and none of its lines has the second."""
    whole = " ".join(part.text for part in parts)
    return text[:1] in _OPENING and not _QUOTED.search(whole)


def is_doubtful(name: str) -> bool:
    """Return whether a name is cut, or may be that of the institution that gives the course."""
    return is_cut(name) or name[:1] in _OPENING or _INSTITUTION.match(name) is not None


def is_cut(name: str) -> bool:
    """Return whether a name ends with a word or a sign that something follows."""
    return (
        name.rstrip().endswith((",", ":", "-", "\u2013"))
        or name.rsplit(maxsplit=1)[-1] in _CONNECTING
    )


def _leads_to_course(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line is a part of a sentence that goes on with the name of a course."""
    if not _LEADS.search(line.text) or not _SENTENCE_WORDS.search(line.text):
        return False
    if _HEADING.match(line.text):
        return False
    return not _has_neighbour(line, lines)


def _has_neighbour(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether other text stands in the row of a line, as the value beside a caption."""
    others = (each for each in lines if each is not line)
    return any(geometry.is_on_same_line(each.box, line.box) for each in others)


def _next_below(line: TextLine, lines: Sequence[TextLine], drop: float) -> TextLine | None:
    """Return the next line below a line that overlaps it, if it is near."""
    below = [
        each
        for each in lines
        if line.box.bottom - 2 < each.box.top < line.box.bottom + drop
        and each.box.left < line.box.right
        and each.box.right > line.box.left
    ]
    return min(below, key=lambda each: each.box.top, default=None)


def find_names_after_word(text: str) -> Iterator[str]:
    """Yield the names behind a word such as "module" within a sentence."""
    joined = _WRAPPED_LINE.sub(" ", text)
    for match in islice(_AFTER_WORD.finditer(joined), _MAX_NAMES):
        name = (match["quoted"] or match["name"]).strip(" ,;")
        words = [word for word in name.split() if len(word) > 3]
        capitals = sum(word.strip("(\u201c")[:1].isupper() for word in words)
        if match["quoted"] or (len(words) > 1 and capitals * 2 > len(words)):
            yield name


def _is_in_line(text: str, match: re.Match[str], line: str) -> bool:
    """Return whether the line of a text in which a match begins is a part of another text."""
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return f"{before}{match[0].partition(chr(10))[0]}".strip() in line


def _named_words(words: Iterable[str], *, ends_before: bool) -> list[str]:
    """Return the words that belong to a name, up to a small word or the end of a clause."""
    kept: list[str] = []
    for word in words:
        has_end = word.endswith((",", ";", ":", "."))
        if ends_before and has_end:
            break
        is_small = word in _CONNECTING and (ends_before or word != "the")
        has_capital = word != word.lower()  # also "eLearning"
        if not (has_capital or word[0].isdigit() or is_small or word[0] == "("):
            break
        kept.append(word)
        if has_end:
            break
    while kept and kept[-1] in _CONNECTING:
        kept.pop()
    return kept
