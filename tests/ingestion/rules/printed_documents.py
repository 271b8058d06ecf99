"""Real PDFs set from lines of text, signed by a pen: what the samples do not hold."""

import asyncio
import hashlib
import io
from collections.abc import Mapping
from functools import partial

from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from samples.ink import draw_signature
from samples.renditions import make_scan
from tests.ingestion.reading.documents import read, save

# The width of a letter of Courier is 0.6 of its size.
SIZE, LINE, LETTER, LEFT, TOP = 9.0, 16.0, 5.4, 60.0, 720.0  # points


def make_printed(*lines, signed="", scanned=False):
    """Return one page as a PDF. `signed`: ink above each line that contains these words."""
    output = io.BytesIO()
    canvas = Canvas(output, pagesize=(612, 792), invariant=1)
    for row, line in enumerate(lines):
        canvas.setFont("Courier", SIZE)
        canvas.setFillGray(0)
        canvas.drawString(LEFT, TOP - row * LINE, line)
        if signed and signed in line:
            left, baseline = LEFT + line.index(signed) * LETTER, TOP - row * LINE + 10
            draw_signature(canvas, "Margaret Whitfield", (left, baseline, 110, 24), "paper")
    canvas.save()
    content = output.getvalue()
    return make_scan(content, seed="paper") if scanned else content


class Readings(Mapping):
    """The readings of documents, by key. A document is made and read when a test first uses it.

    `contents` has a function for each document that returns its bytes. Parser processes read it in
    the same way (tests/ingestion/reading/processes/test_pool.py).
    """

    def __init__(self, folder, contents):
        self._folder, self._contents, self._readings = folder, contents, {}

    def __getitem__(self, key):
        if key not in self._readings:
            path = save(self._folder, self._contents[key](), f"{len(self._readings):03}.pdf")
            self._readings[key] = read(path)
        return self._readings[key]

    def __iter__(self):
        return iter(self._contents)

    def __len__(self):
        return len(self._contents)


def read_documents(folder, contents):
    """Return the readings of documents, by name, from their bytes."""
    return Readings(folder, {name: partial(bytes, content) for name, content in contents.items()})


def read_all(files):
    """Return the readings of files, made in the pool of parser processes as in production."""
    # On a busy machine, OCR of a page may take longer than production permits.
    limits = ReadingLimits(
        processes=2, page_seconds=300.0, engine_seconds=240.0, task_seconds=900.0
    )

    async def read_in_pool():
        async with Reader(limits) as reader:
            hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
            reads = (reader.read(path, sha) for path, sha in zip(files, hashes, strict=True))
            return await asyncio.gather(*reads)

    return asyncio.run(read_in_pool())
