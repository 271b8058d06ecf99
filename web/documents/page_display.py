"""Describes the image of one page with its marked areas, for `documents/_page_image.html`."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from ingestion.models import Document
from ingestion.reading.preview_request import PREVIEW_WIDTH


@dataclass(frozen=True, slots=True)
class MarkedArea:
    """The area that a finding is about, in points from the top left corner of the page."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PageImage:
    """One page. Width and height are in points, and 0 if they are unknown."""

    document: Document
    number: int
    width: float
    height: float
    marked_areas: tuple[MarkedArea, ...]
    zoom: int = 1
    is_of_finding: bool = True  # whether the marked areas are those of a finding
    is_locked: bool = False  # whether only QA may have the original

    @property
    def pixel_width(self) -> int:
        """Return the width of the image in pixels."""
        return PREVIEW_WIDTH * self.zoom

    @property
    def pixel_height(self) -> int:
        """Return the height that browsers reserve, so that nothing moves when the image arrives."""
        return round(self.pixel_width * self.height / self.width)

    @property
    def alt(self) -> str:
        """Return the alternative text of the image."""
        sentence = _("Page {page} of {type}")
        if self.marked_areas and self.is_of_finding:
            sentence = _("Page {page} of {type}, with the finding marked")
        elif self.marked_areas:
            sentence = _("Page {page} of {type}, with the words marked")
        return sentence.format(page=self.number, type=self.document.type_name)
