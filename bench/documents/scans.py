"""Makes pages as scanners, fax machines and telephones do, the same for the same seed."""

import io
import random
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import cv2
import numpy as np
import pikepdf
import pypdfium2
from numpy.typing import NDArray
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Spacer

from bench.documents.generated import make_documents
from ingestion.reading.images.render import choose_ocr_dpi, list_images, render_page
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.text_layer import find_words, read_text
from ingestion.reading.results import Word
from samples.scanned_marks import (
    PHRASES,
    Scanner,
    choose_rubber_stamp,
    press_stamp,
    print_pages,
    scan_pages,
)

Grey = NDArray[np.uint8]
WHITE = 255
EPOCH = time.gmtime(0)  # when a scan was made, so that equal scans have equal bytes
FAINT_CONTRAST = 0.28
STAMPED_DPI = 300
MIN_COLUMN_WORDS = 700  # of a page with columns, which is more than one page holds
WATERMARK = "SPECIMEN"  # across every sample, and too faint for OCR


@dataclass(frozen=True, slots=True)
class ScanKind:
    """Describes how a kind of scan is made."""

    dpi: int
    degrade: Callable[[Grey, random.Random], Grey]
    quality: int  # of its JPEG, 1 to 100; 0 for a bilevel image, compressed as a fax


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """One page as a PDF without a text layer, and the words on it."""

    content: bytes
    words: Sequence[str]
    stamp: Sequence[str] = ()  # words of a stamp on the page, which are not among `words`


