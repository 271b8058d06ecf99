"""Pages as they come from scanners, fax machines and telephones. The same for the same seed."""

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

from bench.papers import papers
from ingestion.reading.images.render import list_images, ocr_dpi, render_page
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.text_layer import read_text

Grey = NDArray[np.uint8]
WHITE = 255
WATERMARK = "SPECIMEN"  # across every sample, too faint for any reader but that of the text layer


@dataclass(frozen=True, slots=True)
class Kind:
    dpi: int
    spoil: Callable[[Grey, random.Random], Grey]
    quality: int  # of its JPEG; 0 for a picture of two colours, packed as a fax


@dataclass(frozen=True, slots=True)
class Scan:
    """One page as a PDF without a text layer, and the words that were on it."""

    content: bytes
    words: Sequence[str]


def scans(kind: str, count: int, seed: str) -> Iterator[Scan]:
    rng = random.Random(f"{seed} {kind}")
    for paper in papers(count, seed):
        with pypdfium2.PdfDocument(paper.content) as opened:
            words = read_text(opened[0].get_textpage()).split()
        words.remove(WATERMARK)
        yield Scan(next(_pages(paper.content, kind, rng)), words)


def scanned(content: bytes, kind: str, seed: str) -> bytes:
    """The whole document."""
    return joined(_pages(content, kind, random.Random(f"{seed} {kind}")))


def joined(documents: Iterable[bytes]) -> bytes:
    output = io.BytesIO()
    with pikepdf.new() as whole:
        for document in documents:
            with pikepdf.open(io.BytesIO(document)) as part:
                whole.pages.extend(part.pages)
        whole.save(output, deterministic_id=True)
    return output.getvalue()


def repeated(document: bytes, times: int) -> bytes:
    """All pages over and over; their pictures are in the file once."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as whole:
        pages = list(whole.pages)
        for _ in range(times - 1):
            whole.pages.extend(pages)
        whole.save(output, deterministic_id=True)
    return output.getvalue()


def decoded(document: Path) -> dict[str, bytes]:
    """The grey pictures that our reading gives its engine, by name: number and resolution."""
    limits, pictures = ReadingLimits(), {}
    with pypdfium2.PdfDocument(document) as opened:
        for number, page in enumerate(opened):
            dpi = ocr_dpi(page, list_images(page, limits), limits)
            picture = render_page(page, dpi, limits)
            output = io.BytesIO()
            Image.fromarray(picture.grey).save(output, "PPM")
            pictures[f"{number:04}-{picture.dpi:.0f}.pgm"] = output.getvalue()
    return pictures


def _pages(content: bytes, name: str, rng: random.Random) -> Iterator[bytes]:
    kind = KINDS[name]
    with pypdfium2.PdfDocument(content) as opened:
        for page in opened:
            grey = page.render(scale=kind.dpi / 72, grayscale=True).to_numpy().squeeze()
            picture = Image.fromarray(kind.spoil(grey.copy(), rng))
            output = io.BytesIO()
            if kind.quality:
                picture.save(output, "PDF", resolution=kind.dpi, quality=kind.quality)
            else:
                picture.convert("1").save(output, "PDF", resolution=kind.dpi)
            yield output.getvalue()


def _clean(grey: Grey, rng: random.Random) -> Grey:
    return _grain(_askew(grey, rng.uniform(-0.3, 0.3)), 2.0, rng)


def _office(grey: Grey, rng: random.Random) -> Grey:
    """Askew, a little out of focus, on paper that is not quite white."""
    soft = _blurred(_askew(grey, rng.uniform(-1.5, 1.5)), rng.uniform(0.4, 0.8))
    return _grain(_lit(soft, 0.95), 5.0, rng)


def _noisy(grey: Grey, rng: random.Random) -> Grey:
    """An old machine in a hurry."""
    soft = _blurred(_askew(grey, rng.uniform(1.0, 3.0) * rng.choice((-1, 1))), 0.7)
    return _grain(_lit(soft, 0.92), 12.0, rng)


def _fax(grey: Grey, rng: random.Random) -> Grey:
    """Black and white, with jagged edges and specks."""
    grain = _grain(_askew(grey, rng.uniform(-1.0, 1.0)), 25.0, rng)
    black: Grey = np.where(grain < rng.randint(140, 170), 0, WHITE).astype(np.uint8)
    specks = _numbers(rng).random(black.shape, np.float32)
    black[specks < 0.0004] = 0
    return black


def _photo(grey: Grey, rng: random.Random) -> Grey:
    """From a telephone: seen from aside, dark towards one corner, with somebody's shadow on it."""
    high, wide = grey.shape
    reach = 0.02 * wide
    corners = np.array([(0, 0), (wide, 0), (wide, high), (0, high)], np.float32)
    inside = [(rng.uniform(0, reach), rng.uniform(0, reach)) for _ in corners]
    seen = corners + np.array(inside, np.float32) * [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    turn = cv2.getPerspectiveTransform(corners, seen.astype(np.float32))
    table = cv2.warpPerspective(grey, turn, (wide, high), borderValue=WHITE)
    x, y = np.meshgrid(np.linspace(0, 1, wide), np.linspace(0, 1, high))
    across = x if rng.random() < 0.5 else 1 - x
    fall = rng.uniform(0.4, 0.6)  # of the light, from the near corner to the far one
    light = 1 - fall * (across + y) / 2
    edge = rng.uniform(0.5, 0.8)
    shadow = 1 - rng.uniform(0.25, 0.4) / (1 + np.exp((edge - y + 0.3 * (across - 0.5)) * 60))
    return _grain(_lit(_blurred(table, 0.8), 0.97 * light * shadow), 4.0, rng)


def _askew(grey: Grey, degrees: float) -> Grey:
    high, wide = grey.shape
    turn = cv2.getRotationMatrix2D((wide / 2, high / 2), degrees, 1.0)
    return _grey(cv2.warpAffine(grey, turn, (wide, high), borderValue=WHITE))


def _blurred(grey: Grey, sigma: float) -> Grey:
    return _grey(cv2.GaussianBlur(grey, (0, 0), sigma))


def _lit(grey: Grey, light: float | NDArray[np.float64]) -> Grey:
    """Ink reflects a little as well."""
    return _grey((25 + grey * (230 / WHITE)) * light)


def _grain(grey: Grey, sigma: float, rng: random.Random) -> Grey:
    return _grey(grey + sigma * _numbers(rng).standard_normal(grey.shape, np.float32))


def _grey(pixels: NDArray[np.floating]) -> Grey:
    whole: Grey = np.clip(pixels, 0, WHITE).astype(np.uint8)
    return whole


def _numbers(rng: random.Random) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(rng.getrandbits(64)))


KINDS: Mapping[str, Kind] = {
    "clean": Kind(300, _clean, quality=90),
    "office": Kind(300, _office, quality=55),
    "noisy": Kind(200, _noisy, quality=50),
    "fax": Kind(200, _fax, quality=0),
    "photo": Kind(200, _photo, quality=70),
}
