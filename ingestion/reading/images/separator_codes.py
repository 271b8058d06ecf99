"""Reads the QR codes of separator sheets from a page image.

The product prints these sheets (`ingestion.documents.separator_sheets`). What the text of a code
means is known to `ingestion.rules.segmentation.separators`.
"""

from ingestion.reading.images.render import PageRaster

PREFIX = "siteledger:sep:"  # the texts of other codes are not part of what a page says
CODES_DPI = 100  # A printed module has 5 pixels or more. A higher resolution takes longer.


def read_separator_codes(raster: PageRaster) -> tuple[str, ...]:
    """Return the different texts of the separator codes on a page, which may lie on any side."""
    import zxingcpp  # noqa: PLC0415 - most processes read no page with a code

    found = zxingcpp.read_barcodes(
        raster.downsampled(CODES_DPI).grey,
        formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode),
    )
    return tuple(dict.fromkeys(each.text for each in found if each.text.startswith(PREFIX)))
