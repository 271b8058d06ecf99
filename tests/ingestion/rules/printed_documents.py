"""Real PDFs set from lines of text, signed by a pen: what the samples do not hold."""

import asyncio
import hashlib
import io

from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from samples.ink import draw_signature
from samples.renditions import make_scan

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


def read_documents(folder, contents):
    """Return the readings by name, made in the pool of parser processes as in production."""
    for name, content in contents.items():
        (folder / f"{name}.pdf").write_bytes(content)
    return dict(zip(contents, read_all([folder / f"{name}.pdf" for name in contents]), strict=True))


def read_all(files):

    async def read():
        async with Reader(ReadingLimits(processes=2)) as reader:
            hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
            reads = (reader.read(path, sha) for path, sha in zip(files, hashes, strict=True))
            return await asyncio.gather(*reads)

    return asyncio.run(read())
