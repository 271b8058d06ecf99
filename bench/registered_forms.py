"""Measures how the boxes of registered forms are read in filled forms, scanned in several ways.

`python -m bench.registered_forms` prints, for each edition and each rendition, how many boxes were
read rightly, how many were left to a person, and how many were read wrongly. A box that is filled
in and called empty is the worst of the errors. docs/registered-forms.md has the figures.
"""

import argparse
import asyncio
import hashlib
import io
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from ingestion.reading.forms.catalogue import BlankForm, read_registered_forms
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import Box, DocumentReading
from ingestion.rules.forms.boxes import NOTHING, BoxState, find_boxes
from samples.official_forms import Answer, Manner, PrintedPage, draw_form
from samples.renditions import make_scan

FAX_DPI = (204, 98)
SCAN_DPI = 200
# Texts for boxes. A box has the longest of them that fits, from a place in the list that differs.
TEXTS = (
    "Margaret Whitfield, MD",
    "Harborview Medical Center, Department of Oncology",
    "Northgate Clinical Laboratory, 8 Mill Road, Salem",
    "Central Review Board, 55 Main Street, Albany",
    "ABC-2041-301, IND 104233",
    "None",
)
POINTS_PER_LETTER = 5.4
# The manners of consecutive boxes for text. Each variant of a form begins with another one.
MANNERS = (Manner.TYPED, None, Manner.BY_HAND, Manner.TYPED, Manner.STRUCK_OUT, None)

Place = tuple[int, int]  # the page and the position of a box in its description
Expected = Mapping[Place, BoxState]


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form that is filled in, and the state of each of its boxes."""

    form: BlankForm
    content: bytes  # a PDF
    expected: Expected


def fill_form(form: BlankForm, variant: int) -> FilledForm:
    """Fill in a form. The variants differ in how each box is filled in."""
    answers, expected = [], {}
    number = variant
    for page in form.pages:
        ticks = 0
        for position, box in enumerate(page.boxes):
            manner: Manner | None
            if box.kind == "tick":
                manner = Manner.TICKED if (ticks + variant) % 2 == 0 else None
                ticks += 1
                state = BoxState.TICKED if manner else BoxState.UNTICKED
            elif box.kind == "signature":
                manner = Manner.BY_HAND if variant % 3 else None
                state = BoxState.BY_HAND if manner else BoxState.EMPTY
            else:
                manner = MANNERS[number % len(MANNERS)]
                number += 1
                state = BoxState.EMPTY if manner is None else BoxState(manner.value)
            expected[page.number, position] = state
            if manner:
                is_date = box.kind == "date" and manner is not Manner.BY_HAND
                text = "03/12/2026" if is_date else _choose_text(number, box.area)
                answers.append(Answer(page.number, (*box.area,), manner, text))
    printed = [PrintedPage(page.width, page.height, page.words, page.rules) for page in form.pages]
    return FilledForm(form, draw_form(printed, answers, seed=f"{form.key} {variant}"), expected)


def _choose_text(number: int, area: Box) -> str:
    """Return a text that fits in a box."""
    in_turn = (TEXTS[(number + step) % len(TEXTS)] for step in range(len(TEXTS)))
    room = (area.right - area.left - 20) / POINTS_PER_LETTER
    return next((text for text in in_turn if len(text) <= room), "None")


def _render(content: bytes, dpi: float) -> Iterator[Image.Image]:
    document = pypdfium2.PdfDocument(content)
    try:
        for page in document:
            yield page.render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
    finally:
        document.close()


def _to_pdf(pages: Sequence[Image.Image], dpi: float | tuple[float, float]) -> bytes:
    output = io.BytesIO()
    across, down = dpi if isinstance(dpi, tuple) else (dpi, dpi)
    if across != down:  # a PDF written by Pillow has one resolution
        height = [round(page.height * across / down) for page in pages]
        pages = [
            page.resize((page.width, rows), Image.Resampling.NEAREST)
            for page, rows in zip(pages, height, strict=True)
        ]
    pages[0].save(
        output, "PDF", resolution=across, quality=75, save_all=True, append_images=list(pages[1:])
    )
    return output.getvalue()


def _placed(page: Image.Image, *, degrees: float = 0.0, scale: float = 1.0, shift: float = 0.0
            ) -> Image.Image:  # fmt: skip
    """Return the page turned, scaled about its centre and shifted by a share of its width."""
    width, height = page.size
    turned = page.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
    smaller = turned.resize((round(width * scale), round(height * scale)), Image.Resampling.BICUBIC)
    sheet = Image.new("L", page.size, 255)
    left = round((width - smaller.width) / 2 + shift * width)
    sheet.paste(smaller, (left, round((height - smaller.height) / 2 - shift * width)))
    return sheet


def _noisy(page: Image.Image, rng: random.Random) -> Image.Image:
    noise = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
    pixels = np.asarray(page.filter(ImageFilter.GaussianBlur(0.7)), np.float32) * 0.72 + 40
    return Image.fromarray(np.clip(pixels + noise.normal(0, 16, pixels.shape), 0, 255).astype("u1"))


def _faxed(page: Image.Image) -> Image.Image:
    size = (page.width, round(page.height * FAX_DPI[1] / FAX_DPI[0]))
    return page.resize(size, Image.Resampling.BOX).point(lambda level: 255 * (level > 150))


def _each(change: Callable[[Image.Image], Image.Image]) -> Callable[[bytes, str], bytes]:
    return lambda content, seed: _to_pdf([*map(change, _render(content, SCAN_DPI))], SCAN_DPI)


RENDITIONS: Mapping[str, Callable[[bytes, str], bytes]] = {
    "digital": lambda content, seed: content,
    "office": lambda content, seed: make_scan(content, seed=seed),
    "skewed": _each(lambda page: _placed(page, degrees=3.0)),
    "reduced": _each(lambda page: _placed(page, degrees=-0.7, scale=0.95, shift=0.01)),
    "enlarged": _each(lambda page: _placed(page, degrees=0.5, scale=1.03, shift=-0.01)),
    "noisy": lambda content, seed: _to_pdf(
        [_noisy(page, random.Random(seed)) for page in _render(content, SCAN_DPI)], SCAN_DPI
    ),
    "upside down": _each(lambda page: _placed(page.rotate(180), degrees=0.8)),
    "faxed": lambda content, seed: _to_pdf(
        [_faxed(_placed(page, degrees=0.4)) for page in _render(content, FAX_DPI[0])], FAX_DPI
    ),
}


def judge(expected: BoxState, found: BoxState | None) -> str:
    """Return how a box was read: right, to a person, or what is wrong."""
    if found is None:
        return "not registered"
    if found is expected:
        return "right"
    if found in NOTHING:
        return "filled called empty"
    if expected in NOTHING and found in {BoxState.TYPED, BoxState.TICKED}:
        return "empty called filled"
    return "to a person"


def read_states(filled_form: FilledForm, contents: Mapping[str, bytes]) -> Mapping[str, Expected]:
    """Return the state of each box in each rendition of a form, as the product reads it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.pdf" for name in contents}
        for name, content in contents.items():
            paths[name].write_bytes(content)
        readings = asyncio.run(_read(paths))
    return {
        name: {
            (box.page.number, box.measured.position): box.state
            for box in find_boxes(reading, filled_form.form.document_type)
            if box.form.name == filled_form.form.name
        }
        for name, reading in readings.items()
    }


