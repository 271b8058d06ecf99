"""Measures the accuracy of reading scans in a language, beside Tesseract on the plain grey page.

`python -m bench.sides.languages LANGUAGE COUNT SEED` prints JSON: for each side, the F1 of the
words of each page, or of its characters in a language without spaces; and the share of pages whose
language was identified. The pages are specimens of `samples.layouts` in that language, in turn as
clean scans and as office scans.

- ours: the Reader with the data of all languages of the demo and the second engine, and without a
  hint.
- told: Tesseract with the data of the language.
- English: Tesseract with the data of English.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import pypdfium2

from bench.documents.scans import scan_document
from bench.sides.accuracy import ENGINE_SECONDS, LIMITS, f1, with_second_engine
from bench.sides.reading import AT_ONCE
from ingestion.reading.images.render import choose_ocr_dpi, list_images, render_page
from ingestion.reading.languages import UNSPACED
from ingestion.reading.ocr.engines import get_engine
from ingestion.reading.pdf.open_pdf import open_document
from ingestion.reading.pdf.text_layer import read_text
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading
from samples.layouts import TRANSLATED_LAYOUTS, make_translated_specimen

OURS, TOLD, ENGLISH = "ours", "Tesseract with the data of the language", "Tesseract with English"
GROUPS = tuple(TRANSLATED_LAYOUTS)
BY_CHARACTERS = UNSPACED
KINDS = ("clean", "office")
LANGUAGES = "+".join(("eng", *GROUPS))
# More time than usual, so that no page is lost while the machine is busy. Costs are not measured.
PAGE_SECONDS, TASK_SECONDS = 120.0, 600.0


def measure(language: str, count: int, seed: str) -> dict[str, object]:
    """Return the scores of each page by side, and the share of identified languages."""
    with tempfile.TemporaryDirectory() as name:
        truths = dict(islice(_make_pages(language, seed, Path(name)), count))
        paths = list(truths)
        readings = asyncio.run(_read(paths))
        texts = {OURS: [reading.text if reading else "" for reading in readings]}
        with ProcessPoolExecutor(AT_ONCE) as processes:
            for side, data in ((TOLD, language), (ENGLISH, "eng")):
                read_page = partial(read_plain_page, language=data)
                texts[side] = list(processes.map(read_page, paths))
    split = _list_characters if language in BY_CHARACTERS else _list_words
    scores = {
        side: [
            f1(split(text), split(truth)) for text, truth in zip(read, truths.values(), strict=True)
        ]
        for side, read in texts.items()
    }
    found = [reading.pages[0].language if reading else "" for reading in readings]
    return {"scores": scores, "identified": found.count(language) / len(found)}


def _make_pages(language: str, seed: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield scans with their texts, without end. The specimens differ in layout and values."""
    for number, (slug, layout) in enumerate(cycle(TRANSLATED_LAYOUTS[language])):
        content = make_translated_specimen(language, slug, layout, f"{seed} {number}").content
        with pypdfium2.PdfDocument(content) as opened:
            text = read_text(opened[0].get_textpage())
        path = folder / f"{number:03}.pdf"
        path.write_bytes(scan_document(content, KINDS[number % len(KINDS)], f"{seed} {number}"))
        yield path, text


def _list_words(text: str) -> list[str]:
    """Return the words of a text, without the lines to write on."""
    return [word for word in text.split() if word.strip("_")]


def _list_characters(text: str) -> list[str]:
    return [sign for word in _list_words(text) for sign in word if sign != "_"]


def read_plain_page(path: Path, language: str) -> str:
    """Return the text that Tesseract reads from the grey page with the data of a language."""
    with open_document(path) as pdf:
        page = pdf[0]
        dpi = choose_ocr_dpi(page, list_images(page, LIMITS), LIMITS)
        raster = render_page(page, dpi, LIMITS)
    found = get_engine(LIMITS.engine, language).recognise(
        raster.grey, round(raster.dpi), ENGINE_SECONDS
    )
    return " ".join(word.text for word in found)


async def _read(paths: Sequence[Path]) -> list[DocumentReading | None]:
    limits = replace(
        with_second_engine(LIMITS),
        languages=LANGUAGES,
        page_seconds=PAGE_SECONDS,
        engine_seconds=PAGE_SECONDS,
        task_seconds=TASK_SECONDS,
    )
    async with Reader(limits) as reader:
        found = await asyncio.gather(*(reader.read(path, path.stem) for path in paths))
    return [each if isinstance(each, DocumentReading) else None for each in found]


def main() -> None:
    """Measure the language that the command line names, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=GROUPS)
    parser.add_argument("count", type=int)
    parser.add_argument("seed")
    options = parser.parse_args()
    print(json.dumps(measure(options.language, options.count, options.seed)))


if __name__ == "__main__":
    main()
