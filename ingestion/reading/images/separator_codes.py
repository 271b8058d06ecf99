"""The QR codes of separator sheets on a scanned page."""

import zxingcpp

from .render import PageRaster

PREFIX = "siteledger:sep:"  # the texts of other QR codes are not part of what a page says
CODE_DPI = 120  # enough for the modules of a code of 4 cm or more, and much faster than the scan's


def read_separator_codes(raster: PageRaster) -> tuple[str, ...]:
    """Return the texts of the codes that the product prints on separator sheets.

    Takes a few milliseconds. The page may lie on any side.
    """
    step = max(1, int(raster.dpi / CODE_DPI))
    found = zxingcpp.read_barcodes(
        raster.grey[::step, ::step].copy(),
        formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode),
    )
    return tuple(each.text for each in found if each.text.startswith(PREFIX))
