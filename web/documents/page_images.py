"""Serves the image of a page with its findings' areas, at `/documents/<id>/pages/<page>/`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.views.decorators.cache import cache_control

from ingestion.documents import downloads, page_previews
from ingestion.models import Document, Extraction, Finding
from ingestion.reading.provenance import restore_page_map
from ingestion.reading.results import Box
from ingestion.rules.findings import parse_area
from sites.models import User
from web.documents.lookup import get_visible_document
from web.documents.outcomes import DocumentOutcome
from web.documents.page_display import MarkedArea, PageImage
from web.shell.access import READ, SignedIn, restrict_page

CACHE_SECONDS = 300  # in the browser of the person
PAGES_AHEAD = 7  # for a list of all pages: to start a process takes longer than to render a page
_SIGNATURE_CODES = ("SIGNATURE_", "SIGNER_")  # the beginnings of codes about the signature
_MARGIN = 4.0  # points between a marked area and the line around it


@restrict_page(READ, may_be_stored=True)
@cache_control(private=True, max_age=CACHE_SECONDS)
def page_image(request: SignedIn, pk: int, page: int) -> HttpResponse:
    """Return a page as an image. With `?ahead`, the next pages are rendered with it.

    Raises Http404 if the person cannot view the file, or if the page cannot be rendered.
    """
    document = get_visible_document(request.user, pk)
    if not downloads.can_view_file(request.user, document):
        raise Http404
    if document.has_pages_of_a_file and page not in document.page_numbers:
        raise Http404
    zoom = page_previews.ZOOMS[request.GET.get("zoom") == "2"]
    ahead = PAGES_AHEAD if "ahead" in request.GET else 0
    try:
        rendition = downloads.find_shown_rendition(document, request.user)
        image = page_previews.get_preview(document, page, zoom, ahead=ahead, rendition=rendition)
    except FileNotFoundError as error:
        raise Http404 from error
    if image is None:
        raise Http404
    downloads.record_view(document, by=request.user.actor)
    return HttpResponse(image, content_type=page_previews.MEDIA_TYPE)


def build_page_image(
    person: User,
    document: Document,
    findings: Iterable[Finding],
    page: int,
    zoom: int = 1,
    extraction: Extraction | None = None,
) -> PageImage | None:
    """Return a page with the areas of those findings that are on it.

    Returns None if the person cannot view the file. `extraction` is the last one of the document,
    for callers that have it already.
    """
    if not downloads.can_view_file(person, document):
        return None
    extraction = extraction or document.extractions.last()
    boxes: list[Box] = []
    if extraction:
        on_page = (finding for finding in findings if finding.page == page)
        boxes = [box for finding in on_page for box in _find_boxes(extraction, finding)]
    is_locked = downloads.is_original_locked(document)
    image = PageImage(document, page, 0, 0, (), zoom, is_locked=is_locked)
    return _add_areas(image, extraction, boxes)


def mark_words(image: PageImage, boxes: Iterable[Sequence[float]]) -> PageImage:
    """Return the image of a page with these places of words marked, in points."""
    extraction = image.document.extractions.last()
    marked = _add_areas(image, extraction, [Box(*sides) for sides in boxes])
    return replace(marked, is_of_finding=False)


def add_page_image(
    outcome: DocumentOutcome, person: User, extraction: Extraction | None
) -> DocumentOutcome:
    """Return the outcome with an image of the page that its main finding is about.

    A document that was not read (`extraction` is None) cannot be rendered either.
    """
    if not outcome.findings or not outcome.needs_site or extraction is None:
        return outcome
    main, *others = outcome.findings
    finding = main.findings[0]
    page_image = build_page_image(
        person, outcome.document, [finding], finding.page or 1, extraction=extraction
    )
    return replace(outcome, findings=(replace(main, page_image=page_image), *others))


def _add_areas(image: PageImage, extraction: Extraction | None, boxes: Sequence[Box]) -> PageImage:
    """Return the image with its size and the marked places, which are those of what was read."""
    pages = extraction.pages if extraction else ()
    read: Mapping[str, Any] = next((each for each in pages if each["number"] == image.number), {})
    size = read.get("original", read)
    if not size.get("width"):
        return image
    page_map = restore_page_map(read)
    places = [
        page_map.locate(box, read["width"], read["height"]) if page_map else box for box in boxes
    ]
    areas = tuple(
        MarkedArea(
            left=place.left - _MARGIN,
            top=place.top - _MARGIN,
            width=place.right - place.left + 2 * _MARGIN,
            height=place.bottom - place.top + 2 * _MARGIN,
        )
        for place in places
    )
    return replace(image, width=size["width"], height=size["height"], marked_areas=areas)


def _find_boxes(extraction: Extraction, finding: Finding) -> Iterator[Box]:
    """Yield the area that the finding states, of the signature, or of fields that it quotes."""
    signature = extraction.signature
    is_about_signature = finding.code.startswith(_SIGNATURE_CODES)
    boxes: list[Sequence[float] | None] = [*parse_area(finding.facts.get("area", ""))]
    if is_about_signature and signature and signature["page"] == finding.page:
        boxes.append(signature["area"])
    quoted = {str(fact) for fact in finding.facts.values()}
    boxes += [
        field["box"]
        for field in extraction.fields
        if field["page"] == finding.page and field["value"] in quoted
    ]
    for sides in filter(None, boxes):
        yield Box(*sides)
