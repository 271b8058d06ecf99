"""The sentences of findings: the messages of their codes, filled in with their facts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from string import Formatter
from typing import Protocol

from ingestion.rules.document_types import TYPES
from ingestion.rules.findings import Facts
from ingestion.rules.messages import (
    MESSAGES,
    UNKNOWN_CODE_MESSAGE,
    PageWording,
    Wording,
    ngettext,
)

_NOUNS = {kind.name: kind.noun for kind in TYPES.values()}
# Codes whose facts `detected` and `declared` name a type of document: "an IRB approval".
_ABOUT_TYPES = frozenset({"DOC_TYPE_CONFLICT", "DOC_TYPE_UNRECOGNIZED"})
# Values of the fact `what` that are about a page and not about one entry on it.
_WHOLE_PAGE = frozenset({"the text", "all of the text"})
# Letters whose names begin with a vowel: an FDA form, an IRB.
_LETTERS_WITH_AN = "AEFHILMNORSX"
_NAMES_PAGE = frozenset({"page", "pages", "claimed"})
_SEE_PAGES = ngettext("See page {page}.", "See pages {pages}.")


@dataclass(slots=True)
class _Translation:
    gettext: Callable[[str], str]
    ngettext: Callable[[str, str, int], str]


_translation = _Translation(str, lambda one, many, count: one if count == 1 else many)


def use_translation(
    gettext: Callable[[str], str], ngettext: Callable[[str, str, int], str]
) -> None:
    """Translate messages with these functions from now on: this package imports no Django."""
    _translation.gettext, _translation.ngettext = gettext, ngettext


@dataclass(frozen=True, slots=True)
class Sentences:
    what: str
    why: str
    do: str  # to staff: what to check


class AnyFinding(Protocol):
    """A finding of a verdict, or its row."""

    @property
    def page(self) -> int: ...

    @property
    def facts(self) -> Facts: ...


def placeholders(wording: Wording) -> frozenset[str]:
    """Return the names of the facts that a wording needs when it is about one page."""
    text = wording.one if isinstance(wording, PageWording) else wording
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)


def sentences(
    code: str, facts: Facts, *, type_name: str = "", for_staff: bool = False
) -> Sentences:
    """Return the sentences of one finding, for its site or for staff.

    Never raises: records outlive codes, and an old finding may lack facts that a wording needs.
    """
    return _filled_in(code, facts, (), type_name=type_name, for_staff=for_staff)


def grouped_sentences(
    code: str, findings: Iterable[AnyFinding], *, type_name: str = "", for_staff: bool = False
) -> Sentences:
    """Return the sentences of all findings of one code in one document, each sentence once.

    Findings that differ only in their page become one sentence with a list of pages.
    """
    groups: dict[object, list[AnyFinding]] = {}
    for finding in findings:
        groups.setdefault(_what_is_equal(finding), []).append(finding)
    said = [
        _of_group(code, group, type_name=type_name, for_staff=for_staff)
        for group in groups.values()
    ]
    return Sentences(
        what=" ".join(dict.fromkeys(each.what for each in said)),
        why=" ".join(dict.fromkeys(each.why for each in said)),
        do=" ".join(dict.fromkeys(each.do for each in said)),
    )


def reason(code: str) -> str:
    """Return a few words for one line in a table or a terminal."""
    return _translation.gettext(MESSAGES.get(code, UNKNOWN_CODE_MESSAGE).short)


def list_pages(numbers: Iterable[int]) -> str:
    """Return page numbers as people write them, with runs of three or more as ranges: 2, 5-9."""
    ordered = enumerate(sorted(set(numbers)))
    runs = [
        [number for _, number in run] for _, run in groupby(ordered, lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def _what_is_equal(finding: AnyFinding) -> object:
    facts = {name: value for name, value in finding.facts.items() if name != "page"}
    if facts.get("what") in _WHOLE_PAGE:
        facts["what"] = ""
    return tuple(sorted(facts.items())), "page" in finding.facts, finding.page == 0


def _of_group(code: str, group: list[AnyFinding], *, type_name: str, for_staff: bool) -> Sentences:
    pages = sorted({finding.page for finding in group if finding.page})
    facts = dict(group[0].facts)
    if len(pages) > 1 and facts.get("what") in _WHOLE_PAGE:
        del facts["what"]
    return _filled_in(code, facts, pages, type_name=type_name, for_staff=for_staff)


def _filled_in(
    code: str, facts: Facts, pages: Sequence[int], *, type_name: str, for_staff: bool
) -> Sentences:
    """Fill in the wordings of a code. `pages`: of a group, whose sentences have to name them."""
    message = MESSAGES.get(code, UNKNOWN_CODE_MESSAGE)
    known = {name: _format_fact(value) for name, value in facts.items() if _is_known(name, value)}
    known["type"] = _NOUNS.get(type_name, type_name) or "document"
    if code in _ABOUT_TYPES:
        for name in known.keys() & {"declared", "detected"}:
            known[name] = with_article(_name_in_sentence(known[name]))
    if len(pages) > 1:
        known.pop("page", None)
        known |= {"pages": list_pages(pages), "count": str(len(pages))}
    many = max(len(pages), 1)
    what, why, do = (
        _choose_wording(part, known, many)
        for part in (message.staff_parts if for_staff else message.parts)
    )
    text = _fill_in(what, known, many)
    if pages and _NAMES_PAGE.isdisjoint(_needed(what, many)):
        text = f"{text} {_fill_in(_SEE_PAGES, {'page': str(pages[0]), **known}, many)}"
    return Sentences(text, _fill_in(why, known, many), _fill_in(do, known, many))


def _name_in_sentence(name: str) -> str:
    """Return a type's name, which people look for in lists, without the capital of a heading."""
    is_heading = _NOUNS.get(name, name)[:1].islower()
    return name[:1].lower() + name[1:] if is_heading else name


def _choose_wording(part: tuple[Wording, ...], known: Mapping[str, str], pages: int) -> Wording:
    usable = (wording for wording in part if _needed(wording, pages) <= known.keys())
    return next(usable, part[-1])


def _needed(wording: Wording, pages: int) -> frozenset[str]:
    """Return the facts that a wording needs when it is about so many pages."""
    if isinstance(wording, PageWording) and pages > 1:
        wording = wording.many
    return placeholders(wording)


def _fill_in(wording: Wording, known: Mapping[str, str], pages: int) -> str:
    if isinstance(wording, PageWording):
        text = _translation.ngettext(wording.one, wording.many, pages)
    else:
        text = _translation.gettext(wording)
    text = text.format_map(known)
    return text[0].upper() + text[1:]


def with_article(noun: str) -> str:
    """Return the noun behind "a" or "an", by the sound of its first word: an IRB approval, a CV."""
    first = noun.split(maxsplit=1)[0]
    is_spelled_out = len(first) > 1 and first.isupper()
    starts = _LETTERS_WITH_AN if is_spelled_out else "AEIOUaeiou"
    return f"{'an' if first[0] in starts else 'a'} {noun}"


def _is_known(name: str, value: str | int) -> bool:
    """Page 0 is the whole document, and status 0 a portal that did not answer."""
    return value != "" and not (value == 0 and name in {"page", "status"})


def _format_fact(value: str | int) -> str:
    """Return a fact as people write it: 2026-03-12 becomes 12 March 2026."""
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return str(value)
    day = date.fromisoformat(value)
    return f"{day.day} {day:%B %Y}"
