"""Pages as grey pictures, never larger than the budgets allow.

The budgets are checked before pdfium or Pillow decodes anything: under a memory limit
pdfium answers a picture that does not fit with a blank page and no error.
"""

from ctypes import byref, c_uint
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor
from pathlib import Path

import cv2
import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray
from PIL import Image, ImageOps, ImageSequence

from ingestion.reading.images.page_objects import MAX_OBJECTS_PER_PAGE, PageObject, page_objects
from ingestion.reading.limits import ReadingLimits, too_many_pages
from ingestion.reading.results import Box, Unreadable

GreyArray = NDArray[np.uint8]

POINTS_PER_INCH = 72  # to an inch
MIN_OCR_DPI = 100  # dpi; below, enlarging a little helps more than it hurts
DEFAULT_LONG_SIDE_INCHES = (
    11.0  # the longer side we take a picture for that does not say its resolution
)


class PageUnreadable(Exception):
    """This page cannot be read. Stays inside the child; its text becomes `Page.error`."""


PAGE_ERRORS = (PageUnreadable, pypdfium2.PdfiumError, MemoryError)  # what a page may fail with


def error_text(error: Exception) -> str:
    return str(error) or "the page needs more memory than one page may have"


@dataclass(frozen=True, slots=True)
class PageRaster:
    """A page as it looks, or an area of it."""

    grey: GreyArray
    dpi: float
    corner: tuple[int, int] = (0, 0)  # pixels of the page to the left of it and above

    @property
    def width(self) -> float:  # points
        return float(self.grey.shape[1] * POINTS_PER_INCH / self.dpi)

    @property
    def height(self) -> float:
        return float(self.grey.shape[0] * POINTS_PER_INCH / self.dpi)

    def downsampled(self, dpi: float) -> "PageRaster":
        """The same, coarser. Never enlarges."""
        if self.dpi <= dpi:
            return self
        factor = dpi / self.dpi
        smaller = cv2.resize(self.grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
        return PageRaster(smaller, dpi)


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """A picture placed on a page: its pixels, and the box it fills, in PDF coordinates."""

    pixels: tuple[int, int]
    box: Box  # bottom and top as PDF has them: upwards

    @property
    def area(self) -> float:
        return abs((self.box.right - self.box.left) * (self.box.top - self.box.bottom))

    @property
    def dpi(self) -> float:
        wide = max(abs(self.box.right - self.box.left), 1.0)
        high = max(abs(self.box.top - self.box.bottom), 1.0)
        # A picture lying on its side has its pixels along the other edge.
        along, across = sorted(self.pixels), sorted((wide, high))
        return min(along[0] / across[0], along[1] / across[1]) * POINTS_PER_INCH


def list_images(page: pypdfium2.PdfPage, limits: ReadingLimits) -> list[PlacedImage]:
    """The pictures on a page. Raises PageUnreadable when page or pictures break the budgets."""
    longer = max(page.get_size())
    if not 0 < longer <= limits.max_page_points:
        raise PageUnreadable(f"the page is {longer / POINTS_PER_INCH:.0f} inches long")
    images = islice(page_objects(page, pdfium.FPDF_PAGEOBJ_IMAGE), MAX_OBJECTS_PER_PAGE)
    placed = [_placed(image, page) for image in images]
    pixels = sum(wide * high for wide, high in {each.pixels for each in placed})
    if pixels > limits.max_image_pixels:
        raise PageUnreadable(f"the page's pictures have {pixels // 1_000_000} megapixels")
    return placed


def _placed(image: PageObject, page: pypdfium2.PdfPage) -> PlacedImage:
    left, bottom, right, top = image.rect
    edges = page.get_bbox()
    inside = Box(
        left=min(max(left, edges[0]), edges[2]),
        bottom=min(max(bottom, edges[1]), edges[3]),
        right=min(max(right, edges[0]), edges[2]),
        top=min(max(top, edges[1]), edges[3]),
    )
    wide, high = c_uint(), c_uint()
    if not pdfium.FPDFImageObj_GetImagePixelSize(image.raw, byref(wide), byref(high)):
        raise pypdfium2.PdfiumError("a picture has no size")
    return PlacedImage((wide.value, high.value), inside)


def ocr_dpi(page: pypdfium2.PdfPage, placed: list[PlacedImage], limits: ReadingLimits) -> float:
    """A scan's own resolution, at most the cap; drawn letters have none and get the cap."""
    largest = max(placed, key=lambda each: each.area, default=None)
    wide, high = page.get_size()
    if largest is None or largest.area < wide * high / 2:
        return float(limits.ocr_dpi)
    return float(min(max(largest.dpi, MIN_OCR_DPI), limits.ocr_dpi))


def render_page(
    page: pypdfium2.PdfPage, dpi: float, limits: ReadingLimits, area: Box | None = None
) -> PageRaster:
    """With annotations and typed values drawn. Call `placed_pictures` first: it guards.

    Of an area, the same pixels as they are in the picture of the whole page.
    """
    wide, high = page.get_size()
    fits = POINTS_PER_INCH * (limits.max_render_pixels / (wide * high)) ** 0.5
    scale = min(dpi, fits) / POINTS_PER_INCH
    crop = _crop(area, wide, high, scale) if area else (0, 0, 0, 0)
    # pypdfium2 takes points and rounds the pixels up.
    points = tuple(max(0.0, cut - 0.5) / scale for cut in crop)
    bitmap = page.render(scale=scale, grayscale=True, crop=points)
    try:
        grey = bitmap.to_numpy().reshape(bitmap.height, bitmap.width).copy()
        return PageRaster(grey, scale * POINTS_PER_INCH, (crop[0], crop[3]))
    finally:
        bitmap.close()


def _crop(area: Box, wide: float, high: float, scale: float) -> tuple[int, int, int, int]:
    """Pixels to cut off on the left, below, on the right and above."""
    left, top = floor(area.left * scale), floor(area.top * scale)
    right = ceil(wide * scale) - ceil(area.right * scale)
    bottom = ceil(high * scale) - ceil(area.bottom * scale)
    return max(left, 0), max(bottom, 0), max(right, 0), max(top, 0)


def count_frames(path: Path, limits: ReadingLimits) -> int | Unreadable:
    """Pages of a JPEG, PNG or TIFF. The first one is decoded, to know that it can be."""
    try:
        with Image.open(path) as image:
            frames = int(getattr(image, "n_frames", 1))
            if image.width * image.height <= limits.max_image_pixels:
                image.load()
    except Image.DecompressionBombError:
        return Unreadable("PARSER_FAILURE", {"reason": "the picture has too many pixels"})
    except Exception:  # noqa: BLE001 - Pillow's decoders have no common error
        return Unreadable("CORRUPT_DOCUMENT")
    if frames > limits.max_pages:
        return too_many_pages(frames, limits)
    return frames


def load_frame(path: Path, number: int, limits: ReadingLimits) -> PageRaster:
    """Page `number`, from 1, of a JPEG, PNG or TIFF, upright as its camera noted."""
    try:
        with Image.open(path) as image:
            frame = ImageSequence.Iterator(image)[number - 1]
            pixels = frame.width * frame.height
            stated = frame.info.get("dpi", (0, 0))
            grey = None if pixels > limits.max_image_pixels else _grey(frame)
    except Exception as error:
        raise PageUnreadable("the picture cannot be decoded") from error
    if grey is None:
        raise PageUnreadable(f"the picture has {pixels // 1_000_000} megapixels")
    picture = PageRaster(grey, _resolution(grey.shape, float(stated[0] or 0)))
    fits = picture.dpi * (limits.max_render_pixels / grey.size) ** 0.5
    return picture.downsampled(min(limits.ocr_dpi, fits))


def apply_orientation(frame: Image.Image) -> Image.Image:
    """As its camera noted, on white paper, with 8 bits to a channel."""
    turned = ImageOps.exif_transpose(frame)
    if turned.mode.startswith("I"):  # 16 bits a pixel: convert() would clip instead of scale
        return Image.fromarray(np.asarray(np.asarray(turned) >> 8, dtype=np.uint8))
    if "A" in turned.getbands() or "transparency" in turned.info:
        paper = Image.new("RGBA", turned.size, "white")
        return Image.alpha_composite(paper, turned.convert("RGBA"))
    return turned


def _grey(frame: Image.Image) -> GreyArray:
    return np.asarray(apply_orientation(frame).convert("L"))


def _resolution(shape: tuple[int, ...], stated: float) -> float:
    """Dots per inch. Cameras state 72 for anything: believed only if a page results."""
    longer = max(shape)
    if stated and 3 <= longer / stated <= 2 * DEFAULT_LONG_SIDE_INCHES:
        return stated
    return longer / DEFAULT_LONG_SIDE_INCHES
