"""Prints separator sheets: one page for each expected document, with a QR code that names it.

`ingestion.rules.segmentation.separators` defines the text of the code, and divides a scanned file
at the sheets.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import segno
from django.conf import settings
from django.utils.translation import gettext as _
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import LETTER
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Image, PageBreak, SimpleDocTemplate, Spacer

from audit.files.pdf_layout import BOLD, TEXT, make_cell
from ingestion.documents.site_readiness import SiteReadiness
from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.separators import MARKER, Separator
from sites.models import Site

CODE_SIDE = 270.0  # points, about 9.5 cm, so that it is read from a scan with 100 dpi
PIXELS_PER_MODULE = 8
MARGIN = 50.0  # points
MAX_PRINTED_NAME = 80  # characters of a person or a site, so that each sheet is one page

_MARKER = ParagraphStyle("marker", BOLD, fontSize=13, leading=18)
_CENTRED = ParagraphStyle("centred", TEXT, fontSize=12, leading=16, alignment=TA_CENTER)
_TYPE = ParagraphStyle("type", BOLD, fontSize=26, leading=32, alignment=TA_CENTER, spaceAfter=4)
_PERSON = ParagraphStyle("person", BOLD, fontSize=18, leading=24, alignment=TA_CENTER)
_CODE = ParagraphStyle("code", _CENTRED, fontSize=7, leading=9)
_STEP = ParagraphStyle("step", TEXT, fontSize=13, leading=18, spaceAfter=5)


@dataclass(frozen=True, slots=True)
class SeparatorSheet:
    """One sheet to print. `whose` is the person or laboratory of the document, or ""."""

    document_type: str  # slug
    whose: str = ""


def list_separator_sheets(
    readiness: SiteReadiness, *, only_open: bool = False
) -> list[SeparatorSheet]:
    """Return a sheet for each required document of a site, in the order of its list.

    With `only_open`, only for those that are missing, expired, or were sent back.
    """
    return [
        SeparatorSheet(each.document_type, each.whose)
        for each in readiness.required
        if each.document_type in TYPES and not (only_open and each.status.is_met)
    ]


def render_sheets(site: Site, sheets: Sequence[SeparatorSheet]) -> bytes:
    """Return the sheets of a site as PDF, one on each page. Select the site with its study.

    Raises ValueError if there is no sheet.
    """
    if not sheets:
        raise ValueError("there is no sheet to print")
    target = io.BytesIO()
    # The sheets have no page numbers, which would look like those of the documents around them.
    document = SimpleDocTemplate(
        target,
        pagesize=LETTER,
        title=_("Separator sheets, site {site}").format(site=site.site_id),
        author=f"SiteLedger {settings.SOFTWARE_VERSION}",
        invariant=1,
        **dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), MARGIN),
    )
    document.build(list(_lay_out(site, sheets)))
    return target.getvalue()


def _lay_out(site: Site, sheets: Sequence[SeparatorSheet]) -> Iterator[Any]:
    for number, sheet in enumerate(sheets):
        if number:
            yield PageBreak()
        yield from _lay_out_sheet(site, sheet)


def _lay_out_sheet(site: Site, sheet: SeparatorSheet) -> Iterator[Any]:
    kind = TYPES[sheet.document_type]
    # A person is declared only for types that belong to one. Other names help the person who scans.
    separator = Separator(site.site_id, kind.slug, sheet.whose if kind.per_person else "")
    picture = io.BytesIO()
    code = segno.make_qr(separator.payload, error="h")
    code.save(picture, kind="png", scale=PIXELS_PER_MODULE)
    picture.seek(0)
    yield make_cell(MARKER, _MARKER)
    yield Spacer(1, 28)
    yield make_cell(_("The next document is"), _CENTRED)
    yield Spacer(1, 6)
    yield make_cell(kind.name, _TYPE)
    if sheet.whose:
        yield make_cell(shorten(sheet.whose, MAX_PRINTED_NAME), _PERSON)
    yield Spacer(1, 4)
    name = shorten(f"{site.site_id}, {site.name}", MAX_PRINTED_NAME)
    yield make_cell(_("Site {site}").format(site=name), _CENTRED)
    yield make_cell(_("Study {study}").format(study=site.study.protocol_number), _CENTRED)
    yield Spacer(1, 6)
    yield Image(picture, CODE_SIDE, CODE_SIDE)
    yield make_cell(separator.payload, _CODE)
    yield Spacer(1, 22)
    for step in (
        _("1. Put this sheet in front of the signed and complete document that it names."),
        _("2. Put all documents and their sheets in one pile. Scan them together into one PDF."),
        _("3. Upload the PDF. SiteLedger files each document separately."),
        _("Use each sheet once. Leave out the sheets of documents that you do not have yet."),
    ):
        yield make_cell(step, _STEP)
