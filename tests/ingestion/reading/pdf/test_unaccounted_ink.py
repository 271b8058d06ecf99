"""Signatures on born-digital pages, in all ways in which a program may draw them."""

from datetime import date

import numpy as np
import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium
import pytest
from PIL import Image, ImageDraw

from ingestion.reading.images.marks import find_marks
from ingestion.reading.images.render import render_page
from ingestion.reading.pdf.text_layer import find_words
from ingestion.reading.pdf.unaccounted_ink import find_unaccounted_areas
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.pages import FILLABLE, PAGES
from samples.renditions import Rendition
from tests.ingestion.reading.documents import LIMITS, make_pdf, read, rewrite, save

BOX = (85, 200, 225, 255)  # points from the bottom left: where the signature is


def strokes(steps=6, wide=120, high=40):
    """Return the content stream of a signature that starts at the origin."""
    each = wide / steps
    curves = [
        f"{at} 8 m {at + 4} {high} {at + 16} {high - 4} {at + 12} 6 c "
        f"{at + 10} 0 {at + 18} 14 {at + each} 10 c"
        for at in (each * step for step in range(steps))
    ]
    return f"1.3 w {' '.join(curves)} S".encode()


def stream(pdf, contents, **entries):
    made = pdf.make_stream(contents)
    for key, value in entries.items():
        made[f"/{key}"] = value
    return pdf.make_indirect(made)


def drawn(pdf, contents, **resources):
    """Append `contents` to the page, with the resources that they name."""
    page = pdf.pages[0]
    for kind, named in resources.items():
        page.obj.Resources[f"/{kind}"] = pikepdf.Dictionary(
            {**dict(page.obj.Resources.get(f"/{kind}", {})), **named}
        )
    page.contents_add(b"q " + contents + b" Q")


def form(pdf, contents, **entries):
    entries = {"BBox": [-5, -5, 140, 60], "Resources": pikepdf.Dictionary(), **entries}
    return stream(pdf, contents, Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, **entries)


def a_path(pdf):
    drawn(pdf, b"1 0 0 1 90 206 cm " + strokes())


def a_path_of_many_short_lines(pdf):
    points = [(90 + step / 2, 214 + 14 * np.sin(step / 7)) for step in range(240)]
    pieces = [f"{x:.2f} {y:.2f} {'l' if at else 'm'}" for at, (x, y) in enumerate(points)]
    drawn(pdf, f"1.3 w {' '.join(pieces)} S".encode())


def squares(pdf):
    """Draw small upright squares only, like the pixels of a tablet."""
    points = {(90 + step // 2, round(214 + 14 * np.sin(step / 14))) for step in range(240)}
    drawn(pdf, " ".join(f"{x} {y} 1.4 1.4 re" for x, y in sorted(points)).encode() + b" f")


def a_form(pdf):
    drawn(pdf, b"1 0 0 1 90 206 cm /S Do", XObject={"/S": form(pdf, strokes())})


def a_form_within_a_form_turned(pdf):
    inner = form(pdf, strokes())
    resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=inner))
    outer = form(pdf, b"0 -1 1 0 0 140 cm /I Do", Resources=resources, BBox=[-5, -5, 60, 150])
    drawn(pdf, b"0 1 -1 0 230 206 cm /S Do", XObject={"/S": outer})


def a_picture(pdf, *, alpha=False):
    picture = Image.new("L", (500, 160), 255)
    pen = ImageDraw.Draw(picture)
    pen.line([(x, 80 + 60 * np.sin(x / 18)) for x in range(10, 490)], fill=20, width=6)
    pixels, size = picture.tobytes(), {"Width": 500, "Height": 160, "BitsPerComponent": 8}
    kind = {"Type": pikepdf.Name.XObject, "Subtype": pikepdf.Name.Image}
    grey = {"ColorSpace": pikepdf.Name.DeviceGray, **kind, **size}
    image = stream(pdf, bytes(len(pixels)) if alpha else pixels, **grey)
    if alpha:
        image.SMask = stream(pdf, bytes(255 - level for level in pixels), **grey)
    drawn(pdf, b"125 0 0 40 90 210 cm /I Do", XObject={"/I": image})


def a_picture_with_alpha(pdf):
    a_picture(pdf, alpha=True)


