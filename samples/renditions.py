"""Makes the renditions of a document: born digital, fillable form, or scan."""

import io
import random
import time
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pypdfium2 as pdfium
from PIL import Image, ImageFilter

_CREATED = time.gmtime(946_684_800)  # a fixed time, so that the bytes are the same in each run


class Rendition(StrEnum):
    """Lists the renditions of a document."""

    BORN_DIGITAL = "born-digital"
    FILLABLE_FORM = "fillable-form"
    SCAN = "scan"
    FAINT_SCAN = "faint-scan"  #: of 28 % contrast, as from an empty toner cartridge
    INVERTED_SCAN = "inverted-scan"  #: light ink on dark paper, as from a wrong setting


SCANS = frozenset({Rendition.SCAN, Rendition.FAINT_SCAN, Rendition.INVERTED_SCAN})
FAINT_CONTRAST = 0.28  # of full contrast


def make_scan(content: bytes, *, seed: str, rendition: Rendition = Rendition.SCAN) -> bytes:
    """Return the document as an office scanner produces it: a PDF of grey JPEGs without text."""
    rng = random.Random(f"scan {seed}")
    dpi = rng.choice((200, 200, 200, 240, 300))
    quality = rng.randint(58, 72)
    pages = [
        _apply_tone(_simulate_scan(page, rng), rendition) for page in _render_pages(content, dpi)
    ]
    output = io.BytesIO()
    pages[0].save(
        output,
        "PDF",
        resolution=dpi,
        quality=quality,
        save_all=True,
        append_images=pages[1:],
        producer="Office scanner (SPECIMEN)",
        creationDate=_CREATED,
        modDate=_CREATED,
    )
    return output.getvalue()


def _apply_tone(page: Image.Image, rendition: Rendition) -> Image.Image:
    if rendition is Rendition.INVERTED_SCAN:
        return page.point(lambda level: 255 - level)
    if rendition is Rendition.FAINT_SCAN:
        return page.point(lambda level: round(255 - (255 - level) * FAINT_CONTRAST))
    return page


def _render_pages(content: bytes, dpi: int) -> list[Image.Image]:
    document = pdfium.PdfDocument(content)
    try:
        document.init_forms()
        return [
            page.render(scale=dpi / 72, grayscale=True).to_pil().convert("L") for page in document
        ]
    finally:
        document.close()


def _simulate_scan(page: Image.Image, rng: random.Random) -> Image.Image:
    """Return the page skewed, slightly blurred, on off-white paper, under uneven light."""
    angle = rng.uniform(0.3, 1.5) * rng.choice((-1, 1))
    skewed = page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    blurred = skewed.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.8)))
    return Image.fromarray(_add_noise(np.asarray(blurred), rng))


def _add_noise(pixels: npt.NDArray[np.uint8], rng: random.Random) -> npt.NDArray[np.uint8]:
    """Return the page with noise. Integer arithmetic gives the same image on every processor."""
    noise = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
    paper = rng.randint(242, 249)
    speckle = noise.integers(-9, 10, pixels.shape, np.int16)
    shade = np.linspace(0, rng.randint(-7, 7), pixels.shape[1]).astype(np.int16)
    ink = 30 + (pixels.astype(np.int32) * (paper - 30) // 255).astype(np.int16)
    grey: npt.NDArray[np.uint8] = np.clip(ink + speckle + shade, 0, 255).astype(np.uint8)
    return grey
