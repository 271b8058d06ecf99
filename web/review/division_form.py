"""Defines the form in which a reviewer divides a file into documents.

It has a few fields for each sheet of the file: what the sheet is, the type of the document that
begins there, and the reason for which it is set aside. A document is a sheet on which one begins,
and the sheets after it that continue it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.file_parts import (
    WHOLE_PAGE,
    Division,
    DocumentPart,
    FilePart,
    PageExclusion,
    PageUse,
)
from ingestion.models import Action, Document, Extraction
from ingestion.review.decisions import DecisionInput
from ingestion.rules.document_types import TYPES
from web.documents.page_account import USE_LABELS, name_pages
from web.review.forms import ReviewDecisionForm

BEGINS, CONTINUES = "begins", "continues"
MAX_SET_ASIDE_REASON = 200  # characters
_BEGINS_LABEL = _("First page of a document")
_USES = [
    (BEGINS, _BEGINS_LABEL),
    (CONTINUES, _("Continues the document")),
    (PageUse.BLANK, USE_LABELS[PageUse.BLANK]),
    (PageUse.SEPARATOR, USE_LABELS[PageUse.SEPARATOR]),
    (PageUse.SET_ASIDE, _("Set aside, with a reason")),
]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page of the file, or one of several pages that were copied onto it."""

    page: FilePart
    use: str  # as proposed: BEGINS, CONTINUES or a PageUse
    document_type: str = ""  # of the document that begins here, as proposed
    note: str = ""  # why the document is proposed
    person: str = ""  # whose document it is, by its separator sheet

    @property
    def name(self) -> str:
        """Return the name of the page, for example "Page 3"."""
        return name_pages(self.page)


@dataclass(frozen=True, slots=True)
class SheetFields:
    """A sheet with its fields."""

    sheet: Sheet
    use: forms.BoundField
    document_type: forms.BoundField
    reason: forms.BoundField
    width: float  # of the page in points; 0 if it is not known
    height: float

    @property
    def view_box(self) -> str:
        """Return the part of the page that its image shows, as SVG writes it."""
        left, top, right, bottom = self.sheet.page.region or WHOLE_PAGE
        sides = (left * self.width, top * self.height)
        extent = ((right - left) * self.width, (bottom - top) * self.height)
        return " ".join(f"{length:.1f}" for length in (*sides, *extent))


def list_proposed_sheets(document: Document, extraction: Extraction | None) -> list[Sheet]:
    """Return the sheets of a file with what the proposed cut says about them.

    Without a proposal, the file is one document that begins on its first page.
    """
    cut: Mapping[str, Any] = (extraction.cut if extraction else None) or {}
    found: dict[int, list[Sheet]] = {}
    for part in cut.get("parts", ()):
        (first, last), region = part["pages"], part.get("region", "")
        for number in range(first, last + 1):
            is_first = number == first
            sheet = Sheet(
                FilePart.parse(number, number, region),
                BEGINS if is_first else CONTINUES,
                part["type"] if is_first and part["type"] in TYPES else "",
                part["evidence"] if is_first else "",
                part.get("person", "") if is_first else "",
            )
            found.setdefault(number, []).append(sheet)
    for each in cut.get("excluded", ()):
        number = each["pages"][0]
        page = FilePart.parse(number, number, each.get("region", ""))
        found.setdefault(number, []).append(Sheet(page, each["use"]))
    sheets: list[Sheet] = []
    for number in document.page_numbers:
        whole = Sheet(FilePart(number, number), CONTINUES if sheets else BEGINS)
        sheets += found.get(number, [whole])
    return sheets


class DivisionForm(ReviewDecisionForm):
    """The fields of a signed decision, and those of each sheet."""

    def __init__(
        self, document: Document, extraction: Extraction | None, *args: Any, **options: Any
    ) -> None:
        super().__init__(Action.DIVIDE, [document], *args, **options)
        self._sheets = list_proposed_sheets(document, extraction)
        pages = extraction.pages if extraction else ()
        self._sizes = {page["number"]: (page["width"], page["height"]) for page in pages}
        types = [(kind.slug, kind.name) for kind in TYPES.values()]
        for number, sheet in enumerate(self._sheets):
            self._add(
                f"use-{number}",
                forms.ChoiceField(choices=_USES, label=_("This page"), initial=sheet.use),
            )
            self._add(
                f"type-{number}",
                forms.ChoiceField(
                    choices=[("", _("Detect the type")), *types],
                    label=_("Type"),
                    initial=sheet.document_type,
                    required=False,
                ),
            )
            self._add(
                f"reason-{number}",
                forms.CharField(label=_("Reason"), required=False, max_length=MAX_SET_ASIDE_REASON),
            )
        if not self.is_bound:
            self.initial["reason"] = gettext("The file holds several documents.")

    def _add(self, name: str, field: forms.Field) -> None:
        field.widget.attrs["class"] = "sl-input"
        self.fields[name] = field

    @property
    def sheets(self) -> Iterator[SheetFields]:
        """Yield each sheet with its fields, in the order of the file."""
        for number, sheet in enumerate(self._sheets):
            width, height = self._sizes.get(sheet.page.first, (0.0, 0.0))
            yield SheetFields(
                sheet,
                use=self[f"use-{number}"],
                document_type=self[f"type-{number}"],
                reason=self[f"reason-{number}"],
                width=width,
                height=height,
            )

    @property
    def decision_fields(self) -> list[forms.BoundField]:
        """Return the visible fields without those of the sheets and of the signature."""
        return [self["reason"]]

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        for number, sheet in enumerate(self._sheets):
            is_aside = given.get(f"use-{number}") == PageUse.SET_ASIDE
            if is_aside and not given.get(f"reason-{number}", "").strip():
                sentence = gettext("{page}: enter a reason for setting it aside.")
                self.add_error(f"reason-{number}", sentence.format(page=sheet.name))
        if not self.errors:
            self._division = self._read_division(given)
        return given

    def _read_division(self, given: Mapping[str, Any]) -> Division | None:
        """Return the division, or None after an error was added.

        A page can continue only the document of the page before it.
        """
        parts: list[DocumentPart] = []
        excluded: list[PageExclusion] = []
        previous: FilePart | None = None  # the last page, if it is in the last document
        for number, sheet in enumerate(self._sheets):
            use, page = given[f"use-{number}"], sheet.page
            if use == BEGINS:
                kind = given[f"type-{number}"]
                person = sheet.person if kind == sheet.document_type else ""
                parts.append(DocumentPart(page, kind, person))
                previous = page
            elif use == CONTINUES:
                if previous is None or previous.region or page.region:
                    sentence = gettext(
                        "{page} cannot continue a document. Select “{label}” there."
                    ).format(page=sheet.name, label=_BEGINS_LABEL)
                    self.add_error(f"use-{number}", sentence)
                    return None
                begun = parts.pop()
                whole = FilePart(begun.pages.first, page.last)
                parts.append(replace(begun, pages=whole))
                previous = page
            else:
                reason = given[f"reason-{number}"].strip() if use == PageUse.SET_ASIDE else ""
                excluded.append(PageExclusion(page, PageUse(use), reason))
                previous = None
        return Division(tuple(parts), tuple(excluded))

    @property
    def decision_input(self) -> DecisionInput:
        """Return the decision of a form that is valid."""
        return DecisionInput(
            action=Action.DIVIDE,
            reason=self.cleaned_data["reason"],
            division=self._division,
        )
