"""The declared, the read and the registered name of a document's person, for reviewers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from ingestion.core.states import DocumentState
from ingestion.documents.site_readiness import get_readiness
from ingestion.models import Document
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.names import is_same_person, may_be_same_person
from ingestion.rules.site_file.requirements import RequiredFor, list_named
from web.documents.extracted_fields import get_last_extraction
from web.shell.state_display import StateDisplay

_AGREES = StateDisplay("tick", "ok")
_DIFFERS = StateDisplay("cross", "bad")
_UNCLEAR = StateDisplay("triangle", "warn")
_FIELDS = ("person", "investigator")


@dataclass(frozen=True, slots=True)
class NameRow:
    """One row of the table. `display` and `word` show how it compares with the name above it."""

    source: str
    name: str  # "" where there is none
    note: str
    display: StateDisplay | None = None
    word: str = ""


def compared_names(document: Document) -> list[NameRow]:
    """Return the three rows, or none for a document that concerns no person."""
    kind = TYPES.get(document.document_type)
    declared = document.declared_person
    names_people = kind and any(spec.name in _FIELDS for spec in kind.fields)
    if not declared and not names_people:
        return []
    read, where, is_sure = _read(document)
    is_personal = bool(declared) or bool(kind and kind.per_person)
    registered = _registered(document)
    return [
        NameRow(_("Declared"), declared, "" if declared else _not_declared(document, is_personal)),
        NameRow(
            _("Read on the document"), read, where, *_compared(read, declared, is_sure=is_sure)
        ),
        _registered_row(registered, [name for name in (declared, read) if name]),
    ]


def _not_declared(document: Document, is_personal: bool) -> str:
    if not is_personal:
        return _("Documents of this type do not belong to one person.")
    if document.url:
        return _("The manifest of the portal names no person.")
    return _("The sender named no person.")


def _read(document: Document) -> tuple[str, str, bool]:
    """Return the name that was read, its place, and whether it was read with certainty."""
    last = get_last_extraction(document)
    values = {value.name: value for value in last.values} if last else {}
    value = next((values[name] for name in _FIELDS if name in values), None)
    if value is None:
        return "", _("No name was read."), False
    return value.value, _place(value.page, is_sure=value.is_sure), value.is_sure


def _place(page: int | None, *, is_sure: bool) -> str:
    if page:
        where = _("Page {page}") if is_sure else _("Page {page}, not read with certainty")
        return where.format(page=page)
    return _("Form field") if is_sure else _("Form field, not read with certainty")


def _compared(read: str, declared: str, *, is_sure: bool) -> tuple[StateDisplay | None, str]:
    if not read:
        return _UNCLEAR, _("Not read")
    if not declared:
        return (None, "") if is_sure else (_UNCLEAR, _("Uncertain"))
    if is_same_person(read, declared):
        return _AGREES, _("Matches the declared name")
    if not is_sure or may_be_same_person(read, declared):
        return _UNCLEAR, _("May be the same person")
    return _DIFFERS, _("Differs from the declared name")


def _registered(document: Document) -> list[str]:
    """Return the names on the filed form, signature page and delegation log of the site."""
    papers = get_readiness(document.site).papers
    filed = [
        paper
        for paper in papers
        if paper.state is DocumentState.ARCHIVED and paper.key != document.pk
    ]
    return list_named(filed, RequiredFor.DELEGATED)


def _registered_row(registered: Sequence[str], given: Sequence[str]) -> NameRow:
    source = _("Registered for the site")
    if not registered:
        note = _("No filed form or delegation log of this site names a person yet.")
        return NameRow(source, "", note)
    fitting = list(_fitting(registered, given))
    others = [name for name in registered if name not in fitting]
    note = ""
    if fitting and others:
        note = _("Also registered: {names}").format(names=", ".join(others))
    if not given:
        return NameRow(source, ", ".join(registered), "")
    if len(fitting) == 1 and all(is_same_person(fitting[0], name) for name in given):
        return NameRow(source, fitting[0], note, _AGREES, _("Matches"))
    if fitting:
        return NameRow(source, ", ".join(fitting), note, _UNCLEAR, _("Matches one of the names"))
    return NameRow(source, ", ".join(registered), "", _DIFFERS, _("Not registered"))


def _fitting(registered: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    return (each for each in registered if any(is_same_person(each, name) for name in given))
