"""Measures the search for strike-outs on generated scans.

`python -m bench.strike_outs` strikes words of specimens out with a pen, scans the pages again, and
reads them. `--clean` scans the same pages without a strike-out. Give another `--seed` for scans
that nobody has seen before. docs/added-marks.md has the figures.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import date

import pypdfium2

from bench.rubber_stamps import TYPES, read_marks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import AddedMarkKind, Box
from samples.documents import make_sample
from samples.people_and_sites import SITES
from samples.scanned_marks import Rect, Scanner, print_pages, scan_pages, strike_by_hand

TODAY = date(2026, 11, 1)
MIN_WIDTH, MAX_WIDTH = 30.0, 160.0  # points of the words that are struck out
MIN_HEIGHT, MAX_HEIGHT = 5.0, 16.0  # points of their lines
MAX_DISTANCE = 14.0  # points between the middle of a strike-out and of the mark that is found


def make_scans(count: int, seed: str, *, is_clean: bool) -> Iterator[tuple[Box | None, bytes]]:
    """Yield scans of the first pages of specimens, each with the place of its strike-out."""
    for number in range(count):
        rng = random.Random(f"strike-outs {seed} {number}")
        content = make_sample(
            rng.choice(TYPES), today=TODAY, site=rng.choice(SITES), seed=rng.randint(0, 10**6)
        )
        page, place = print_pages(content)[0], None
        if not is_clean:
            words, height = _choose_words(content, rng)
            initials = rng.choice(("", "M W"))
            page = strike_by_hand(page, words, seed=f"{seed} {number}", initials=initials)
            place = Box(words[0], height - words[3], words[2], height - words[1])
        scanner = tuple(Scanner)[number % len(Scanner)]
        yield place, scan_pages([page], scanner, seed=f"strike-outs {seed} {number}")


def _choose_words(content: bytes, rng: random.Random) -> tuple[Rect, float]:
    """Return the place of some words of the first page of a PDF, and the height of the page."""
    with pypdfium2.PdfDocument(content) as pdf:
        text = pdf[0].get_textpage()
        places = [text.get_rect(number) for number in range(text.count_rects())]
        height = pdf[0].get_height()
    left, bottom, right, top = rng.choice(
        [
            place
            for place in places
            if place[2] - place[0] > MIN_WIDTH and MIN_HEIGHT < place[3] - place[1] < MAX_HEIGHT
        ]
    )
    width = min(right - left, rng.uniform(MIN_WIDTH, MAX_WIDTH))
    left += rng.uniform(0, right - left - width)
    return (left, bottom, left + width, top), height


def _is_at(mark: Box, place: Box) -> bool:
    """Return whether a mark is where words were struck out. A scan is slightly skewed."""
    middle = (mark.left + mark.right) / 2
    level = (mark.top + mark.bottom - place.top - place.bottom) / 2
    is_level = abs(level) < MAX_DISTANCE
    return is_level and place.left - MAX_DISTANCE < middle < place.right + MAX_DISTANCE


async def _measure(count: int, seed: str, *, is_clean: bool) -> tuple[int, int]:
    """Return how many strike-outs were found, and how many were found where none is."""
    found = wrong = 0
    async with Reader(ReadingLimits(processes=1)) as reader:
        for place, content in make_scans(count, seed, is_clean=is_clean):
            marks = [
                mark.box
                for mark in await read_marks(reader, content)
                if mark.kind is AddedMarkKind.STRUCK_OUT
            ]
            right = [mark for mark in marks if place and _is_at(mark, place)]
            found += bool(right)
            wrong += len(marks) - len(right)
    return found, wrong


def main(arguments: Sequence[str]) -> None:
    """Print how many strike-outs were found."""
    parser = argparse.ArgumentParser(prog="python -m bench.strike_outs")
    parser.add_argument("--count", type=int, default=42)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--clean", action="store_true")
    options = parser.parse_args(arguments)
    found, wrong = asyncio.run(_measure(options.count, options.seed, is_clean=options.clean))
    print(f"scans {options.count}, found {found}, wrong {wrong}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
