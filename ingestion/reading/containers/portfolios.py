"""Opens PDF portfolios as packets: PDF files with a collection of embedded files.

The pages of a portfolio itself are usually a cover sheet for viewers that show no portfolios. Such
a page is set aside. Any other page of it becomes a document.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pikepdf
import pypdfium2

from audit.translation import gettext_noop as _
from ingestion.core.file_parts import Division, DocumentPart, FilePart, PageExclusion, PageUse
from ingestion.reading.containers.entry_writer import ContainerRefused, EntryWriter
from ingestion.reading.limits import ReadingLimits

CHUNK_BYTES: Final = 1 << 16
MAX_COVER_WORDS: Final = 60  # of a cover sheet that names the program it needs
_NAMES_A_PROGRAM = re.compile(r"\b(acrobat|adobe|reader|portfolio|package)\b", re.IGNORECASE)


def write_entries(path: Path, writer: EntryWriter, limits: ReadingLimits) -> tuple[Division, int]:
    """Write the embedded files of a portfolio. Returns the account of its pages, and their number.

    Raises ContainerRefused, and the errors of pikepdf and pypdfium2.
    """
    with pikepdf.open(path) as pdf:
        seen = set()
        for name, specification in pdf.attachments.items():
            filename = specification.filename or name
            if filename.casefold() in seen:
                raise ContainerRefused(_("two files in it have the same name"))
            seen.add(filename.casefold())
            writer.add(filename, _read(specification.get_file().obj))
    return _account_for_pages(path, limits)


def _read(stream: pikepdf.Object) -> Iterator[bytes]:
    """Yield the bytes of an embedded file. The memory limit of the process bounds its size."""
    content = bytes(stream.read_bytes())
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def _account_for_pages(path: Path, limits: ReadingLimits) -> tuple[Division, int]:
    with pypdfium2.PdfDocument(path) as pdf:
        count = len(pdf)
        if count > limits.max_pages:
            raise ContainerRefused(_("it contains too many pages"))
        texts = [page.get_textpage().get_text_bounded() for page in pdf]
    if all(map(_is_cover, texts)):
        covers = (
            PageExclusion(FilePart(number, number), PageUse.COVER) for number in range(1, count + 1)
        )
        return Division((), tuple(covers)), count
    return Division((DocumentPart(FilePart(1, count)),)), count


def _is_cover(text: str) -> bool:
    """Return whether a page only asks for a program that shows portfolios.

    A page without text may be a scan, so it is no cover.
    """
    words = text.split()
    return len(words) <= MAX_COVER_WORDS and bool(_NAMES_A_PROGRAM.search(text))
