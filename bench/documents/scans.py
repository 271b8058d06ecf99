"""Makes pages as scanners, fax machines and telephones do, the same for the same seed."""

import io
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pikepdf
import pypdfium2
from numpy.typing import NDArray
from PIL import Image

from bench.documents.generated import make_documents
from ingestion.reading.images.render import choose_ocr_dpi, list_images, render_page
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.text_layer import read_text

Grey = NDArray[np.uint8]
WHITE = 255
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


def make_scans(kind: str, count: int, seed: str) -> Iterator[ScannedPage]:
    """Yield the first pages of generated documents as scans of a kind."""
    rng = random.Random(f"{seed} {kind}")
    for document in make_documents(count, seed):
        with pypdfium2.PdfDocument(document.content) as opened:
            words = read_text(opened[0].get_textpage()).split()
        words.remove(WATERMARK)
        yield ScannedPage(next(_pages(document.content, kind, rng)), words)


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
        for page in opened:
            grey = page.render(scale=kind.dpi / 72, grayscale=True).to_numpy().squeeze()
            image = Image.fromarray(kind.degrade(grey.copy(), rng))
            output = io.BytesIO()
            if kind.quality:
                image.save(output, "PDF", resolution=kind.dpi, quality=kind.quality)
            else:
                image.convert("1").save(output, "PDF", resolution=kind.dpi)
            yield output.getvalue()


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
}
