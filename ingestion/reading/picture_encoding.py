"""Encodes pictures of pages as PDF stores them: in black and white, in grey, or as JPEG."""

import zlib
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
from PIL import Image, TiffImagePlugin

from ingestion.reading.images.render import ColourArray, GreyArray, PageRaster
from ingestion.reading.picture_pdf import PicturePage

# Scale and JPEG quality of a picture, the best first. The first that is small enough is used, and
# otherwise the last.
ENCODINGS = ((1.0, 80), (1.0, 50), (0.5, 50), (0.25, 40))
GREY_LEVELS = 16  # of a page in grey that is stored without loss of lines
_ROWS_PER_STRIP, _STRIP_OFFSETS, _STRIP_BYTES = 278, 273, 279  # TIFF 6.0, section 8


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A rendered page, and whether it is stored in black and white."""

    raster: PageRaster
    is_bitonal: bool = False


def encode_picture(picture: PagePicture, max_bytes: int) -> PicturePage:
    """Return a page as it is stored, of at most `max_bytes`, if that can be reached.

    Pages of letters and lines in grey are smaller, and sharper, with few levels of grey than as
    JPEG.
    """
    raster = picture.raster
    if picture.is_bitonal:
        return _encode_bitonal(raster)
    pixels = raster.grey if raster.colour is None else raster.colour[..., ::-1]
    jpeg = _encode_jpeg(raster, np.ascontiguousarray(pixels), max_bytes)
    if raster.colour is not None:
        return jpeg
    levels = replace(
        jpeg,
        pixels=(raster.grey.shape[1], raster.grey.shape[0]),
        content=_pack_levels(raster.grey),
        filter="FlateDecode",
        bits=4,
    )
    return min(levels, jpeg, key=lambda page: len(page.content))


def _encode_jpeg(raster: PageRaster, pixels: ColourArray, max_bytes: int) -> PicturePage:
    picture = Image.fromarray(pixels)  # without metadata of the original
    for scale, quality in ENCODINGS:
        width, height = (max(1, round(side * scale)) for side in picture.size)
        scaled = picture.resize((width, height), Image.Resampling.BOX)
        output = BytesIO()
        scaled.save(output, "JPEG", quality=quality)
        if output.tell() <= max_bytes:
            break
    colours = "DeviceGray" if picture.mode == "L" else "DeviceRGB"
    return PicturePage(
        raster.width, raster.height, scaled.size, output.getvalue(), "DCTDecode", colours=colours
    )


def _pack_levels(grey: GreyArray) -> bytes:
    """Return a grey picture with two pixels in a byte, compressed as FlateDecode does."""
    step = 255 / (GREY_LEVELS - 1)
    levels = np.rint(grey / np.float32(step)).astype(np.uint8)
    if levels.shape[1] % 2:  # each row ends with a whole byte
        levels = np.pad(levels, ((0, 0), (0, 1)))
    return zlib.compress(np.ascontiguousarray(levels[:, ::2] << 4 | levels[:, 1::2]).tobytes())


def _encode_bitonal(raster: PageRaster) -> PicturePage:
    """Return a page in black and white, compressed as by a Group 4 fax (ITU-T T.6)."""
    picture = Image.fromarray(raster.grey).point(lambda value: 255 * (value >= 128), "1")
    output = BytesIO()
    picture.save(output, "TIFF", compression="group4", tiffinfo={_ROWS_PER_STRIP: picture.height})
    with TiffImagePlugin.TiffImageFile(BytesIO(output.getvalue())) as written:
        (offset,), (count,) = written.tag_v2[_STRIP_OFFSETS], written.tag_v2[_STRIP_BYTES]
    return PicturePage(
        raster.width,
        raster.height,
        picture.size,
        output.getvalue()[offset : offset + count],
        "CCITTFaxDecode",
        bits=1,
        parameters=f"/K -1 /Columns {picture.width} /Rows {picture.height} /BlackIs1 true",
    )
