"""`/documents/<id>/pages/<page>/`: a page as a picture, and where on it a finding stands."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control

from ingestion.documents import downloads, page_previews
from ingestion.models import Document, Extraction, Finding
from ingestion.reading.preview_images import PREVIEW_WIDTH
from sites.models import User
from web.documents.lookup import get_visible_document
from web.documents.outcomes import DocumentOutcome
from web.shell.access import READ, SignedIn, page

CACHE_SECONDS = 300  # by the person's own browser
_SIGNED = ("SIGNATURE_", "SIGNER_")  # how codes begin that are about the signature
_AROUND = 4.0  # points between what is marked and the line around it


@dataclass(frozen=True, slots=True)
class MarkedArea:
    """What a finding is about, in points from the page's top left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PageImage:
    """For `documents/_page_image.html`. Width and height in points; 0 where they are not known."""

    document: Document
    number: int
    width: float
    height: float
    spots: tuple[MarkedArea, ...]
    zoom: int = 1

    @property
    def pixels_wide(self) -> int:
        return PREVIEW_WIDTH * self.zoom

    @property
    def pixels_high(self) -> int:
        """So that nothing moves on the page when the picture arrives."""
        return round(self.pixels_wide * self.height / self.width)

    @property
    def alt(self) -> str:
        sentence = _("Page {page} of {type}")
        if self.spots:
            sentence = _("Page {page} of {type}, with the finding marked")
        return sentence.format(page=self.number, type=self.document.type_name)


@page(READ, may_be_stored=True)
@cache_control(private=True, max_age=CACHE_SECONDS)
def page_image(request: SignedIn, pk: int, page: int) -> HttpResponse:
    """404 where there is nothing to see for this person, also where it cannot be drawn."""
    document = get_visible_document(request.user, pk)
    if not downloads.can_view_file(request.user, document):
        raise Http404
    zoom = page_previews.ZOOMS[request.GET.get("zoom") == "2"]
    try:
        picture = page_previews.get_preview(document, page, zoom)
    except FileNotFoundError as error:
        raise Http404 from error
    if picture is None:
        raise Http404
    downloads.record_view(document, by=request.user.actor)
    return HttpResponse(picture, content_type=page_previews.MEDIA_TYPE)


def build_page_image(
    person: User,
    document: Document,
    finding: Finding | None = None,
    page: int = 0,
    read: Extraction | None = None,
) -> PageImage | None:
    """Page `page`, or that of the finding, with its place marked. None: they may not see it."""
    number = page or (finding.page if finding else 0) or 1
    return build_marked_page_image(
        person, document, [finding] if finding else [], number, read=read
    )


def build_marked_page_image(
    person: User,
    document: Document,
    findings: Iterable[Finding],
    page: int,
    zoom: int = 1,
    read: Extraction | None = None,
) -> PageImage | None:
    """A page with the places of all these findings that stand on it.

    `read`: its last extraction, for who has it at hand.
    """
    if not downloads.can_view_file(person, document):
        return None
    last = read or document.extractions.last()
    size = _page(last, page)
    here = [finding for finding in findings if finding.page == page]
    spots = tuple(spot for finding in here for spot in _spots(last, finding)) if last else ()
    wide, high = size.get("width", 0), size.get("height", 0)
    return PageImage(document, page, wide, high, spots if wide else (), zoom)


def with_page_image(
    came: DocumentOutcome, person: User, read: Extraction | None
) -> DocumentOutcome:
    """With a picture of the page that its main finding is about, where there is one to see.

    What could not be read at all (`read` is None) cannot be drawn either.
    """
    if not came.remarks or not came.needs_site or read is None:
        return came
    main, *others = came.remarks
    picture = build_page_image(person, came.document, main.findings[0], read=read)
    return replace(came, remarks=(replace(main, picture=picture), *others))


def _page(last: Extraction | None, number: int) -> dict[str, Any]:
    pages = last.pages if last else []
    return next((each for each in pages if each["number"] == number), {})


def _spots(last: Extraction, finding: Finding) -> Iterator[MarkedArea]:
    """Where the rule looked: for a signature, or at the entry whose value it quotes."""
    signature = last.signature
    if finding.code.startswith(_SIGNED) and signature and signature["page"] == finding.page:
        yield from _around(signature["area"])
    quoted = {str(fact) for fact in finding.facts.values()}
    for field in last.fields:
        if field["page"] == finding.page and field["value"] in quoted:
            yield from _around(field["box"])


def _around(box: list[float] | None) -> Iterator[MarkedArea]:
    if box:
        left, top, right, bottom = box
        wide, high = right - left + 2 * _AROUND, bottom - top + 2 * _AROUND
        yield MarkedArea(left - _AROUND, top - _AROUND, wide, high)
