"""A finding as people read it: the copy of its code, filled in with what was found."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from string import Formatter

from ingestion.rules.document_types import TYPES
from ingestion.rules.findings import Facts
from ingestion.rules.messages import COPY, UNKNOWN

_NOUNS = {kind.name: kind.noun for kind in TYPES.values()}


@dataclass(frozen=True, slots=True)
class Sentences:
    what: str
    why: str
    do: str  # to staff: what to check


def placeholders(wording: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(wording) if name)


def sentences(
    code: str, facts: Facts, *, type_name: str = "", for_staff: bool = False
) -> Sentences:
    """Return the sentences of a finding, to its site or to staff.

    Never raises: records outlive codes, and facts that a later wording would ask for.
    """
    copy = COPY.get(code, UNKNOWN)
    known = {name: _shown(value) for name, value in facts.items() if _is_known(name, value)}
    parts = copy.staff_parts if for_staff else copy.parts
    known["type"] = _NOUNS.get(type_name, type_name) or "document"
    return Sentences(*(_worded(part, known) for part in parts))


def reason(code: str) -> str:
    """A few words for one line in a table or a terminal."""
    return COPY.get(code, UNKNOWN).short


def _worded(wordings: tuple[str, ...], known: Mapping[str, str]) -> str:
    usable = (wording for wording in wordings if placeholders(wording) <= known.keys())
    text = next(usable, wordings[-1]).format_map(known)
    return text[0].upper() + text[1:]


def _is_known(name: str, value: str | int) -> bool:
    """Page 0 is the whole document, and status 0 the answer that never came."""
    return value != "" and not (value == 0 and name in {"page", "status"})


def _shown(value: str | int) -> str:
    """As people write it: facts keep dates as 2026-03-12, sentences say 12 March 2026."""
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return str(value)
    day = date.fromisoformat(value)
    return f"{day.day} {day:%B %Y}"