def a_pattern(pdf):
    tile = stream(
        pdf,
        b"1 0 0 1 90 206 cm " + strokes(),
        Type=pikepdf.Name.Pattern,
        PatternType=1,
        PaintType=1,
        TilingType=1,
        BBox=[0, 0, 612, 792],
        XStep=612,
        YStep=792,
        Resources=pikepdf.Dictionary(),
    )
    drawn(pdf, b"/Pattern cs /P scn 85 200 140 55 re f", Pattern={"/P": tile})


def a_clip(pdf):
    """Draw a plain rectangle through a clip path with the shape of a signature."""
    loops = " ".join(
        f"{x} 210 m {x + 4} 250 {x + 16} 246 {x + 12} 208 c {x + 9} 212 l"
        f" {x + 12} 240 {x + 6} 244 {x + 2} 210 c h"
        for x in range(90, 210, 20)
    )
    drawn(pdf, f"{loops} W n 85 200 140 55 re f".encode())


def a_mask(pdf):
    """Draw a plain rectangle through a mask with the shape of a signature."""
    shape = form(
        pdf,
        b"1 G 1 0 0 1 90 206 cm " + strokes(),
        BBox=[0, 0, 612, 792],
        Group=pikepdf.Dictionary(S=pikepdf.Name.Transparency, CS=pikepdf.Name.DeviceGray),
    )
    mask = pikepdf.Dictionary(Type=pikepdf.Name.Mask, S=pikepdf.Name.Luminosity, G=shape)
    state = pikepdf.Dictionary(Type=pikepdf.Name.ExtGState, SMask=mask)
    drawn(pdf, b"/M gs 85 200 140 55 re f", ExtGState={"/M": state})


def annotation(pdf, subtype, *, appearance, **entries):
    left, bottom, right, top = BOX
    made = pikepdf.Dictionary(
        Type=pikepdf.Name.Annot, Subtype=subtype, Rect=[left, bottom, right, top], F=4, **entries
    )
    if appearance:
        appearance = form(pdf, strokes(), BBox=[0, 0, right - left, top - bottom])
        made.AP = pikepdf.Dictionary(N=appearance)
    pdf.pages[0].obj.Annots = pdf.make_indirect(pikepdf.Array([pdf.make_indirect(made)]))


def ink(pdf, *, appearance=True):
    points = [v for x in range(120) for v in (90 + x, 225 + 14 * np.sin(x / 6))]
    annotation(
        pdf,
        pikepdf.Name.Ink,
        appearance=appearance,
        InkList=pikepdf.Array([pikepdf.Array([round(float(v), 2) for v in points])]),
        C=[0, 0, 0],
        BS=pikepdf.Dictionary(W=2),
    )


def ink_that_the_reader_draws(pdf):
    ink(pdf, appearance=False)


def a_stamp(pdf):
    annotation(pdf, pikepdf.Name.Stamp, appearance=True)


def a_link_with_a_look(pdf):
    annotation(pdf, pikepdf.Name.Link, appearance=True)


def letters(pdf, *, means=None, contents=b"/F 40 Tf 90 214 Td (a) Tj"):
    """Draw with a font of type 3 whose only glyph is a signature."""
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type3,
        FontBBox=[0, 0, 0, 0],
        FontMatrix=[0.025, 0, 0, 0.025, 0, 0],
        CharProcs=pikepdf.Dictionary(a=pdf.make_stream(b"120 0 d0 " + strokes())),
        Encoding=pikepdf.Dictionary(
            Type=pikepdf.Name.Encoding, Differences=[97, pikepdf.Name("/a")]
        ),
        FirstChar=97,
        LastChar=97,
        Widths=[120],
        Resources=pikepdf.Dictionary(),
    )
    if means is not None:
        font.ToUnicode = pdf.make_stream(
            b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <ff>"
            b" endcodespacerange 1 beginbfchar <61> <%04x> endbfchar endcmap end" % ord(means)
        )
    drawn(pdf, b"BT " + contents + b" ET", Font={"/F": pdf.make_indirect(font)})


def a_letter_that_is_a_blank(pdf):
    letters(pdf, means=" ")


def a_letter_without_a_meaning(pdf):
    letters(pdf)


