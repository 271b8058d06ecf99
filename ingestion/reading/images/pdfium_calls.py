"""Calls pdfium's functions directly, for loops over thousands of words or objects.

Most of the time of a short call is the conversion of its arguments to the types that pypdfium2
declares. The functions here leave it out, and take a third of the time.
"""

from ctypes import CFUNCTYPE, c_void_p, cast
from typing import Any

import pypdfium2.raw as pdfium


def _without_conversion(function: Any, result: Any = None) -> Any:
    """Return a function of pdfium that checks and converts no argument.

    Pointers have to be ctypes objects of the right type, and numbers have to be whole numbers that
    the C function takes as `int`. `result` is the type of its result, if it is another one than
    pypdfium2 declares.
    """
    address: Any = cast(function, c_void_p).value
    return CFUNCTYPE(result or function.restype)(address)


count_rects = _without_conversion(pdfium.FPDFText_CountRects)
get_rect = _without_conversion(pdfium.FPDFText_GetRect)
has_unicode_map_error = _without_conversion(pdfium.FPDFText_HasUnicodeMapError)
get_object = _without_conversion(pdfium.FPDFPage_GetObject)
get_object_in_form = _without_conversion(pdfium.FPDFFormObj_GetObject)
get_text_render_mode = _without_conversion(pdfium.FPDFTextObj_GetTextRenderMode)
get_object_type = _without_conversion(pdfium.FPDFPageObj_GetType)
get_bounds = _without_conversion(pdfium.FPDFPageObj_GetBounds)
count_segments = _without_conversion(pdfium.FPDFPath_CountSegments)
get_draw_mode = _without_conversion(pdfium.FPDFPath_GetDrawMode)
get_fill_colour = _without_conversion(pdfium.FPDFPageObj_GetFillColor)
get_path_segment = _without_conversion(pdfium.FPDFPath_GetPathSegment)
get_segment_point = _without_conversion(pdfium.FPDFPathSegment_GetPoint)
get_segment_type = _without_conversion(pdfium.FPDFPathSegment_GetType)
# The font as a number, which distinguishes it from others; None without a font.
get_font_address = _without_conversion(pdfium.FPDFTextObj_GetFont, c_void_p)
set_is_active = _without_conversion(pdfium.FPDFPageObj_SetIsActive)
