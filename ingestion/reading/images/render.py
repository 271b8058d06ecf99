"""Renders pages to greyscale rasters, within the limits on size and memory.

The limits are checked before pdfium or Pillow decodes anything, because under a memory limit
pdfium renders an image that does not fit in memory as a blank page, and reports no error.
"""

from collections.abc import Iterable
from ctypes import byref, c_uint
from dataclasses import dataclass, field, replace
from itertools import islice
from math import ceil, floor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray
from PIL import Image, ImageOps, ImageSequence

from ingestion.reading.images.image_files import find_unsupported_compression, open_image
from ingestion.reading.images.page_objects import (
    MAX_OBJECTS_PER_PAGE,
    PageObject,
    iter_page_objects,
)
from ingestion.reading.limits import ReadingLimits, report_too_many_pages
from ingestion.reading.results import Box, MediaType, Unreadable

GreyArray = NDArray[np.uint8]  # rows of pixels: 0 is black, 255 is white
ColourArray = NDArray[np.uint8]  # rows of pixels with blue, green and red

POINTS_PER_INCH = 72
MIN_OCR_DPI = 100  # a scan with fewer dpi is enlarged, which helps more than it harms
DEFAULT_LONG_SIDE_INCHES = 11.0  # of an image file that does not state its resolution
MIN_COLOUR_DIFFERENCE = 12  # of 255, between the primaries of a pixel that is not grey
MIN_LONG_SIDE_INCHES = 3  # of an image file whose stated resolution is believed


class PageUnreadable(Exception):
    """This page cannot be read. The exception stays in the parser process.

    Its message becomes `PageReading.error`.
    """


PAGE_ERRORS = (PageUnreadable, pypdfium2.PdfiumError, MemoryError)  # what reading a page may raise


def describe_page_error(error: Exception) -> str:
    """Return the text of one of `PAGE_ERRORS` for `PageReading.error`."""
    return str(error) or "the page needs more memory than one page may have"


