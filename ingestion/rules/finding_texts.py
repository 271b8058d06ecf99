"""Formats the sentences of findings: the messages of their codes, with the facts filled in."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from string import Formatter
from typing import Protocol

from audit.translation import gettext, ngettext
from ingestion.rules.codes import CODES
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.month_dates import find_day
from ingestion.rules.findings import Facts
from ingestion.rules.messages import (
    ACTIVE_CONTENT_NOUNS,
    CATEGORY_LABELS,
    MESSAGES,
    OWNER_LABELS,
    RETRY_LABELS,
    SEVERITY_LABELS,
    UNKNOWN_CODE_MESSAGE,
    PageWording,
    Wording,
)

_NOUNS = {kind.name: kind.noun for kind in TYPES.values()}
# Codes whose facts `detected`, `declared` and `resembled` name a document type, as in "an IRB
# approval".
_CODES_ABOUT_TYPES = frozenset({"DOC_TYPE_CONFLICT", "DOC_TYPE_UNRECOGNIZED"})
# Values of the fact `what` that are about a page and not about one entry on it.
_WHOLE_PAGE_FACTS = frozenset({"the text", "all of the text"})
# The fact `found` of a file whose format was not recognised. It says nothing to a reader.
_UNKNOWN_FILE_FACT = "a file of an unknown kind"
# Letters whose names begin with a vowel sound: an FDA form, an IRB approval.
_LETTERS_WITH_AN = "AEFHILMNORSX"
# The facts `document` and `documents`: types and pages, as in "irb-approval:1-2 cv:3-3 :4-9".
_DOCUMENT_FACT = re.compile(r"([\w-]*):(\d+)-(\d+)")
_DOCUMENT_FACTS = frozenset({"document", "documents"})
MAX_DOCUMENTS_NAMED = 12  # documents that a sentence lists
# Facts that may be phrases with other facts in braces, as in "the struck-out entry in {box}". The
# first may be part of the last.
_PHRASE_FACTS = ("box", "choice", "unseen", "weakness", "what")
# Facts that are words of the product: a rule marks them for translation, or they are names of
# `types.toml`. All other facts are data, such as names and what stands on the page, and are never
# translated.
_TRANSLATED_FACTS = frozenset({
    *_PHRASE_FACTS,
    "earlier", "field", "found", "lacking", "language", "later", "one", "other", "role", "section",
    "unticked",
})  # fmt: skip
# Facts that are quoted exactly as they were written, even if they look like a date.
_QUOTED_FACTS = frozenset({"note", "phrase", "placeholder", "stamp", "struck", "written"})
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PAGE_PLACEHOLDERS = frozenset({"page", "pages", "claimed"})
_SEE_PAGES = PageWording("See page {page}.", "See pages {pages}.")


@dataclass(frozen=True, slots=True)
class Sentences:
    """The text of one or more findings of one code."""

    what: str  # what happened
    why: str  # why it matters
    do: str  # what to do; for staff: what to check


@dataclass(frozen=True, slots=True)
class CodeAttributes:
    """The attributes of a finding code, in words."""

    category: str
    severity: str
    owner: str
    retry: str  # whether the code is retryable


class AnyFinding(Protocol):
    """A finding of a verdict, or the database row of one."""

    @property
    def page(self) -> int:
        """Return the page that the finding is about, or 0 for the document as a whole."""
        ...

    @property
    def facts(self) -> Facts:
        """Return the facts that fill the placeholders of the messages."""
        ...


def list_placeholders(wording: Wording) -> frozenset[str]:
    """Return the names of the facts that a wording needs when it is about one page."""
    text = wording.one if isinstance(wording, PageWording) else wording
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)


_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


def format_sentences(
    code: str, facts: Facts, *, type_name: str = "", for_staff: bool = False
) -> Sentences:
    """Return the sentences of one finding, for its site or for staff.

    `type_name` is the name of the document type; without it the text says "document". This
    function never raises: stored findings outlive their codes, and an old finding may lack facts
    that a wording needs.
    """
    return _filled_in(code, facts, (), type_name=type_name, for_staff=for_staff)


def format_grouped_sentences(
    code: str, findings: Iterable[AnyFinding], *, type_name: str = "", for_staff: bool = False
) -> Sentences:
    """Return the sentences of all findings of one code in one document, each sentence once.

    Findings that differ only in their page become one sentence with a list of pages.
    """
    groups: dict[object, list[AnyFinding]] = {}
    for finding in findings:
        facts = {
            name: value for name, value in finding.facts.items() if name not in {"page", "area"}
        }
        if facts.get("what") in _WHOLE_PAGE_FACTS:
            facts["what"] = ""
        key = tuple(sorted(facts.items())), "page" in finding.facts, finding.page == 0
        groups.setdefault(key, []).append(finding)
    filled_in = []
    for group in groups.values():
        pages = sorted({finding.page for finding in group if finding.page})
        facts = dict(group[0].facts)
        if len(pages) > 1 and facts.get("what") in _WHOLE_PAGE_FACTS:
            del facts["what"]
        filled_in.append(_filled_in(code, facts, pages, type_name=type_name, for_staff=for_staff))
    return Sentences(
        what=_join([each.what for each in filled_in]),
        why=_join([each.why for each in filled_in]),
        do=_join([each.do for each in filled_in]),
    )


def _join(texts: Sequence[str]) -> str:
    """Return different texts as one. Sentences with which all of them end stand once, at its end.

    So "Fill in box 1. Upload it again." and the same for box 2 become three sentences.
    """
    different = [_SENTENCE_END.split(text) for text in dict.fromkeys(texts) if text]
    if not different:
        return ""
    common = 0
    while len(different) > 1 and len({tuple(each[-common - 1 :]) for each in different}) == 1:
        common += 1
    heads = chain.from_iterable(each[: len(each) - common] for each in different)
    return " ".join([*heads, *different[0][len(different[0]) - common :]])


def get_short_text(code: str) -> str:
    """Return the short text of a code, for one line in a table or a terminal."""
    return gettext(MESSAGES.get(code, UNKNOWN_CODE_MESSAGE).short)


def describe_attributes(code: str) -> CodeAttributes | None:
    """Return the attributes of a code in words, or None if the registry does not contain it."""
    entry = CODES.get(code)
    if entry is None:
        return None
    return CodeAttributes(
        category=gettext(CATEGORY_LABELS[entry.category][0]),
        severity=gettext(SEVERITY_LABELS[entry.severity][0]),
        owner=gettext(OWNER_LABELS[entry.owner][0]),
        retry=gettext(RETRY_LABELS[entry.is_retryable][0]),
    )


def label_attribute_values(name: str) -> dict[str, str]:
    """Return the label of each value of an attribute of codes: category, severity or owner."""
    labels: Mapping[str, Mapping[str, tuple[str, str]]] = {
        "category": CATEGORY_LABELS,  # type: ignore[dict-item] # its keys are strings
        "severity": SEVERITY_LABELS,  # type: ignore[dict-item]
        "owner": OWNER_LABELS,  # type: ignore[dict-item]
    }
    return {str(value): gettext(label) for value, (label, _) in labels[name].items()}


def list_pages(numbers: Iterable[int]) -> str:
    """Return page numbers as people write them, with ranges for three or more: "2, 5-9"."""
    ordered = enumerate(sorted(set(numbers)))
    runs = [
        [number for _, number in run] for _, run in groupby(ordered, lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def _filled_in(
    code: str, facts: Facts, pages: Sequence[int], *, type_name: str, for_staff: bool
) -> Sentences:
    """Return the wordings of a code with their facts filled in.

    `pages` are the pages of a group of findings, which the sentences have to name. It is empty for
    a single finding.
    """
    message, known = MESSAGES.get(code, UNKNOWN_CODE_MESSAGE), _describe_facts(code, facts)
    known["type"] = _translate_type(type_name) if type_name else gettext("document")
    if len(pages) > 1:
        known.pop("page", None)
        known |= {"pages": list_pages(pages), "count": str(len(pages))}
    count = max(len(pages), 1)
    chosen = [
        next((each for each in part if _needed(each, count) <= known.keys()), part[-1])
        for part in (message.staff_parts if for_staff else message.parts)
    ]
    what, why, do = (_fill_in(wording, known, count) for wording in chosen)
    if pages and _PAGE_PLACEHOLDERS.isdisjoint(_needed(chosen[0], count)):
        see_pages = _fill_in(_SEE_PAGES, {"page": str(pages[0]), **known}, count)
        what = f"{what} {see_pages}"
    return Sentences(what, why, do)


def _describe_facts(code: str, facts: Facts) -> dict[str, str]:
    """Return the facts of a finding as people write them. Unknown ones are left out."""
    known = {
        name: _format_fact(name, value)
        for name, value in facts.items()
        # Page 0 means the whole document, and status 0 a portal that did not respond.
        if value not in {"", _UNKNOWN_FILE_FACT} and not (value == 0 and name in {"page", "status"})
    }
    if kinds := facts.get("kinds"):
        known["kinds"] = _list_kinds(str(kinds))
    for fact in _PHRASE_FACTS:
        if fact in known:
            known[fact] = _PLACEHOLDER.sub(lambda part: known.get(part[1], part[0]), known[fact])
    for fact in known.keys() & _DOCUMENT_FACTS:
        known[fact] = _list_documents(known[fact])
    if code in _CODES_ABOUT_TYPES:
        for fact in known.keys() & {"declared", "detected", "resembled"}:
            known[fact] = add_article(_NOUNS.get(known[fact], known[fact]))
    return known


def _translate_type(name: str) -> str:
    """Return the noun of a document type in the language of the reader.

    `name` is its name as a heading, which may be one that no type has any more.
    """
    return gettext(_NOUNS.get(name, name))


def _list_kinds(fact: str) -> str:
    """Return kinds of active content as people write them: "scripts and attached files".

    A fact of an earlier release has this text already.
    """
    kinds = fact.split()
    if not ACTIVE_CONTENT_NOUNS.keys() >= set(kinds):
        return fact
    *others, last = (gettext(ACTIVE_CONTENT_NOUNS[kind]) for kind in kinds)
    if not others:
        return last
    return gettext("{others} and {last}").format(others=", ".join(others), last=last)


def _list_documents(fact: str) -> str:
    """Return documents as people write them: "IRB approval on pages 1 to 2; CV on page 3".

    A fact of an earlier release has this text already.
    """
    documents = _DOCUMENT_FACT.findall(fact)
    if not documents:
        return fact
    named = []
    for slug, first, last in documents[:MAX_DOCUMENTS_NAMED]:
        noun = gettext("a document of another type")
        if slug in TYPES:
            noun = gettext(TYPES[slug].noun)
        text = gettext("{noun} on page {first}")
        if first != last:
            text = gettext("{noun} on pages {first} to {last}")
        named.append(text.format(noun=noun, first=first, last=last))
    if more := len(documents) - len(named):
        named.append(gettext("and {count} more").format(count=more))
    return "; ".join(named)


def _needed(wording: Wording, page_count: int) -> frozenset[str]:
    """Return the facts that a wording needs when it is about this number of pages."""
    if isinstance(wording, PageWording) and page_count > 1:
        wording = wording.many
    return list_placeholders(wording)


def _fill_in(wording: Wording, known: Mapping[str, str], page_count: int) -> str:
    """Return the translated wording with its facts, beginning with a capital letter."""
    if isinstance(wording, PageWording):
        text = ngettext(wording.one, wording.many, page_count)
    else:
        text = gettext(wording)
    text = text.format_map(known)
    return text[0].upper() + text[1:]


def add_article(noun: str) -> str:
    """Return a noun of English in the language of the reader, with its indefinite article.

    In English, the article depends on the sound of the first word: an IRB approval, a CV. A
    catalogue translates the noun, and may leave out the article.
    """
    first = noun.split(maxsplit=1)[0]
    is_spelled_out = len(first) > 1 and first.isupper()
    vowels = _LETTERS_WITH_AN if is_spelled_out else "AEIOUaeiou"
    phrase = gettext("an {noun}") if first[0] in vowels else gettext("a {noun}")
    return phrase.format(noun=gettext(noun))


def _format_fact(name: str, value: str | int) -> str:
    """Return a fact as people write it: 2026-03-12 becomes 12 March 2026.

    Words and phrases of the product are translated. What stands on the page is not.
    """
    if not isinstance(value, str):
        return str(value)
    if name in _TRANSLATED_FACTS:
        return gettext(value)
    day = None if name in _QUOTED_FACTS else find_day(name, value)
    if day is None:
        return value
    month = f"{gettext(f'{day:%B}')} {day.year}"
    return f"{day.day} {month}" if value == day.isoformat() else month
