"""Opens image files with Pillow: JPEG, PNG, TIFF, WebP and HEIF, each only when it is needed.

It runs in parser processes only. pi-heif decodes HEIF and HEIC and can only read; it turns an image
upright by the orientation in the file, and then reports no EXIF orientation.
"""

from collections.abc import Mapping
from pathlib import Path

from PIL import Image, TiffImagePlugin

from ingestion.reading.results import MediaType, Unreadable

_COMPRESSION_TAG = 259  # TIFF 6.0, section 8
# Compressions of TIFF that Pillow and its libtiff decode, by number: none, CCITT of three kinds,
# LZW, old-style JPEG, JPEG, Deflate (two numbers), PackBits, CCITT with word alignment, LZMA and
# Zstandard.
DECODED_COMPRESSIONS = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 32946, 32773, 32771, 34925, 50000})
# The names of others, for the sentence of a finding.
COMPRESSION_NAMES: Mapping[int, str] = {
    9: "JBIG (T.85)",
    10: "JBIG (T.43)",
    32766: "NeXT RLE",
    32809: "ThunderScan",
    34661: "JBIG",
    34676: "SGI Log",
    34677: "SGI Log 24",
    34712: "JPEG 2000",
    34887: "LERC",
    50001: "WebP",
    50002: "JPEG XL",
    52546: "JPEG XL",
}


def open_image(path: Path, media_type: MediaType) -> Image.Image:
    """Open an image file as a context manager. No pixels are decoded yet.

    Raises the errors of Pillow, which have no common class.
    """
    if media_type is MediaType.HEIC:
        import pi_heif  # noqa: PLC0415 - few files need it

        # Thumbnails and depth maps are no pages.
        pi_heif.register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    return Image.open(path)


def find_unsupported_compression(path: Path) -> Unreadable | None:
    """Return why the first page of a TIFF file cannot be decoded by its compression, or None.

    A file whose directory cannot be read is not judged here.
    """
    try:
        with path.open("rb") as file:
            directory = TiffImagePlugin.ImageFileDirectory_v2(file.read(8))
            file.seek(directory.next)
            directory.load(file)
            number = int(directory.get(_COMPRESSION_TAG, 1))
    except Exception:  # noqa: BLE001 - Pillow raises many classes for a damaged file
        return None
    if number in DECODED_COMPRESSIONS:
        return None
    return Unreadable(
        "UNSUPPORTED_TYPE", {"compression": COMPRESSION_NAMES.get(number, str(number))}
    )
