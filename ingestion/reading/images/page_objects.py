"""What a page is made of, as pdfium lists it: text, paths, pictures, and forms that hold more.

pdfium's functions are called directly: a page has hundreds of objects, and each is asked little.
"""

from collections.abc import Iterator
from ctypes import byref, c_float
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

MAX_OBJECTS_PER_PAGE = 20_000  # of one page that are looked at
MAX_ANNOTATIONS_PER_PAGE = 5_000  # the same
MAX_FORM_DEPTH = 8  # levels, of forms within forms

PdfRect = tuple[float, float, float, float]  # left, bottom, right, top; PDF's own, upwards


class PageObject(NamedTuple):
    """One object of a page; `form` is the one that holds it."""

    raw: Any
    kind: int  # pdfium.FPDF_PAGEOBJ_...
    level: int
    form: "PageObject | None"

    @property
    def rect(self) -> PdfRect:
        """Where it is on the page. Raises PdfiumError."""
        numbers = c_float(), c_float(), c_float(), c_float()
        if not pdfium.FPDFPageObj_GetBounds(self.raw, *map(byref, numbers)):
            raise pypdfium2.PdfiumError("an object of the page has no bounds")
        left, bottom, right, top = (number.value for number in numbers)
        holder = self.form
        while holder is not None:  # inside a form the bounds are the form's own
            left, bottom, right, top = holder.matrix.on_rect(left, bottom, right, top)
            holder = holder.form
        return left, bottom, right, top

    @property
    def matrix(self) -> pypdfium2.PdfMatrix:
        matrix = pdfium.FS_MATRIX()
        if not pdfium.FPDFPageObj_GetMatrix(self.raw, byref(matrix)):
            raise pypdfium2.PdfiumError("an object of the page has no matrix")
        return pypdfium2.PdfMatrix.from_raw(matrix)


def page_objects(page: pypdfium2.PdfPage, *kinds: int) -> Iterator[PageObject]:
    """Every object of the page, or those of some kinds; what a form holds comes after the form."""
    for at in range(pdfium.FPDFPage_CountObjects(page)):
        raw = pdfium.FPDFPage_GetObject(page, at)
        kind = pdfium.FPDFPageObj_GetType(raw)
        if not kinds or kind in kinds:
            yield PageObject(raw, kind, 0, None)
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _held_by(PageObject(raw, kind, 0, None), kinds)


def annotations(page: pypdfium2.PdfPage) -> Iterator[Any]:
    """Each is closed when the next one is asked for."""
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS_PER_PAGE)):
        if annotation := pdfium.FPDFPage_GetAnnot(page, at):
            yield annotation
            pdfium.FPDFPage_CloseAnnot(annotation)


def is_expanded_form(found: PageObject) -> bool:
    """Whether it is a form whose objects are listed too."""
    return found.kind == pdfium.FPDF_PAGEOBJ_FORM and found.level < MAX_FORM_DEPTH - 1


def _held_by(form: PageObject, kinds: tuple[int, ...]) -> Iterator[PageObject]:
    if not is_expanded_form(form):
        return
    for at in range(pdfium.FPDFFormObj_CountObjects(form.raw)):
        raw = pdfium.FPDFFormObj_GetObject(form.raw, at)
        found = PageObject(raw, pdfium.FPDFPageObj_GetType(raw), form.level + 1, form)
        if not kinds or found.kind in kinds:
            yield found
        yield from _held_by(found, kinds)
