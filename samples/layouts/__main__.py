"""Write the specimens of all layouts with their truth: `python -m samples.layouts DIR`.

DIR gets one PDF for each layout and `truth.json`, which `manage.py assess_corpus` reads.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image

from ingestion.rules.document_types import TYPES
from samples.layouts.specimen import LAYOUTS, OTHER, OTHER_LAYOUTS, Specimen, make_specimen

_THUMBNAIL = (220, 300)  # pixels
_SHEET_COLUMNS = 8


def main() -> None:
    """Write the specimens that the command line selects."""
    parser = argparse.ArgumentParser(prog="python -m samples.layouts", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--type", choices=[*LAYOUTS, OTHER], action="append", dest="types")
    parser.add_argument(
        "--sheet", action="store_true", help="also write the first pages, sheet.png"
    )
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    specimens = [
        make_specimen(slug, layout, arguments.seed)
        for slug in arguments.types or [*LAYOUTS, OTHER]
        for layout in (OTHER_LAYOUTS if slug == OTHER else LAYOUTS[slug])
    ]
    truth = []
    for specimen in specimens:
        path = arguments.directory / f"{specimen.slug}__{specimen.layout}.pdf"
        path.write_bytes(specimen.content)
        truth.append(_describe(specimen, path.name))
    text = json.dumps(truth, indent=1, ensure_ascii=False)
    (arguments.directory / "truth.json").write_text(text + "\n", encoding="utf-8")
    if arguments.sheet:
        _make_sheet(specimens).save(arguments.directory / "sheet.png")


def _describe(specimen: Specimen, name: str) -> dict[str, object]:
    """Return the truth about a specimen as docs/assessment.md describes it."""
    kind = TYPES.get(specimen.slug)
    fields = {spec.name for spec in kind.fields} | {"signature_date"} if kind else set()
    document = pdfium.PdfDocument(specimen.content)
    pages = len(document)
    document.close()
    return {
        "file": name,
        "type": specimen.slug if kind else f"{OTHER}:{specimen.layout}",
        "language": "en",
        "pages": pages,
        "values": {key: text for key, text in specimen.values.items() if key in fields},
    }


def _make_sheet(specimens: Sequence[Specimen]) -> Image.Image:
    """Return the first pages of specimens as one picture."""
    width, height = _THUMBNAIL
    rows = -(-len(specimens) // _SHEET_COLUMNS)
    sheet = Image.new("L", (width * _SHEET_COLUMNS, height * rows), 200)
    for place, specimen in enumerate(specimens):
        document = pdfium.PdfDocument(specimen.content)
        page = document[0].render(scale=0.5, grayscale=True).to_pil()
        document.close()
        page.thumbnail((width - 6, height - 6))
        row, column = divmod(place, _SHEET_COLUMNS)
        sheet.paste(page, (column * width + 3, row * height + 3))
    return sheet


if __name__ == "__main__":
    main()
