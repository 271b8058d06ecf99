"""Adds rubber stamps and strike-outs to printed pages, and scans them afterwards.

A document is printed to one image for each page, marked, and scanned again: `print_pages`, then
`press_stamp` or `strike_by_hand`, then `scan_pages`.
"""

import io
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import cv2
import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from samples.ink import draw_signature

Pixels = NDArray[np.uint8]  # of a page or a layer: rows of RGB
Coverage = NDArray[np.float32]  # of each pixel by ink, from 0 to 1
Rect = tuple[float, float, float, float]  # left, bottom, right and top in points
Colour = tuple[float, float, float]  # red, green and blue, from 0 to 1

DPI = 200
_CREATED = time.gmtime(946_684_800)  # a fixed time, so that the bytes are the same in each run
PHRASES = ("VOID", "SUPERSEDED", "DRAFT", "COPY", "RECEIVED", "CANCELLED", "OBSOLETE")
FONTS = ("Helvetica-Bold", "Times-Bold", "Courier-Bold", "Helvetica", "Times-Roman")
INK_COLOURS: tuple[Colour, ...] = (
    (0.8, 0.1, 0.15), (0.12, 0.2, 0.66), (0.1, 0.5, 0.25), (0.45, 0.15, 0.55), (0.85, 0.25, 0.1),
)  # fmt: skip
PEN_COLOURS: tuple[Colour, ...] = ((0.08, 0.12, 0.45), (0.1, 0.1, 0.1), (0.6, 0.08, 0.1))
GREY_COLOURS: tuple[Colour, ...] = ((0.12, 0.12, 0.14), (0.35, 0.35, 0.37), (0.5, 0.5, 0.5))


class Frame(StrEnum):
    """The frame around the words of a rubber stamp."""

    NONE = "none"
    RECTANGLE = "rectangle"
    DOUBLE = "double"  #: two rectangles, one in the other
    ROUND = "round"  #: one ring or two rings
    ROUNDED = "rounded"  #: a rectangle with round corners


class Scanner(StrEnum):
    """The devices that make an image of a page."""

    OFFICE_COLOUR = "office-colour"
    OFFICE_GREY = "office-grey"
    PHONE = "phone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubberStamp:
    """A rubber stamp: its lines, its look, and the place of its centre as shares of the page."""

    lines: tuple[str, ...]
    phrase: str  # the line that says what the stamp is for; the others are half as large
    font: str = "Helvetica-Bold"
    size: float = 30.0  # points, of the phrase
    degrees: float = 0.0  # anticlockwise
    colour: Colour = INK_COLOURS[0]
    frame: Frame = Frame.NONE
    place: tuple[float, float] = (0.5, 0.5)  # from the left and from the bottom
    wear: float = 0.0  # from 0 (new) to 1 (hardly readable)
    seed: str = ""


def choose_rubber_stamp(
    phrase: str, seed: str, *, coloured: bool, fonts: Sequence[str] = FONTS
) -> RubberStamp:
    """Return a rubber stamp of a random look, over text or in a margin."""
    rng = random.Random(f"rubber stamp {phrase} {coloured} {seed}")
    date = f"{rng.randint(1, 28)} {rng.choice(('JAN', 'MAR', 'MAY', 'AUG', 'OCT'))} 2026"
    lines: tuple[str, ...] = (phrase,)
    if phrase == "RECEIVED" and rng.random() < 0.75:
        lines = rng.choice(((phrase, date), (phrase, date, "IRB OFFICE"), ("IRB", phrase, date)))
    elif rng.random() < 0.15:
        lines = (phrase, date)
    font = rng.choice(fonts)
    size = min(rng.uniform(16, 46), 300 / stringWidth(phrase, font, 1))
    frame = rng.choice(tuple(Frame))
    if frame is Frame.ROUND:
        size = min(size, 125 / stringWidth(phrase, font, 1))
    return RubberStamp(
        lines=lines,
        phrase=phrase,
        font=font,
        size=size,
        degrees=rng.choice((0.0, rng.uniform(-8, 8), rng.uniform(-30, 30), rng.uniform(-30, 30))),
        colour=rng.choice(INK_COLOURS if coloured else GREY_COLOURS),
        frame=frame,
        place=(rng.uniform(0.32, 0.68), rng.uniform(0.12, 0.9)),
        wear=rng.uniform(0.0, 0.6),
        seed=seed,
    )


def print_pages(content: bytes, dpi: int = DPI) -> list[Pixels]:
    """Return the pages of a PDF as printed on white paper."""
    document = pdfium.PdfDocument(content)
    try:
        document.init_forms()
        return [
            np.asarray(page.render(scale=dpi / 72).to_pil().convert("RGB")) for page in document
        ]
    finally:
        document.close()


