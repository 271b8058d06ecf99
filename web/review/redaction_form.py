"""Defines the form in which a reviewer marks what is redacted on the pages of a document.

Each page has one text field with a line for each place, so that the form works without JavaScript.
`redact.js` shows the places on the picture of the page, and writes these lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.documents.redactions import (
    MAX_AREAS_PER_PAGE,
    UNKNOWN_SIZE,
    RedactedPage,
    Redaction,
    get_page_sizes,
    propose,
)
from ingestion.models import Action, Document
from ingestion.reading.results import Box
from ingestion.review.decisions import DecisionInput
from web.review.forms import ReviewDecisionForm

MAX_LINES_LENGTH = 40 * MAX_AREAS_PER_PAGE  # characters
_HELP = _(
    "One place in each line: the distances of its left, top, right and bottom edge from the top "
    "left corner of the page. The page is {width} wide and {height} high."
)


@dataclass(frozen=True, slots=True)
class PageFields:
    """A page with its size, in points, and the field with its places."""

    number: int
    width: float
    height: float
    places: forms.BoundField


class RedactionForm(ReviewDecisionForm):
    """The fields of a signed decision, and those of each page."""

    def __init__(self, document: Document, *args: Any, **options: Any) -> None:
        super().__init__(Action.REDACT, [document], *args, **options)
        self._sizes = get_page_sizes(document)
        self.proposed = propose(document)
        for number, (width, height) in self._sizes.items():
            page = self.proposed.pages.get(number)
            self.fields[f"places-{number}"] = forms.CharField(
                label=_("Places to redact on page {n}").format(n=number),
                help_text=_HELP.format(width=f"{width:.0f}", height=f"{height:.0f}"),
                required=False,
                max_length=MAX_LINES_LENGTH,
                initial="\n".join(map(_write_line, page.boxes)) if page else "",
                widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "data-places": ""}),
            )

    @property
    def sheets(self) -> Iterator[PageFields]:
        """Yield the pages with their fields."""
        for number, (width, height) in self._sizes.items():
            yield PageFields(number, width, height, self[f"places-{number}"])

    @property
    def decision_fields(self) -> list[forms.BoundField]:
        """Return the fields of the decision, without those of the pages."""
        return [field for field in super().decision_fields if not field.name.startswith("places-")]

    @property
    def has_unknown_sizes(self) -> bool:
        """Return whether places on some pages are in percent, as these were not read."""
        return UNKNOWN_SIZE in self._sizes.values()

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        pages = {}
        for number, size in self._sizes.items():
            lines = given.get(f"places-{number}", "").splitlines()
            boxes = [self._read_line(number, line, size) for line in lines if line.strip()]
            found = tuple(box for box in boxes if box)
            if len(found) > MAX_AREAS_PER_PAGE:
                sentence = gettext("Enter at most {n} places on one page.")
                self.add_error(f"places-{number}", sentence.format(n=MAX_AREAS_PER_PAGE))
            if found:
                pages[number] = RedactedPage(*size, found)
        self._redaction = Redaction(pages)
        if not pages and not self.errors:
            self.add_error(None, gettext("Mark at least one place to redact."))
        return given

    def _read_line(self, number: int, line: str, size: tuple[float, float]) -> Box | None:
        """Return the place that a line states, cut off at the edges of the page."""
        width, height = size
        try:
            left, top, right, bottom = map(float, line.replace(",", " ").split())
            is_valid = 0 <= left < right and 0 <= top < bottom and left < width and top < height
        except ValueError:
            is_valid = False
        if not is_valid:
            sentence = gettext(
                "“{line}” is no place on this page. Enter four numbers: left, top, right, bottom."
            )
            self.add_error(f"places-{number}", sentence.format(line=line.strip()[:60]))
            return None
        return Box(left, top, min(right, width), min(bottom, height))

    @property
    def decision_input(self) -> DecisionInput:
        """Return the decision of a form that is valid."""
        return DecisionInput(
            action=Action.REDACT, reason=self.cleaned_data["reason"], redaction=self._redaction
        )


def _write_line(box: Box) -> str:
    return " ".join(f"{side:.1f}" for side in box)
