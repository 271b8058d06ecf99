"""Writes a PDF whose pages show one picture each, and which has nothing else.

The pages are appended to the file one after the other, possibly by several processes in turn, so
that only one picture has to be in memory. The libraries that write PDFs keep the pictures of all
pages until the file is saved. The structure is that of ISO 32000-1, 7.5: a header, the objects, a
table with the place of each object, and a trailer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HEADER = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"  # the second line says that the file is binary
MIN_PAGE_POINTS, MAX_PAGE_POINTS = 3.0, 14_400.0  # of each side (ISO 32000-1, annex C)
FIRST_NUMBER = 3  # of the objects of pages; 1 is the catalogue, and 2 the list of pages
OBJECTS_PER_PAGE = 3  # the picture, the contents that show it, and the page


@dataclass(frozen=True, slots=True)
class PicturePage:
    """A page, with its picture encoded as in an image of a PDF (ISO 32000-1, 8.9.5)."""

    width: float  # points
    height: float
    pixels: tuple[int, int]  # width and height of the picture
    content: bytes
    filter: str
    bits: int = 8  # per component
    colours: str = "DeviceGray"
    parameters: str = ""  # of the filter, as entries of a dictionary


@dataclass(frozen=True, slots=True)
class WrittenPages:
    """Describes what was written so far: the place of each object, and the end of the last one."""

    offsets: tuple[int, ...] = ()
    end: int = 0


def append_pages(path: Path, written: WrittenPages, pages: Iterable[PicturePage]) -> WrittenPages:
    """Append pages to a file, whose contents after those that were `written` are overwritten."""
    offsets = list(written.offsets)
    with path.open("r+b" if written.end else "wb") as file:
        file.seek(written.end)
        file.truncate()
        if not written.end:
            file.write(HEADER)
        for page in pages:
            for body in _make_objects(page, FIRST_NUMBER + len(offsets)):
                offsets.append(file.tell())
                file.write(b"%d 0 obj\n%b\nendobj\n" % (FIRST_NUMBER + len(offsets) - 1, body))
        return WrittenPages(tuple(offsets), file.tell())


def finish_file(path: Path, written: WrittenPages) -> None:
    """Write what follows the pages: their list, the catalogue, and the table of objects."""
    numbers = range(FIRST_NUMBER, FIRST_NUMBER + len(written.offsets))
    pages = numbers[OBJECTS_PER_PAGE - 1 :: OBJECTS_PER_PAGE]
    kids = b" ".join(b"%d 0 R" % number for number in pages)
    with path.open("r+b") as file:
        file.seek(written.end)
        file.truncate()
        offsets = [file.tell()]
        file.write(b"1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\n")
        offsets.append(file.tell())
        file.write(b"2 0 obj\n<</Type /Pages /Kids [%b] /Count %d>>\nendobj\n" % (kids, len(pages)))
        start = file.tell()
        offsets += written.offsets
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1))
        file.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
        file.write(b"trailer\n<</Root 1 0 R /Size %d>>\n" % (len(offsets) + 1))
        file.write(b"startxref\n%d\n%%%%EOF\n" % start)


def _make_objects(page: PicturePage, number: int) -> tuple[bytes, bytes, bytes]:
    """Return the picture of a page, its contents and the page. `number` is that of the picture."""
    width, height = (
        round(min(max(side, MIN_PAGE_POINTS), MAX_PAGE_POINTS), 2)
        for side in (page.width, page.height)
    )
    picture = (
        f"/Type /XObject /Subtype /Image /Width {page.pixels[0]} /Height {page.pixels[1]} "
        f"/ColorSpace /{page.colours} /BitsPerComponent {page.bits} /Filter /{page.filter}"
    )
    if page.parameters:
        picture += f" /DecodeParms <<{page.parameters}>>"
    return (
        _make_stream(picture, page.content),
        _make_stream("", b"q %.2f 0 0 %.2f 0 0 cm /Picture Do Q" % (width, height)),
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R "
        b"/Resources <</XObject <</Picture %d 0 R>>>>>>" % (width, height, number + 1, number),
    )


def _make_stream(entries: str, content: bytes) -> bytes:
    head = f"<<{entries} /Length {len(content)}>>".encode("ascii")
    return head + b"\nstream\n" + content + b"\nendstream"