HANDS = [
    a_path,
    a_path_of_many_short_lines,
    squares,
    a_form,
    a_form_within_a_form_turned,
    a_picture,
    a_picture_with_alpha,
    a_pattern,
    a_clip,
    a_mask,
    ink,
    ink_that_the_reader_draws,
    a_stamp,
    a_link_with_a_look,
    a_letter_that_is_a_blank,
    a_letter_without_a_meaning,
]


def marks(folder, content):
    (page,) = read(save(folder, content)).pages
    return page.marks


@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.__name__)
def test_a_signature_is_found_regardless_of_how_it_was_drawn(tmp_path, hand):
    (mark,) = marks(tmp_path, rewrite(make_pdf(), hand))
    assert BOX[0] - 3 < mark.left < mark.right < BOX[2] + 3
    assert 792 - BOX[3] - 3 < mark.top < mark.bottom < 792 - BOX[1] + 3


def test_a_space_in_a_type_3_font_is_not_a_signature(tmp_path):
    def blanks(pdf):
        letters(pdf, contents=b"/F 40 Tf 90 214 Td ( ) Tj")

    assert marks(tmp_path, rewrite(make_pdf(), blanks)) == ()


def table(pdf):
    """Draw rules, tinted and dark cells, a dashed line, and check boxes."""
    rows = " ".join(f"72 {y} m 540 {y} l S 72 {y} m 72 {y + 20} l S" for y in range(300, 420, 20))
    fills = "0.9 g 72 420 468 20 re f 0.2 g 72 440 468 20 re f"
    ticks = " ".join(f"{x} 260 8 8 re S" for x in range(72, 400, 60))
    drawn(pdf, f"{rows} {fills} {ticks} [3 2] 0 d 72 280 m 320 280 l S".encode())


def areas(content):
    with pypdfium2.PdfDocument(content) as document:
        page = document[0]
        return find_unaccounted_areas(page, find_words(page, page.get_textpage()).printed)


def test_print_and_rules_leave_no_area_to_render():
    assert areas(make_pdf()) == []
    assert areas(rewrite(make_pdf(), table)) == []


def test_only_the_place_of_a_signature_is_rendered():
    (area,) = areas(rewrite(rewrite(make_pdf(), table), a_path))
    assert BOX[0] - 20 < area.left < area.right < BOX[2] + 20
    assert 792 - BOX[3] - 20 < area.top < area.bottom < 792 - BOX[1] + 20


def test_areas_do_not_overlap():
    def scattered(pdf):
        lines = (f"{x} {y} m {x + 30} {y + 15} l S" for x, y in [(90, 214), (128, 214), (400, 600)])
        drawn(pdf, " ".join(lines).encode())

    first, second = areas(rewrite(make_pdf(), scattered))
    assert not first.intersects(second)


def whole(path):
    """Yield the marks in a raster of each page, without knowledge of its objects."""
    with pypdfium2.PdfDocument(path) as document:
        document.init_forms()
        for page in document:
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        for page in document:
            words = find_words(page, page.get_textpage()).all
            yield find_marks(render_page(page, 100, LIMITS), words)


@pytest.mark.parametrize("fault", [None, DocumentFault.UNSIGNED], ids=["signed", "unsigned"])
@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", PAGES)
def test_the_same_marks_are_found_as_in_a_raster_of_the_whole_page(tmp_path, kind, fault):
    renditions = [Rendition.BORN_DIGITAL, *[Rendition.FILLABLE_FORM] * (kind in FILLABLE)]
    for rendition in renditions:
        content = make_sample(kind, today=date(2026, 11, 20), rendition=rendition, fault=fault)
        path = save(tmp_path, content)
        for page, seen in zip(read(path).pages, whole(path), strict=True):
            assert all(any(mark.intersects(other) for other in page.marks) for mark in seen)
            assert all(any(mark.intersects(other) for other in seen) for mark in page.marks)


def test_a_small_area_is_searched_only_at_the_edge_of_the_page():
    def cross(x):
        return lambda pdf: drawn(pdf, f"{x} 400 m {x + 8} 408 l S".encode())

    assert areas(rewrite(make_pdf(), cross(300))) == []
    assert len(areas(rewrite(make_pdf(), cross(2)))) == 1
