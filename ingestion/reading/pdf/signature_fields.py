"""Lists the signature fields of a PDF that have a value, and the places where they are shown.

qpdf lists the fields that have a signature or pretend to have one. `digital_signatures` validates
them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pikepdf

from ingestion.reading.images.page_objects import PdfRect

from .active_content import get_array, is_signed_field, iter_field_ancestry, iter_form_fields

MAX_CONTENTS_BYTES = 1_000_000  # of one signature; with all of its evidence, one has 100,000
MIN_WIDGET_POINTS = 1  # sides of a field that is visible
MAX_NAME_CHARACTERS = 120  # of a name or a reason that is reported
_HIDDEN_FLAGS = 1 << 1 | 1 << 5  # Hidden and NoView (ISO 32000-2, table 167)


@dataclass(frozen=True, slots=True)
class SignatureWidget:
    """A place on a page where a signature field is shown."""

    page: int  # from 1
    rect: PdfRect


@dataclass(frozen=True, slots=True)
class SignatureField:
    """A signature field with a value, as qpdf reads it."""

    name: str
    number: tuple[int, int]  # object and generation number; (0, 0) for a direct object
    is_empty: bool
    is_large: bool  # whether the value has more bytes than `MAX_CONTENTS_BYTES`
    widgets: tuple[SignatureWidget, ...]  # the visible ones


def list_signature_fields(opened: pikepdf.Pdf) -> Iterator[SignatureField]:
    """Yield the signature fields that have a value, in the order of the form.

    Raises one of QPDF_ERRORS if the form cannot be read.
    """
    widgets: dict[tuple[int, int], list[SignatureWidget]] = {}
    for number, page in enumerate(opened.pages, start=1):
        for each in get_array(page.obj, "/Annots"):
            if isinstance(each, pikepdf.Dictionary) and (rect := _visible_rect(each)):
                widgets.setdefault(each.objgen, []).append(SignatureWidget(number, rect))
    for field in iter_form_fields(opened):
        if not is_signed_field(field):
            continue
        # A value that does not state which bytes it covers is no signature.
        has_range = isinstance(field.V, pikepdf.Dictionary) and "/ByteRange" in field.V
        contents = field.V.get("/Contents") if has_range else None
        content = bytes(contents) if isinstance(contents, pikepdf.String) else b""
        names = (each.get("/T") for each in iter_field_ancestry(field))
        parts = [str(name) for name in names if isinstance(name, pikepdf.String)]
        yield SignatureField(
            name=make_printable_line(".".join(reversed(parts))),
            number=field.objgen,
            is_empty=not content.strip(b"\0"),
            is_large=len(content) > MAX_CONTENTS_BYTES,
            widgets=tuple(
                widget
                for each in (field, *get_array(field, "/Kids"))
                if isinstance(each, pikepdf.Dictionary) and each.is_indirect
                for widget in widgets.get(each.objgen, ())
            ),
        )


def _visible_rect(annotation: pikepdf.Object) -> PdfRect | None:
    """Return the place of an annotation, or None if it has no area or is hidden."""
    try:
        x1, y1, x2, y2 = (float(side) for side in annotation.Rect)
        is_hidden = int(annotation.get("/F", 0)) & _HIDDEN_FLAGS
    except (AttributeError, TypeError, ValueError):
        return None
    left, bottom, right, top = min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
    has_area = right - left > MIN_WIDGET_POINTS and top - bottom > MIN_WIDGET_POINTS
    return (left, bottom, right, top) if has_area and not is_hidden else None


def make_printable_line(text: str) -> str:
    """Return the text on one line, printable and bounded, for sentences and records."""
    characters = (each if each.isprintable() else " " for each in text)
    return " ".join("".join(characters).split())[:MAX_NAME_CHARACTERS]