def press_stamp(page: Pixels, stamp: RubberStamp, dpi: int = DPI) -> tuple[Pixels, Rect]:
    """Return the page with the stamp on it, and the place of the stamp."""
    coverage = _draw(page, dpi, lambda canvas, size: _draw_stamp(canvas, size, stamp))
    coverage = coverage * _wear(coverage.shape, stamp, dpi)
    return _ink(page, coverage, stamp.colour), _extent(coverage, dpi)


def strike_by_hand(
    page: Pixels, words: Rect, *, seed: str, initials: str = "", dpi: int = DPI
) -> Pixels:
    """Return the page with a line of a pen through words, and initials beside them."""
    rng = random.Random(f"strike {seed}")
    left, bottom, right, top = words
    middle, height = (bottom + top) / 2, top - bottom

    def draw(canvas: Canvas, _: tuple[float, float]) -> None:
        canvas.setLineCap(1)
        for width in [rng.uniform(0.8, 1.6) for _ in range(rng.choice((1, 1, 1, 2)))]:
            canvas.setLineWidth(width)
            start = (left - rng.uniform(-1, 5), middle + rng.uniform(-0.12, 0.12) * height)
            end = (right + rng.uniform(-1, 5), middle + rng.uniform(-0.15, 0.2) * height)
            bend = [rng.uniform(-0.1, 0.1) * height for _ in range(2)]
            third = (end[0] - start[0]) / 3
            canvas.bezier(
                *start, start[0] + third, start[1] + bend[0], end[0] - third, end[1] + bend[1], *end
            )
        if initials:
            beside = (right + rng.uniform(6, 14), middle + rng.uniform(-2, 6))
            draw_signature(canvas, initials, (*beside, 26, 13), seed)

    return _ink(page, _draw(page, dpi, draw), rng.choice(PEN_COLOURS))


def scan_pages(pages: Sequence[Pixels], scanner: Scanner, *, seed: str, dpi: int = DPI) -> bytes:
    """Return a PDF with an image of each page, as the scanner makes it."""
    rng = random.Random(f"{scanner} {seed}")
    make = _photograph if scanner is Scanner.PHONE else _scan
    images = [Image.fromarray(make(page, rng)) for page in pages]
    if scanner is Scanner.OFFICE_GREY:
        images = [image.convert("L") for image in images]
    output = io.BytesIO()
    images[0].save(
        output,
        "PDF",
        resolution=dpi,
        quality=rng.randint(62, 85),
        save_all=True,
        append_images=images[1:],
        creationDate=_CREATED,
        modDate=_CREATED,
    )
    return output.getvalue()


def _draw(page: Pixels, dpi: int, draw: Callable[[Canvas, tuple[float, float]], None]) -> Coverage:
    """Return what is drawn in black on a page of this size."""
    height, width = page.shape[:2]
    size = (width * 72 / dpi, height * 72 / dpi)
    output = io.BytesIO()
    canvas = Canvas(output, size, invariant=1)
    draw(canvas, size)
    canvas.showPage()
    canvas.save()
    document = pdfium.PdfDocument(output.getvalue())
    try:
        image = document[0].render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
    finally:
        document.close()
    drawn = np.asarray(image.resize((width, height)), np.float32)
    return np.asarray(1 - drawn / 255, np.float32)


def _draw_stamp(canvas: Canvas, size: tuple[float, float], stamp: RubberStamp) -> None:
    canvas.translate(stamp.place[0] * size[0], stamp.place[1] * size[1])
    canvas.rotate(stamp.degrees)
    sizes = [stamp.size * (1.0 if line == stamp.phrase else 0.5) for line in stamp.lines]
    pitch = [1.15 * each for each in sizes]
    level = sum(pitch) / 2
    for line, size_of_line, height in zip(stamp.lines, sizes, pitch, strict=True):
        level -= height
        canvas.setFont(stamp.font, size_of_line)
        canvas.drawCentredString(0, level + 0.27 * size_of_line, line)
    half_width = max(
        stringWidth(line, stamp.font, each)
        for line, each in zip(stamp.lines, sizes, strict=True)
    ) / 2 + 0.35 * stamp.size  # fmt: skip
    half_height = sum(pitch) / 2 + 0.2 * stamp.size
    canvas.setLineWidth(max(1.2, stamp.size / 16))
    if stamp.frame in {Frame.RECTANGLE, Frame.DOUBLE}:
        canvas.rect(-half_width, -half_height, 2 * half_width, 2 * half_height)
    if stamp.frame is Frame.DOUBLE:
        canvas.setLineWidth(max(0.7, stamp.size / 40))
        gap = 0.14 * stamp.size
        canvas.rect(
            -half_width - gap, -half_height - gap, 2 * (half_width + gap), 2 * (half_height + gap)
        )
    if stamp.frame is Frame.ROUNDED:
        corner = 0.3 * stamp.size
        canvas.roundRect(-half_width, -half_height, 2 * half_width, 2 * half_height, corner)
    if stamp.frame is Frame.ROUND:
        radius = math.hypot(half_width, half_height)
        canvas.circle(0, 0, radius)
        canvas.setLineWidth(max(0.7, stamp.size / 40))
        canvas.circle(0, 0, radius + 0.18 * stamp.size)


