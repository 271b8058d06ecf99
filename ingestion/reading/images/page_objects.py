"""Lists the objects of a PDF page with pdfium: text, paths, images, and form XObjects.

pdfium's functions are called directly and not through pypdfium2's classes, because a page has
hundreds of objects and few questions are asked of each.
"""

from collections.abc import Iterable, Iterator
from ctypes import byref, c_float, sizeof
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from .pdfium_calls import get_bounds, get_object, get_object_in_form, get_object_type

MAX_OBJECTS_PER_PAGE = 20_000  # objects of one page that are examined
MAX_ANNOTATIONS_PER_PAGE = 5_000  # annotations of one page that are examined
MAX_FORM_DEPTH = 8  # levels of form XObjects within form XObjects

PdfRect = tuple[float, float, float, float]  # left, bottom, right, top; points, y upwards


class PageObject(NamedTuple):
    """One object of a page. `form` is the form XObject that contains it."""

    raw: Any
    kind: int  # pdfium.FPDF_PAGEOBJ_...
    level: int  # of nesting: 0 on the page itself
    form: "PageObject | None"

    @property
    def rect(self) -> PdfRect:
        """Return the object's bounds on the page, in points. Raises PdfiumError."""
        numbers = c_float(), c_float(), c_float(), c_float()
        if not pdfium.FPDFPageObj_GetBounds(self.raw, *map(byref, numbers)):
            raise pypdfium2.PdfiumError("an object of the page has no bounds")
        left, bottom, right, top = (number.value for number in numbers)
        holder = self.form
        while holder is not None:  # inside a form, bounds are in the form's own coordinates
            left, bottom, right, top = holder.matrix.on_rect(left, bottom, right, top)
            holder = holder.form
        return left, bottom, right, top

    @property
    def matrix(self) -> pypdfium2.PdfMatrix:
        """Return the object's transformation matrix. Raises PdfiumError."""
        matrix = pdfium.FS_MATRIX()
        if not pdfium.FPDFPageObj_GetMatrix(self.raw, byref(matrix)):
            raise pypdfium2.PdfiumError("an object of the page has no matrix")
        return pypdfium2.PdfMatrix.from_raw(matrix)


def iter_page_objects(page: pypdfium2.PdfPage, *kinds: int) -> Iterator[PageObject]:
    """Yield the objects of a page, all of them or those of some kinds.

    The objects of a form XObject follow the form.
    """
    raw_page, form = page.raw, pdfium.FPDF_PAGEOBJ_FORM
    new = tuple.__new__  # an object is made without the call of its class, as pages have hundreds
    for index in range(pdfium.FPDFPage_CountObjects(raw_page)):
        raw = get_object(raw_page, index)
        kind = get_object_type(raw)
        if not kinds or kind in kinds:
            yield new(PageObject, (raw, kind, 0, None))
        if kind == form:
            yield from _objects_in_form(PageObject(raw, kind, 0, None), kinds)


def list_object_rects(objects: Iterable[PageObject]) -> list[PdfRect]:
    """Return the bounds of many objects on the page, in points. Raises PdfiumError.

    It takes half the time of `PageObject.rect` for each. The matrix of a form is read once.
    """
    numbers = (c_float * 4)()
    references = tuple(
        byref(c_float.from_buffer(numbers, sizeof(c_float) * index)) for index in range(4)
    )
    bounds = memoryview(numbers).cast("B").cast("f")  # is read faster than the array
    matrices: dict[int, pypdfium2.PdfMatrix] = {}
    rects: list[PdfRect] = []
    for item in objects:
        if not get_bounds(item.raw, *references):
            raise pypdfium2.PdfiumError("an object of the page has no bounds")
        left, bottom, right, top = bounds
        holder = item.form
        while holder is not None:
            if id(holder) not in matrices:
                matrices[id(holder)] = holder.matrix
            left, bottom, right, top = matrices[id(holder)].on_rect(left, bottom, right, top)
            holder = holder.form
        rects.append((left, bottom, right, top))
    return rects


def iter_annotations(page: pypdfium2.PdfPage) -> Iterator[Any]:
    """Yield the annotations of a page. Each one is closed when the next one is requested."""
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS_PER_PAGE)):
        if annotation := pdfium.FPDFPage_GetAnnot(page, index):
            yield annotation
            pdfium.FPDFPage_CloseAnnot(annotation)


def is_expanded_form(item: PageObject) -> bool:
    """Return whether this is a form XObject whose objects are listed too."""
    return item.kind == pdfium.FPDF_PAGEOBJ_FORM and item.level < MAX_FORM_DEPTH - 1


def _objects_in_form(form: PageObject, kinds: tuple[int, ...]) -> Iterator[PageObject]:
    if not is_expanded_form(form):
        return
    for index in range(pdfium.FPDFFormObj_CountObjects(form.raw)):
        raw = get_object_in_form(form.raw, index)
        kind = get_object_type(raw)
        item = PageObject(raw, kind, form.level + 1, form)
        if not kinds or kind in kinds:
            yield item
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _objects_in_form(item, kinds)