def make_scans(kind: str, count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield the first pages of generated documents as scans of a kind."""
    rng = random.Random(f"{seed} {kind}")
    for document in make_documents(count, seed):
        yield ScannedPage(next(_pages(document.content, kind, rng)), _read_words(document.content))


def make_four_up_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of sheets onto which four pages were copied at half their size.

    The words are those of one page after the other.
    """
    yield from _make_sheets(count, seed, "four-up", rows=2)


def make_two_up_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of landscape sheets onto which two pages were copied side by side.

    The pages have 71 % of their size, as a copier makes them. The words are those of one page
    after the other.
    """
    yield from _make_sheets(count, seed, "two-up", rows=1)


def _make_sheets(count: int, seed: str, group: str, *, rows: int) -> Iterator[ScannedPage]:
    """Yield office scans of sheets with two pages in each row."""
    rng = random.Random(f"{seed} {group}")
    office, pages_per_sheet = KINDS["office"], 2 * rows
    contents = [document.content for document in make_documents(pages_per_sheet * count, seed)]
    for group_of_pages in zip(*[iter(contents)] * pages_per_sheet, strict=True):
        dpi = round(office.dpi / pages_per_sheet**0.5)
        pages = [_render(content, dpi) for content in group_of_pages]
        height, width = (max(page.shape[axis] for page in pages) for axis in (0, 1))
        sheet = np.full((rows * height, 2 * width), WHITE, np.uint8)
        for number, page in enumerate(pages):
            top, left = number // 2 * height, number % 2 * width
            sheet[top : top + page.shape[0], left : left + page.shape[1]] = page
        words = [word for content in group_of_pages for word in _read_words(content)]
        yield ScannedPage(_save(office.degrade(sheet, rng), office), words)


def make_column_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of pages with two or three columns. The words are column by column."""
    rng = random.Random(f"{seed} columns")
    office = KINDS["office"]
    for document in make_documents(count, seed):
        words, output = list(_read_words(document.content)), io.BytesIO()
        words *= MIN_COLUMN_WORDS // len(words) + 1
        columns = rng.choice((2, 3))
        paragraphs = [
            Paragraph(escape(" ".join(part)), ParagraphStyle("body", fontSize=9, leading=11))
            for part in (words[n : n + 60] for n in range(0, len(words), 60))
        ]
        width, gap = (A4[0] - 100) / columns, 6
        frames = [
            Frame(50 + n * width, 60, width, A4[1] - 120, gap, gap, gap, gap)
            for n in range(columns)
        ]
        template = BaseDocTemplate(output, pagesize=A4, invariant=True)
        template.addPageTemplates(PageTemplate(frames=frames))
        template.build([flow for each in paragraphs for flow in (each, Spacer(1, 8))])
        content = output.getvalue()
        with pypdfium2.PdfDocument(content) as opened:
            printed = read_text(opened[0].get_textpage()).split()
        grey = _render(content, office.dpi)
        yield ScannedPage(_save(office.degrade(grey, rng), office), printed)


def make_dotted_table_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of pages with a form and a table, in which dots connect and divide.

    Leaders connect the captions and the values of the form, and the rules of the table are dotted.
    Leaders are no words. The words are line by line, and those of the table are row by row.
    """
    yield from _make_table_scans(count, seed, "dotted table", is_dotted=True)


def make_bordered_table_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of pages with a table that has rules around all cells.

    The words are row by row.
    """
    yield from _make_table_scans(count, seed, "bordered table", is_dotted=False)


def _make_table_scans(
    count: int, seed: str, group: str, *, is_dotted: bool
) -> Iterator[ScannedPage]:
    rng = random.Random(f"{seed} {group}")
    office = KINDS["office"]
    for document in make_documents(count, seed):
        words, output = cycle(_read_words(document.content)), io.BytesIO()
        canvas, (width, height) = Canvas(output, A4, invariant=1), A4
        size, left, right = rng.choice((9, 10, 11)), 56.0, width - 56.0
        canvas.setFont(rng.choice(("Helvetica", "Times-Roman")), size)
        printed, y = [], height - 70.0
        for _ in range(rng.randint(8, 14) if is_dotted else 0):
            caption, value = list(islice(words, 3)), list(islice(words, 3))
            _draw_leader_line(canvas, caption, value, (left, right, y), rng)
            printed += [*caption, *value]
            y -= 2.0 * size
        if is_dotted:
            canvas.setDash(*rng.choice(((0.7, 1.6), (1.0, 2.0), (1.5, 1.5))))
        canvas.setLineWidth(rng.choice((0.7, 1.0)))
        pitch = rng.uniform(1.8, 2.4) * size
        printed += _draw_table(canvas, words, (left, right, y), pitch, rng.choice((3, 4)))
        canvas.showPage()
        canvas.save()
        grey = _render(output.getvalue(), office.dpi)
        yield ScannedPage(_save(office.degrade(grey, rng), office), printed)


def _draw_table(
    canvas: Canvas,
    words: Iterator[str],
    place: tuple[float, float, float],
    pitch: float,
    columns: int,
) -> Iterator[str]:
    """Draw a table of two words in each cell down to the foot of the page, and yield the words.

    `place` is the left and the right edge and the top, and `pitch` the height of a row, in points.
    """
    left, right, top = place
    edges = [left + n * (right - left) / columns for n in range(columns + 1)]
    y = top
    while y > 110:
        canvas.line(left, y, right, y)
        for edge in edges[:-1]:
            cell = list(islice(words, 2))
            while canvas.stringWidth(" ".join(cell)) > (right - left) / columns - 10:
                cell.pop()
            canvas.drawString(edge + 5, y - 0.68 * pitch, " ".join(cell))
            yield from cell
        y -= pitch
    canvas.line(left, y, right, y)
    for edge in edges:
        canvas.line(edge, top, edge, y)


def _draw_leader_line(
    canvas: Canvas,
    caption: Sequence[str],
    value: Sequence[str],
    place: tuple[float, float, float],
    rng: random.Random,
) -> None:
    """Draw a caption and a value with a leader between them or under the value.

    `place` is the left and the right edge and the baseline, in points.
    """
    left, right, y = place
    canvas.drawString(left, y, " ".join(caption))
    start = left + canvas.stringWidth(" ".join(caption)) + 4
    if rng.random() < 0.5:
        canvas.drawRightString(right, y, " ".join(value))
        end = right - canvas.stringWidth(" ".join(value)) - 4
    else:
        canvas.drawString(start + rng.uniform(5, 40), y + 1.5, " ".join(value))
        end = right
    dot = canvas.stringWidth(".")
    canvas.drawString(start, y, "." * max(int((end - start) / dot), 0))


def make_stamped_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield colour scans of pages with the coloured stamp of an office across their print."""
    for number, document in enumerate(make_documents(count, seed)):
        rng = random.Random(f"{seed} stamp {number}")
        page = print_pages(document.content, STAMPED_DPI)[0]
        stamp = choose_rubber_stamp(rng.choice(PHRASES), f"{seed} {number}", coloured=True)
        stamp = replace(stamp, place=(rng.uniform(0.3, 0.6), rng.uniform(0.55, 0.8)))
        page, _ = press_stamp(page, stamp, STAMPED_DPI)
        content = scan_pages(
            [page], Scanner.OFFICE_COLOUR, seed=f"{seed} {number}", dpi=STAMPED_DPI
        )
        stamped = [word for line in stamp.lines for word in line.split()]
        yield ScannedPage(content, _read_words(document.content), stamped)


def make_typewritten_scans(count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield office scans of letters of 150 to 250 words from a typewriter with a worn ribbon.

    Each letter is struck with another force and not quite on the line.
    """
    office = KINDS["office"]
    for number, document in enumerate(make_documents(count, seed)):
        rng = random.Random(f"{seed} typewritten {number}")
        words, output = list(_read_words(document.content)), io.BytesIO()
        words = (words * (250 // len(words) + 1))[: rng.randint(150, 250)]
        canvas, (left, y) = Canvas(output, A4, invariant=1), (80.0, A4[1] - 90)
        font, pitch = rng.choice(("Courier", "Courier-Bold")), 7.2
        ribbon = rng.uniform(0.35, 0.6)  # the grey of a letter that is struck weakly
        for line in textwrap.wrap(" ".join(words), 58, break_on_hyphens=False):
            for place, letter in enumerate(line):
                canvas.setFillGray(rng.uniform(0.1, ribbon))
                canvas.setFont(font, 12)
                x = left + place * pitch + rng.gauss(0, 0.25)
                canvas.drawString(x, y + rng.gauss(0, 0.4), letter)
            y -= 24 if len(words) < 200 else 17
        canvas.showPage()
        canvas.save()
        grey = _render(output.getvalue(), office.dpi)
        yield ScannedPage(_save(office.degrade(grey, rng), office), words)


def _read_words(content: bytes) -> Sequence[str]:
    """Return the printed words of the first page of a sample, line by line from its top.

    Its watermark is left out.
    """
    with pypdfium2.PdfDocument(content) as opened:
        found = find_words(opened[0], opened[0].get_textpage()).all
    watermark = max(
        (word for word in found if word.text == WATERMARK),
        key=lambda word: word.box.bottom - word.box.top,
    )
    lines: list[list[Word]] = []
    for word in sorted(found, key=lambda word: (word.box.top + word.box.bottom) / 2):
        middle = (word.box.top + word.box.bottom) / 2
        if word is watermark:
            continue
        if not lines or middle > lines[-1][0].box.bottom:
            lines.append([])
        lines[-1].append(word)
    return [word.text for line in lines for word in sorted(line, key=lambda each: each.box.left)]


def scan_document(content: bytes, kind: str, seed: str) -> bytes:
    """Return a whole document as a scan of a kind."""
    return join(_pages(content, kind, random.Random(f"{seed} {kind}")))


def join(documents: Iterable[bytes]) -> bytes:
    """Return the pages of all documents as one PDF."""
    output = io.BytesIO()
    with pikepdf.new() as merged:
        for document in documents:
            with pikepdf.open(io.BytesIO(document)) as part:
                merged.pages.extend(part.pages)
        merged.save(output, deterministic_id=True)
    return output.getvalue()


def repeat_pages(document: bytes, times: int) -> bytes:
    """Return a PDF with all pages `times` times, whose images are in the file once."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as merged:
        pages = list(merged.pages)
        for _ in range(times - 1):
            merged.pages.extend(pages)
        merged.save(output, deterministic_id=True)
    return output.getvalue()


def render_pages(document: Path) -> dict[str, bytes]:
    """Return the grey images that our reading passes to its engine.

    Their names consist of page number and resolution.
    """
    limits, rasters = ReadingLimits(), {}
    with pypdfium2.PdfDocument(document) as opened:
        for number, page in enumerate(opened):
            dpi = choose_ocr_dpi(page, list_images(page, limits), limits)
            image = render_page(page, dpi, limits)
            output = io.BytesIO()
            Image.fromarray(image.grey).save(output, "PPM")
            rasters[f"{number:04}-{image.dpi:.0f}.pgm"] = output.getvalue()
    return rasters


def _pages(content: bytes, name: str, rng: random.Random) -> Iterator[bytes]:
    kind = KINDS[name]
    with pypdfium2.PdfDocument(content) as opened:
        for number in range(len(opened)):
            yield _save(kind.degrade(_render(content, kind.dpi, number), rng), kind)


def _render(content: bytes, dpi: int, number: int = 0) -> Grey:
    """Return a page of a PDF, of which `number` counts from 0, in grey."""
    with pypdfium2.PdfDocument(content) as opened:
        pixels = opened[number].render(scale=dpi / 72, grayscale=True).to_numpy()
        return np.asarray(pixels.squeeze().copy(), np.uint8)


def _save(grey: Grey, kind: ScanKind) -> bytes:
    """Return an image as a PDF with the compression of a kind of scan."""
    image, output = Image.fromarray(grey), io.BytesIO()
    common: dict[str, Any] = {"resolution": kind.dpi, "creationDate": EPOCH, "modDate": EPOCH}
    if kind.quality:
        image.save(output, "PDF", quality=kind.quality, **common)
    else:
        image.convert("1").save(output, "PDF", **common)
    return output.getvalue()


def _clean(grey: Grey, rng: random.Random) -> Grey:
    return _add_grain(_skew(grey, rng.uniform(-0.3, 0.3)), 2.0, rng)


def _office(grey: Grey, rng: random.Random) -> Grey:
    """Return a skewed scan, slightly out of focus, on paper that is not quite white."""
    soft = _blur(_skew(grey, rng.uniform(-1.5, 1.5)), rng.uniform(0.4, 0.8))
    return _add_grain(_light(soft, 0.95), 5.0, rng)


def _noisy(grey: Grey, rng: random.Random) -> Grey:
    """Return a scan of an old, fast machine: skewed, blurred and with much noise."""
    soft = _blur(_skew(grey, rng.uniform(1.0, 3.0) * rng.choice((-1, 1))), 0.7)
    return _add_grain(_light(soft, 0.92), 12.0, rng)


def _fax(grey: Grey, rng: random.Random) -> Grey:
    """Return a black and white scan with jagged edges and specks."""
    grain = _add_grain(_skew(grey, rng.uniform(-1.0, 1.0)), 25.0, rng)
    black: Grey = np.where(grain < rng.randint(140, 170), 0, WHITE).astype(np.uint8)
    specks = _generator(rng).random(black.shape, np.float32)
    black[specks < 0.0004] = 0
    return black


def _photo(grey: Grey, rng: random.Random) -> Grey:
    """Return a telephone photograph: in perspective, darker towards one corner, with a shadow."""
    height, width = grey.shape
    max_shift = 0.02 * width
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    inside = [(rng.uniform(0, max_shift), rng.uniform(0, max_shift)) for _ in corners]
    moved = corners + np.array(inside, np.float32) * [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    transform = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    table = cv2.warpPerspective(grey, transform, (width, height), borderValue=WHITE)
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    across = x if rng.random() < 0.5 else 1 - x
    fall = rng.uniform(0.4, 0.6)  # of the light, from the bright corner to the dark one
    light = 1 - fall * (across + y) / 2
    edge = rng.uniform(0.5, 0.8)
    shadow = 1 - rng.uniform(0.25, 0.4) / (1 + np.exp((edge - y + 0.3 * (across - 0.5)) * 60))
    return _add_grain(_light(_blur(table, 0.8), 0.97 * light * shadow), 4.0, rng)


def _hard_photo(grey: Grey, rng: random.Random) -> Grey:
    """Return a photograph of a curled page on a dark table, out of focus and in a deep shadow.

    It is in a stronger perspective than that of `_photo`.
    """
    width = grey.shape[1]
    margin = round(0.08 * width)
    paper = cv2.copyMakeBorder(grey, *(margin,) * 4, cv2.BORDER_CONSTANT, value=WHITE)
    on_table = np.zeros_like(paper)
    on_table[margin:-margin, margin:-margin] = 1
    image, is_paper = curl_pages((paper, on_table), rng)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float32) * image.shape[::-1]
    shift = 0.05 * width
    moves = [(rng.uniform(-shift, shift), rng.uniform(-shift, shift)) for _ in corners]
    transform = cv2.getPerspectiveTransform(
        corners.astype(np.float32), (corners + np.array(moves)).astype(np.float32)
    )
    size = image.shape[::-1]
    image = cv2.warpPerspective(image, transform, size, borderValue=WHITE)
    is_paper = cv2.warpPerspective(is_paper, transform, size, borderValue=0)
    image = np.where(is_paper > 0, image, rng.randint(50, 90)).astype(np.uint8)
    x, y = np.meshgrid(np.linspace(0, 1, size[0]), np.linspace(0, 1, size[1]))
    across = x if rng.random() < 0.5 else 1 - x
    light = 1 - rng.uniform(0.4, 0.6) * (across + y) / 2
    edge, depth = rng.uniform(0.3, 0.7), rng.uniform(0.35, 0.5)
    shadow = 1 - depth / (1 + np.exp((edge - y + 0.5 * (across - 0.5)) * 40))
    soft = _blur(image, rng.uniform(1.0, 1.3))
    return _add_grain(_light(soft, 0.97 * light * shadow), 5.0, rng)


def curl_pages(images: Sequence[Grey], rng: random.Random) -> list[Grey]:
    """Return images of one size bent around a vertical axis, more at the top than at the bottom."""
    height, width = images[0].shape
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    bend = rng.uniform(0.008, 0.018) * height * rng.choice((-1, 1))
    wave = np.sin(np.pi * (x / width + rng.uniform(-0.15, 0.15))).astype(np.float32)
    at_bottom = rng.uniform(0.4, 1.0)  # of the bend at the top
    down = y + bend * wave * (1 - (1 - at_bottom) * y / height)
    return [
        _to_grey(cv2.remap(each, x, down.astype(np.float32), cv2.INTER_LINEAR, borderValue=border))
        for each, border in zip(images, (WHITE, 0), strict=True)
    ]


def _faint(grey: Grey, rng: random.Random) -> Grey:
    """Return a clean scan of a page whose ink has 28 % of contrast to its paper."""
    pale = WHITE - FAINT_CONTRAST * (WHITE - grey.astype(np.float32))
    return _add_grain(_skew(_to_grey(pale), rng.uniform(-0.3, 0.3)), 2.0, rng)


def _half_faint(grey: Grey, rng: random.Random) -> Grey:
    """Return a clean scan of a page whose letterhead is dark and whose other print is faint."""
    edge = round(rng.uniform(0.12, 0.3) * grey.shape[0])
    pale = WHITE - FAINT_CONTRAST * (WHITE - grey.astype(np.float32))
    pale[:edge] = grey[:edge]
    return _add_grain(_skew(_to_grey(pale), rng.uniform(-0.3, 0.3)), 2.0, rng)


def _inverted(grey: Grey, rng: random.Random) -> Grey:
    """Return a clean scan with white print on black paper."""
    return _to_grey(WHITE - _clean(grey, rng).astype(np.float32))


def _skew(grey: Grey, degrees: float) -> Grey:
    height, width = grey.shape
    transform = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    return _to_grey(cv2.warpAffine(grey, transform, (width, height), borderValue=WHITE))


def _blur(grey: Grey, sigma: float) -> Grey:
    return _to_grey(cv2.GaussianBlur(grey, (0, 0), sigma))


def _light(grey: Grey, light: float | NDArray[np.float64]) -> Grey:
    """Return the page under this light, 0 to 1. Ink reflects a little light too."""
    return _to_grey((25 + grey * (230 / WHITE)) * light)


def _add_grain(grey: Grey, sigma: float, rng: random.Random) -> Grey:
    return _to_grey(grey + sigma * _generator(rng).standard_normal(grey.shape, np.float32))


def _to_grey(pixels: NDArray[np.floating]) -> Grey:
    grey: Grey = np.clip(pixels, 0, WHITE).astype(np.uint8)
    return grey


def _generator(rng: random.Random) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(rng.getrandbits(64)))


KINDS: Mapping[str, ScanKind] = {
    "clean": ScanKind(300, _clean, quality=90),
    "office": ScanKind(300, _office, quality=55),
    "noisy": ScanKind(200, _noisy, quality=50),
    "fax": ScanKind(200, _fax, quality=0),
    "photo": ScanKind(200, _photo, quality=70),
    "hard photo": ScanKind(200, _hard_photo, quality=60),
    "faint": ScanKind(300, _faint, quality=90),
    "half faint": ScanKind(300, _half_faint, quality=90),
    "inverted": ScanKind(300, _inverted, quality=90),
}