def _wear(shape: tuple[int, ...], stamp: RubberStamp, dpi: int) -> Coverage:
    """Return how much ink of a stamp reaches the paper: less in patches, and not in specks."""
    noise = np.random.Generator(
        np.random.PCG64(random.Random(f"wear {stamp.seed}").getrandbits(64))
    )
    coarse = noise.random((shape[0] * 6 // dpi + 2, shape[1] * 6 // dpi + 2), np.float32)
    patches = cv2.resize(coarse, (shape[1], shape[0]), interpolation=cv2.INTER_CUBIC)
    grain = cv2.GaussianBlur(noise.random(shape[:2], np.float32), (0, 0), 0.2 * dpi / 72)
    grain = (grain - grain.mean()) / grain.std()
    strength = np.clip(1 - stamp.wear * (0.25 + 0.75 * patches), 0, 1)
    specks = np.clip((grain - (1.9 - 1.6 * stamp.wear * patches)) * 2, 0, 1)
    return np.asarray(strength * (1 - specks), np.float32)


def _ink(page: Pixels, coverage: Coverage, colour: Colour) -> Pixels:
    """Return the page with ink, which darkens what is printed below it."""
    light = 1 - coverage[..., None] * (1 - np.asarray(colour, np.float32))
    return np.asarray(np.clip(page * light, 0, 255), np.uint8)


def _extent(coverage: Coverage, dpi: int) -> Rect:
    """Return where ink is, with the origin at the bottom left."""
    left, top, width, height = cv2.boundingRect(np.asarray(coverage > 0.3, np.uint8))
    scale, below = 72 / dpi, coverage.shape[0]
    return (
        left * scale,
        (below - top - height) * scale,
        (left + width) * scale,
        (below - top) * scale,
    )


def _scan(page: Pixels, rng: random.Random) -> Pixels:
    """Return the page skewed, slightly blurred, with the noise and the tone of a scanner."""
    height, width = page.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), rng.uniform(-1.3, 1.3), 1.0)
    turned = cv2.warpAffine(page, turn, (width, height), flags=cv2.INTER_CUBIC,
                            borderMode=cv2.BORDER_REPLICATE)  # fmt: skip
    blurred = cv2.GaussianBlur(turned, (0, 0), rng.uniform(0.45, 0.8))
    paper = np.asarray([rng.uniform(238, 252)] * 3) + [rng.uniform(-2, 2) for _ in range(3)]
    return _expose(32 + blurred / 255 * (paper - 32), rng, noise=rng.uniform(2, 5))


def _photograph(page: Pixels, rng: random.Random) -> Pixels:
    """Return the page in perspective, under uneven light of some colour."""
    height, width = page.shape[:2]
    corners = np.asarray([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    moved = corners + np.asarray(
        [[rng.uniform(-0.012, 0.012) * width for _ in range(2)] for _ in range(4)], np.float32
    )
    view = cv2.getPerspectiveTransform(corners, moved)
    seen = cv2.warpPerspective(page, view, (width, height), flags=cv2.INTER_CUBIC,
                               borderMode=cv2.BORDER_REPLICATE)  # fmt: skip
    blurred = cv2.GaussianBlur(seen, (0, 0), rng.uniform(0.6, 1.0))
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    light = 1 - rng.uniform(0.05, 0.28) * (
        (x - rng.uniform(-0.8, 0.8)) ** 2 + (y - rng.uniform(-0.8, 0.8)) ** 2
    ) / 4  # fmt: skip
    paper = rng.uniform(205, 240) * np.asarray([1.0, rng.uniform(0.96, 1), rng.uniform(0.88, 1)])
    exposed = (28 + blurred / 255 * (paper - 28)) * light[..., None]
    return _expose(exposed, rng, noise=rng.uniform(3, 7))


def _expose(exposed: NDArray[np.float64], rng: random.Random, *, noise: float) -> Pixels:
    grain = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
    grey = grain.normal(0, noise, (*exposed.shape[:2], 1))
    colour = grain.normal(0, noise / 3, exposed.shape)
    return np.asarray(np.clip(exposed + grey + colour, 0, 255), np.uint8)
