"""Documents of no supported type, as they lie between the others in a binder.

Several have more than one page. Their later pages have no title, and some have neither number nor
running header, as in a letter.
"""

import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from samples.people_and_sites import SampleSite

Lines = Sequence[str]
PageText = tuple[Lines, str]  # the paragraphs of a page, and its footer

_LEFT, _TOP, _BOTTOM = 72.0, 720.0, 80.0  # points from the lower left corner of a letter page
_FONTS = ("Helvetica", "Times-Roman")
_FILLER = (
    "Please let us know if the delivery does not arrive within five working days.",
    "The study team keeps the original in the pharmacy binder until the visit is closed.",
    "All temperatures were within the permitted range during transport and storage.",
    "The coordinator will enter the remaining data before the next remote visit.",
    "Screening continues as planned, and two more participants are expected next month.",
    "The monitor reviewed the source of twelve visits and found three open questions.",
    "A copy of this document was placed in the shared folder of the study.",
    "The kits of the second shipment replace those whose expiry date is close.",
    "Questions about payments are answered by the finance desk on working days.",
    "The schedule of the next visits was agreed with the department on the telephone.",
)


def _filler(rng: random.Random, sentences: int) -> str:
    return " ".join(rng.choice(_FILLER) for _ in range(sentences))


def _cover_letter(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        (
            f"{site.study.sponsor}, {site.study.sponsor_address}",
            "12 October 2026",
            f"Dear {site.investigator.name},",
            f"Thank you for returning the binder of site {site.site_id}.",
            *(_filler(rng, 6) for _ in range(6)),
        ),
        "",
    )
    yield (
        (_filler(rng, 5), _filler(rng, 4), "Yours sincerely,", "", "Lena Hoff, Clinical Trials"),
        "",
    )


def _invoice(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        (
            "# INVOICE",
            f"Bill to: {site.study.sponsor}",
            f"Invoice number: {rng.randint(10_000, 99_999)}",
            "Start-up fee    USD 2,400.00",
            "Pharmacy fee    USD 600.00",
            "Total due within 30 days    USD 3,000.00",
        ),
        "",
    )


def _newsletter(_site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        ("# Study newsletter, autumn 2026", *(_filler(rng, 6) for _ in range(6))),
        "Newsletter 7, 1",
    )
    yield ((*(_filler(rng, 6) for _ in range(5)),), "Newsletter 7, 2")


def _synopsis(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    header = f"{site.study.protocol_number} synopsis, confidential"
    sections = ("1. Rationale", "2. Objectives", "3. Endpoints", "4. Population", "5. Statistics")
    for number in range(1, 4):
        body = [
            line
            for section in sections[2 * number - 2 : 2 * number]
            for line in (section, _filler(rng, 7), _filler(rng, 7))
        ]
        title = ["# Synopsis of the clinical trial"] if number == 1 else []
        yield (header, *title, *body), f"Page {number} of 3"


def _visit_schedule(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    rows = (
        f"{day:02} Oct 2026    room {rng.randint(1, 9)}    {rng.choice('ABCD')} desk"
        for day in range(1, 29)
    )
    yield (("# SCHEDULE OF ROOMS", f"Department: {site.department}", *rows), "")


def _minutes(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        (
            "# Minutes of the start-up meeting",
            f"Place: {site.hospital}",
            "Present: the study team and the monitor",
            *(_filler(rng, 7) for _ in range(6)),
        ),
        "1",
    )
    yield ((_filler(rng, 7), _filler(rng, 5), "Next meeting: 4 December 2026"), "2")


def _courier_receipt(_site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        (
            "# COURIER RECEIPT",
            f"Consignment: {rng.randint(100_000, 999_999)}",
            "Two boxes, collected at the front desk",
            _filler(rng, 3),
            "Driver: R. Alder",
        ),
        "",
    )


def _message(site: SampleSite, rng: random.Random) -> Iterator[PageText]:
    yield (
        (
            "From: Lena Hoff",
            f"To: {site.investigator.name}",
            "Date: 3 November 2026 09:14",
            "Subject: courier collection",
            _filler(rng, 4),
            "Kind regards, Lena",
        ),
        "",
    )


UNSUPPORTED: Mapping[str, Callable[[SampleSite, random.Random], Iterator[PageText]]] = (
    MappingProxyType({
        "cover-letter": _cover_letter,
        "invoice": _invoice,
        "newsletter": _newsletter,
        "synopsis": _synopsis,
        "room-schedule": _visit_schedule,
        "minutes": _minutes,
        "courier-receipt": _courier_receipt,
        "message": _message,
    })
)  # fmt: skip


def make_unsupported(name: str, site: SampleSite, seed: int = 0) -> bytes:
    """Return a document of no supported type as a PDF. Raises KeyError for an unknown name."""
    rng = random.Random(f"{seed} {site.site_id} {name}")
    font, size = rng.choice(_FONTS), rng.choice((10, 10.5, 11))
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792), invariant=1)
    for paragraphs, footer in UNSUPPORTED[name](site, rng):
        _draw(canvas, paragraphs, footer, font, size)
        canvas.showPage()
    canvas.save()
    return output.getvalue()


def make_attachment(site: SampleSite, seed: int = 0) -> bytes:
    """Return one page that belongs to the letter before it."""
    rng = random.Random(f"{seed} {site.site_id} attachment")
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792), invariant=1)
    lines = (
        "Attachment 1 to our letter",
        "List of the items that were reviewed:",
        *(f"{number}. {_filler(rng, 1)}" for number in range(1, 9)),
    )
    _draw(canvas, lines, "", "Times-Roman", 11)
    canvas.save()
    return output.getvalue()


def _draw(canvas: Canvas, paragraphs: Lines, footer: str, font: str, size: float) -> None:
    """Draw paragraphs from the top of the page. One that begins with # is a title."""
    y = _TOP
    for paragraph in paragraphs:
        is_title = paragraph.startswith("# ")
        name = "Helvetica-Bold" if is_title else font
        height = size * 1.5 if is_title else size
        for line in simpleSplit(paragraph.removeprefix("# "), name, height, 612 - 2 * _LEFT):
            if y < _BOTTOM:
                raise ValueError("the text is longer than the page")
            canvas.setFont(name, height)
            canvas.drawString(_LEFT, y, line)
            y -= 1.35 * height
        y -= 0.6 * size
    canvas.setFont(font, 9)
    canvas.drawCentredString(306, 40, footer)