async def _read(paths: Mapping[str, Path]) -> Mapping[str, DocumentReading]:
    # What is read does not depend on how busy the machine is.
    limits = ReadingLimits(processes=1, page_seconds=300.0, task_seconds=900.0)
    async with Reader(limits) as reader:
        found = {
            name: await reader.read(path, hashlib.sha256(path.read_bytes()).hexdigest())
            for name, path in paths.items()
        }
    return {name: each for name, each in found.items() if isinstance(each, DocumentReading)}


def main(arguments: Sequence[str]) -> None:
    """Print the figures of each edition and rendition."""
    parser = argparse.ArgumentParser(prog="python -m bench.registered_forms")
    parser.add_argument("--form", action="append", help="the key of an edition; by default, all")
    parser.add_argument("--rendition", action="append", choices=RENDITIONS)
    parser.add_argument("--variants", type=int, default=1)
    options = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    for key in options.form or read_registered_forms():
        figures: dict[str, Counter[str]] = {}
        for variant in range(options.variants):
            filled_form = fill_form(read_registered_forms()[key], variant)
            contents = {
                name: RENDITIONS[name](filled_form.content, f"{key} {variant}")
                for name in options.rendition or RENDITIONS
            }
            found = read_states(filled_form, contents)
            for name in contents:
                counted = figures.setdefault(name, Counter())
                states = found.get(name, {})
                counted.update(
                    judge(state, states.get(place)) for place, state in filled_form.expected.items()
                )
        for name, counted in figures.items():
            total += counted
            print(f"{key:32} {name:12} {dict(counted)}", flush=True)
    print(f"{'all':32} {'':12} {dict(total)}")


if __name__ == "__main__":
    main(sys.argv[1:])
