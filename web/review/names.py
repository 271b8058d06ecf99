"""Compares the declared, the read and the registered name of a document's person."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from ingestion.core.states import DocumentState
from ingestion.documents.site_readiness import get_readiness
from ingestion.models import Document
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.persons.names import is_same_person, may_be_same_person
from ingestion.rules.site_file.requirements import RequiredFor, list_named
from web.documents.extracted_fields import get_last_extraction
from web.shell.state_display import StateDisplay

_AGREES = StateDisplay("tick", "ok")
_DIFFERS = StateDisplay("cross", "bad")
_UNCLEAR = StateDisplay("triangle", "warn")
_NAME_FIELDS = ("person", "investigator")


@dataclass(frozen=True, slots=True)
class NameRow:
    """One row of the table. `display` and `word` show how it compares with the names above."""

    source: str
    name: str  # "" where there is none
    note: str
    display: StateDisplay | None = None
    word: str = ""


def compare_names(document: Document) -> list[NameRow]:
    """Return the three rows, or none for a document that concerns no person."""
    document_type = TYPES.get(document.document_type)
    declared = document.declared_person
    fields = document_type.fields if document_type else ()
    if not declared and not any(field.name in _NAME_FIELDS for field in fields):
        return []
    note = ""
    if not declared and not (document_type and document_type.per_person):
        note = _("Documents of this type do not belong to one person.")
    elif not declared and document.url:
        note = _("The manifest of the portal names no person.")
    elif not declared:
        note = _("The sender named no person.")
    read_row = _build_read_row(document, declared)
    names = [name for name in (declared, read_row.name) if name]
    return [
        NameRow(_("Declared"), declared, note),
        read_row,
        _build_registered_row(document, names),
    ]


def _build_read_row(document: Document, declared: str) -> NameRow:
    """Return the row of the name that was read from the document."""
    source = _("Read on the document")
    extraction = get_last_extraction(document)
    values = {value.name: value for value in extraction.values} if extraction else {}
    value = next((values[name] for name in _NAME_FIELDS if name in values), None)
    if value is None:
        return NameRow(source, "", _("No name was read."), _UNCLEAR, _("Not read"))
    if value.page:
        note = _("Page {page}") if value.is_sure else _("Page {page}, not read with certainty")
        note = note.format(page=value.page)
    else:
        note = _("Form field") if value.is_sure else _("Form field, not read with certainty")
    display, word = _compare(value.value, declared, is_sure=value.is_sure)
    return NameRow(source, value.value, note, display, word)


def _compare(read: str, declared: str, *, is_sure: bool) -> tuple[StateDisplay | None, str]:
    """Return the display and the words for a read name beside the declared one."""
    if not read:
        return _UNCLEAR, _("Not read")
    if not declared:
        return (None, "") if is_sure else (_UNCLEAR, _("Uncertain"))
    if is_same_person(read, declared):
        return _AGREES, _("Matches the declared name")
    if not is_sure or may_be_same_person(read, declared):
        return _UNCLEAR, _("May be the same person")
    return _DIFFERS, _("Differs from the declared name")


def _build_registered_row(document: Document, names: Sequence[str]) -> NameRow:
    """Return the row of the names on the filed forms and the delegation log of the site.

    `names` are the declared and the read name, as far as they are known.
    """
    source = _("Registered for the site")
    filed = [
        paper
        for paper in get_readiness(document.site).papers
        if paper.state is DocumentState.ARCHIVED and paper.key != document.pk
    ]
    registered = list_named(filed, RequiredFor.DELEGATED)
    if not registered:
        note = _("No filed form or delegation log of this site names a person yet.")
        return NameRow(source, "", note)
    if not names:
        return NameRow(source, ", ".join(registered), "")
    matching = [each for each in registered if any(is_same_person(each, name) for name in names)]
    if not matching:
        return NameRow(source, ", ".join(registered), "", _DIFFERS, _("Not registered"))
    others = [name for name in registered if name not in matching]
    note = _("Also registered: {names}").format(names=", ".join(others)) if others else ""
    if len(matching) == 1 and all(is_same_person(matching[0], name) for name in names):
        return NameRow(source, matching[0], note, _AGREES, _("Matches"))
    return NameRow(source, ", ".join(matching), note, _UNCLEAR, _("Matches one of the names"))