@dataclass(frozen=True, slots=True)
class PageRaster:
    """A rendered page, or an area of one, in grey, and in colour if that was asked for."""

    grey: GreyArray
    dpi: float
    offset: tuple[int, int] = (0, 0)  # pixels of the page to the left of the area and above it
    colour: ColourArray | None = None  # None if it was not asked for or if all of it is grey
    # By resolution. Several steps look at a page in the same one.
    _smaller: dict[float, "PageRaster"] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    # What was measured in this raster, by name. Several steps need the same measurement.
    measured: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def width(self) -> float:
        """Return the width in points."""
        return float(self.grey.shape[1] * POINTS_PER_INCH / self.dpi)

    @property
    def height(self) -> float:
        """Return the height in points."""
        return float(self.grey.shape[0] * POINTS_PER_INCH / self.dpi)

    def downsampled(self, dpi: float) -> "PageRaster":
        """Return the raster in grey with at most this resolution. It is never enlarged."""
        if self.dpi <= dpi:
            return self
        if dpi not in self._smaller:
            # OpenCV is ten times as fast if a side is divided by a whole number. 299.99 dpi is 300.
            factor = dpi / round(self.dpi, 2)
            grey = cv2.resize(self.grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
            self._smaller[dpi] = PageRaster(grey, dpi)
        return self._smaller[dpi]


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image on a PDF page."""

    pixels: tuple[int, int]  # width and height
    box: Box  # the place on the page in points, with y upwards as in PDF: top exceeds bottom

    @property
    def area(self) -> float:
        """Return the area on the page in square points."""
        return abs((self.box.right - self.box.left) * (self.box.top - self.box.bottom))

    @property
    def dpi(self) -> float:
        """Return the resolution at which the image is shown."""
        width = max(abs(self.box.right - self.box.left), 1.0)
        height = max(abs(self.box.top - self.box.bottom), 1.0)
        # The sides are compared by length, because an image may be placed on its side.
        pixels, points = sorted(self.pixels), sorted((width, height))
        return min(pixels[0] / points[0], pixels[1] / points[1]) * POINTS_PER_INCH


def list_images(
    page: pypdfium2.PdfPage,
    limits: ReadingLimits,
    objects: Iterable[PageObject] | None = None,
) -> list[PlacedImage]:
    """Return the images of a page. `objects` are its objects, if they were listed already.

    Raises PageUnreadable if the page or its images exceed the limits, and PdfiumError.
    """
    longer = max(page.get_size())
    if not 0 < longer <= limits.max_page_points:
        raise PageUnreadable(f"the page is {longer / POINTS_PER_INCH:.0f} inches long")
    page_left, page_bottom, page_right, page_top = page.get_bbox()
    images = []
    if objects is None:
        objects = iter_page_objects(page, pdfium.FPDF_PAGEOBJ_IMAGE)
    candidates = (item for item in objects if item.kind == pdfium.FPDF_PAGEOBJ_IMAGE)
    for item in islice(candidates, MAX_OBJECTS_PER_PAGE):
        left, bottom, right, top = item.rect
        visible = Box(
            left=min(max(left, page_left), page_right),
            bottom=min(max(bottom, page_bottom), page_top),
            right=min(max(right, page_left), page_right),
            top=min(max(top, page_bottom), page_top),
        )
        width, height = c_uint(), c_uint()
        if not pdfium.FPDFImageObj_GetImagePixelSize(item.raw, byref(width), byref(height)):
            raise pypdfium2.PdfiumError("a picture has no size")
        images.append(PlacedImage((width.value, height.value), visible))
    pixels = sum(width * height for width, height in {image.pixels for image in images})
    if pixels > limits.max_image_pixels:
        raise PageUnreadable(f"the page's pictures have {pixels // 1_000_000} megapixels")
    return images


def choose_ocr_dpi(
    page: pypdfium2.PdfPage, images: list[PlacedImage], limits: ReadingLimits
) -> float:
    """Return the resolution at which a page is rendered for OCR.

    It is the resolution of the scan, within `MIN_OCR_DPI` and the limit. A page that is drawn has
    no resolution and gets the limit.
    """
    largest = max(images, key=lambda image: image.area, default=None)
    width, height = page.get_size()
    if largest is None or largest.area < width * height / 2:
        return float(limits.ocr_dpi)
    return float(min(max(largest.dpi, MIN_OCR_DPI), limits.ocr_dpi))


def render_page(
    page: pypdfium2.PdfPage,
    dpi: float,
    limits: ReadingLimits,
    area: Box | None = None,
    *,
    in_colour: bool = False,
    is_smooth: bool = True,
) -> PageRaster:
    """Render a page with its annotations and form values, or an area of it.

    An area has the same pixels as in the raster of the whole page. The resolution is reduced if
    the page would exceed `limits.max_render_pixels`. Call `list_images` first, which checks that
    the page's images may be decoded. Without `is_smooth`, images are scaled faster, by leaving out
    pixels.
    """
    width, height = page.get_size()
    max_dpi = POINTS_PER_INCH * (limits.max_render_pixels / (width * height)) ** 0.5
    scale = min(dpi, max_dpi) / POINTS_PER_INCH
    crop = (0, 0, 0, 0)  # pixels to cut off on the left, at the bottom, on the right, at the top
    if area:
        crop = (
            max(floor(area.left * scale), 0),
            max(ceil(height * scale) - ceil(area.bottom * scale), 0),
            max(ceil(width * scale) - ceil(area.right * scale), 0),
            max(floor(area.top * scale), 0),
        )
    # pypdfium2 takes points and rounds the pixels up.
    points = tuple(max(0.0, pixels - 0.5) / scale for pixels in crop)
    bitmap = page.render(
        scale=scale, grayscale=not in_colour, crop=points, no_smoothimage=not is_smooth
    )
    try:
        pixels = bitmap.to_numpy()
        if in_colour:
            grey, colour = _split_colour(pixels[..., :3])
        else:
            grey, colour = pixels.reshape(bitmap.height, bitmap.width).copy(), None
        return PageRaster(grey, scale * POINTS_PER_INCH, (crop[0], crop[3]), colour)
    finally:
        bitmap.close()


def _split_colour(pixels: ColourArray) -> tuple[GreyArray, ColourArray | None]:
    """Return an image in grey, and a copy of it in colour unless all of it is grey."""
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))
    blue, green, red = cv2.split(np.ascontiguousarray(pixels[::4, ::4]))
    lightest, darkest = cv2.max(cv2.max(blue, green), red), cv2.min(cv2.min(blue, green), red)
    is_grey = cv2.subtract(lightest, darkest).max() < MIN_COLOUR_DIFFERENCE
    return grey, None if is_grey else pixels.copy()


def count_frames(path: Path, media_type: MediaType, limits: ReadingLimits) -> int | Unreadable:
    """Return the number of pages of an image file.

    The first page is decoded, to find out whether the file is damaged.
    """
    if media_type is MediaType.TIFF and (unreadable := find_unsupported_compression(path)):
        return unreadable
    try:
        with open_image(path, media_type) as image:
            frames = int(getattr(image, "n_frames", 1))
            if image.width * image.height <= limits.max_image_pixels:
                image.load()
    except Image.DecompressionBombError:
        return Unreadable("PARSER_FAILURE", {"reason": "the picture has too many pixels"})
    except Exception:  # noqa: BLE001 - Pillow's decoders have no common error
        return Unreadable("CORRUPT_DOCUMENT")
    if frames > limits.max_pages:
        return report_too_many_pages(frames, limits)
    return frames


def load_frame(path: Path, media_type: MediaType, number: int, limits: ReadingLimits) -> PageRaster:
    """Return page `number`, from 1, of an image file.

    It is turned upright by its EXIF orientation. Raises PageUnreadable.
    """
    try:
        with open_image(path, media_type) as image:
            frame = ImageSequence.Iterator(image)[number - 1]
            pixels = frame.width * frame.height
            stated_dpi = frame.info.get("dpi", (0, 0))
            grey, colour = None, None
            if pixels <= limits.max_image_pixels:
                upright = apply_orientation(frame)
                grey = np.asarray(upright.convert("L"))
                if upright.mode not in {"1", "L"}:
                    _, colour = _split_colour(np.asarray(upright.convert("RGB"))[..., ::-1])
    except Exception as error:
        raise PageUnreadable("the picture cannot be decoded") from error
    if grey is None:
        raise PageUnreadable(f"the picture has {pixels // 1_000_000} megapixels")
    # Cameras state 72 dpi for any image, so a stated resolution is used only if the image would
    # have the size of a page.
    dpi, longer = float(stated_dpi[0] or 0), max(grey.shape)
    if not dpi or not MIN_LONG_SIDE_INCHES <= longer / dpi <= 2 * DEFAULT_LONG_SIDE_INCHES:
        dpi = longer / DEFAULT_LONG_SIDE_INCHES
    raster = PageRaster(grey, dpi)
    max_dpi = raster.dpi * (limits.max_render_pixels / grey.size) ** 0.5
    raster = raster.downsampled(min(limits.ocr_dpi, max_dpi))
    if colour is not None and colour.shape[:2] != raster.grey.shape:
        size = raster.grey.shape[::-1]
        colour = np.asarray(cv2.resize(colour, size, interpolation=cv2.INTER_AREA))
    return replace(raster, colour=colour)


def apply_orientation(frame: Image.Image) -> Image.Image:
    """Return an image upright by its EXIF orientation, on white, with 8 bits in each channel."""
    upright = ImageOps.exif_transpose(frame)
    if upright.mode.startswith("I"):  # 16 bits a pixel, which convert() would clip, not scale
        return Image.fromarray(np.asarray(np.asarray(upright) >> 8, dtype=np.uint8))
    if "A" in upright.getbands() or "transparency" in upright.info:
        paper = Image.new("RGBA", upright.size, "white")
        return Image.alpha_composite(paper, upright.convert("RGBA"))
    return upright
