"""Measures how well the printed values of documents are read, if their types are known.

`python -m bench.values working` counts the values of the invented documents of
`value_texts/working.pages` by field, and names each value that was not read exactly. `unseen` does
the same with `value_texts/unseen.pages`, and prints totals only. `real` does it with the real
documents of `../shared/corpus/real`. `--ocr` renders the invented documents and reads the images.
docs/assessment.md describes the measurement.

An invented document is written as a layout (`samples.layouts.markup`). Its first line names its
type, its name, and the font, the size and the alignment of titles. A value is printed where
`{field=value}` stands in the text. `{field:=value}` prints nothing: it is for a value whose parts
stand in several places. All documents of an institution are in the same file.
"""

import argparse
import io
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from reportlab.lib.pagesizes import LETTER, landscape
from reportlab.platypus import SimpleDocTemplate

from bench.documents.type_examples import CORPUS, LIMITS, read_corpus
from ingestion.assessment.scores import ComparedValue, Outcome, compare_values
from ingestion.assessment.truth import Truth
from ingestion.reading.merge import merge_pages
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.reading.tasks import probe_document, read_scans
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import read_fields
from samples.layouts.markup import Typography, make_flowables

TEXTS = Path(__file__).with_name("value_texts")
DECISIONS = tuple(slug for slug, kind in TYPES.items() if kind.family == "ethics-decision")
WORKING, UNSEEN, REAL = "working", "unseen", "real"
ALL, PERSON = "all", "person"
OCR_DPI = 200
_HEAD = re.compile(r"^=== (\S+) (\S+)(.*)\n", re.MULTILINE)
_VALUE = re.compile(r"\{(\w+)(:?)=([^}]*)\}")
_MARGIN = 54


@dataclass(frozen=True, slots=True)
class ValueDocument:
    """An invented document, and the values that are printed in it."""

    slug: str
    name: str
    content: bytes  # the PDF
    values: Mapping[str, str]


def make_documents(file: Path) -> Iterator[ValueDocument]:
    """Yield the invented documents of a file."""
    _, *parts = _HEAD.split(file.read_text(encoding="utf-8"))
    for slug, name, options, text in zip(*(parts[place::4] for place in range(4)), strict=True):
        values = {match[1]: " ".join(match[3].split()) for match in _VALUE.finditer(text)}
        printed = _VALUE.sub(lambda match: "" if match[2] else match[3], text)
        chosen = dict(option.split("=") for option in options.split())
        yield ValueDocument(slug, name, _typeset(printed, chosen, name), values)


def _typeset(text: str, options: Mapping[str, str], seed: str) -> bytes:
    typography = Typography(
        options.get("font", "times"),
        float(options.get("size", 10.5)),
        seed,
        options.get("titles", "centre"),
    )
    size = landscape(LETTER) if "landscape" in options else LETTER
    output = io.BytesIO()
    template = SimpleDocTemplate(
        output,
        pagesize=size,
        leftMargin=_MARGIN,
        rightMargin=_MARGIN,
        topMargin=_MARGIN,
        bottomMargin=_MARGIN,
        invariant=1,
    )
    template.build(make_flowables(text, typography, size[0] - 2 * _MARGIN - 12))
    return output.getvalue()


def _render(content: bytes) -> bytes:
    """Return a PDF with images of the pages only."""
    with pypdfium2.PdfDocument(content) as pdf:
        images = [page.render(scale=OCR_DPI / 72).to_pil().convert("L") for page in pdf]
    output = io.BytesIO()
    images[0].save(output, "PDF", save_all=True, append_images=images[1:], resolution=OCR_DPI)
    return output.getvalue()


def compare_invented(file: Path, *, ocr: bool) -> Iterator[tuple[str, str, ComparedValue]]:
    """Yield the type, the name of the document and the comparison of each printed value."""
    with tempfile.TemporaryDirectory() as folder:
        for document in make_documents(file):
            content = _render(document.content) if ocr else document.content
            reading = read_content(content, Path(folder))
            fields = read_fields(reading, TYPES[document.slug])
            for each in compare_values(document.values, document.slug, fields):
                yield document.slug, document.name, each


def read_content(content: bytes, folder: Path) -> DocumentReading:
    """Return the reading of a PDF, in this process. Raises TypeError if it cannot be read."""
    path = folder / "document.pdf"
    path.write_bytes(content)
    probe = probe_document(path, folder / "rewritten.pdf", LIMITS)
    if isinstance(probe, Unreadable):
        raise TypeError(f"cannot be read: {probe}")
    ocr = [read_scans(probe.part(probe.scans), LIMITS)] if probe.scans else []
    reading = merge_pages(probe, ocr)
    if isinstance(reading, Unreadable):
        raise TypeError(f"cannot be read: {reading}")
    return reading


def compare_real() -> Iterator[tuple[str, str, ComparedValue]]:
    """Yield the same for the real documents in English of a supported type."""
    readings = read_corpus()
    for file in Truth.load(CORPUS / "truth.json").files:
        document = file.true_documents[0]
        if document.type not in TYPES or file.file not in readings:
            continue
        slug = document.type
        fields = read_fields(readings[file.file], TYPES[slug])
        for each in compare_values(document.values, slug, fields):
            yield slug, file.file, each


def describe(compared: Iterable[tuple[str, str, ComparedValue]], *, named: bool) -> str:
    """Return the counts as lines of text, by field and in total."""
    counts: dict[str, Counter[Outcome]] = {}
    lines = []
    for slug, name, each in compared:
        for group in (each.name, f"[{slug}]", ALL):
            counts.setdefault(group, Counter())[each.outcome] += 1
        if named and each.outcome is not Outcome.EXACT:
            lines.append(
                f"{each.outcome}: {slug} {name}: {each.name}: {each.printed!r}, read {each.read!r}"
            )
    for group in sorted(counts):
        found = counts[group]
        if named or group in {ALL, PERSON}:
            numbers = ", ".join(f"{outcome} {found[outcome]}" for outcome in Outcome)
            lines.append(f"{group:28} {found.total():4} values: {numbers}")
    return "\n".join(lines)


def main() -> None:
    """Compare the values that the command line names, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[WORKING, UNSEEN, REAL])
    parser.add_argument("--ocr", action="store_true")
    options = parser.parse_args()
    if options.what == REAL:
        compared = compare_real()
    else:
        compared = compare_invented(TEXTS / f"{options.what}.pages", ocr=options.ocr)
    print(describe(compared, named=options.what != UNSEEN))


if __name__ == "__main__":
    main()
