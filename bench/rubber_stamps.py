"""Counts the rubber stamps that are found on generated scans, and those found where none is.

`python -m bench.rubber_stamps` prints each stamp that was missed and the figures of each kind of
ink. Give another `--seed` for scans that nobody has seen before. docs/added-marks.md has the
figures.
"""

import argparse
import asyncio
import hashlib
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import AddedMark, DocumentReading
from samples.documents import make_sample
from samples.people_and_sites import SITES
from samples.scanned_marks import (
    FONTS,
    PHRASES,
    RubberStamp,
    Scanner,
    choose_rubber_stamp,
    press_stamp,
    print_pages,
    scan_pages,
)

TODAY = date(2026, 11, 1)
TYPES = (
    "irb-approval", "form-fda-1572", "cv", "delegation-log", "protocol-signature-page",
    "gcp-certificate", "financial-disclosure", "lab-normal-ranges",
)  # fmt: skip
SCANNERS: Mapping[str, Sequence[Scanner]] = {
    "coloured": (Scanner.OFFICE_COLOUR, Scanner.PHONE),
    "grey": (Scanner.OFFICE_GREY, Scanner.OFFICE_COLOUR, Scanner.PHONE),
    "none": tuple(Scanner),
}


def make_scans(
    ink: str, count: int, seed: str, fonts: Sequence[str]
) -> Iterator[tuple[RubberStamp | None, bytes]]:
    """Yield scans of the first pages of specimens, each with its stamp."""
    for number in range(count):
        rng = random.Random(f"{ink} {seed} {number}")
        content = make_sample(
            rng.choice(TYPES), today=TODAY, site=rng.choice(SITES), seed=rng.randint(0, 10**6)
        )
        page, stamp = print_pages(content)[0], None
        if ink != "none":
            phrase = PHRASES[number % len(PHRASES)]
            stamp = choose_rubber_stamp(
                phrase, f"{seed} {number}", coloured=ink == "coloured", fonts=fonts
            )
            page, _ = press_stamp(page, stamp)
        scanner = SCANNERS[ink][number % len(SCANNERS[ink])]
        yield stamp, scan_pages([page], scanner, seed=f"{ink} {seed} {number}")


async def read_marks(reader: Reader, content: bytes) -> Sequence[AddedMark]:
    """Return the added marks of a file; none if it could not be read."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(content)
        file.flush()
        reading = await reader.read(Path(file.name), hashlib.sha256(content).hexdigest())
    if not isinstance(reading, DocumentReading):
        return ()
    return [mark for page in reading.pages for mark in page.added_marks]


async def _measure(ink: str, count: int, seed: str, fonts: Sequence[str]) -> tuple[int, int]:
    """Return how many stamps were found, and how many marks are none of a stamp."""
    found = wrong = 0
    async with Reader(ReadingLimits(processes=1)) as reader:
        for stamp, content in make_scans(ink, count, seed, fonts):
            texts = [mark.text for mark in await read_marks(reader, content)]
            wrong += sum(stamp is None or text != stamp.phrase for text in texts)
            if stamp and stamp.phrase in texts:
                found += 1
            elif stamp:
                print(f"missed: {stamp}", flush=True)
    return found, wrong


def main(arguments: Sequence[str]) -> None:
    """Print the figures of each kind of ink."""
    parser = argparse.ArgumentParser(prog="python -m bench.rubber_stamps")
    parser.add_argument("--ink", action="append", choices=SCANNERS)
    parser.add_argument("--count", type=int, default=42)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--font", action="append", help="a TrueType file; by default, PDF's own")
    options = parser.parse_args(arguments)
    for file in options.font or ():
        registerFont(TTFont(Path(file).stem, file))
    fonts = tuple(Path(file).stem for file in options.font or ()) or FONTS
    for ink in options.ink or SCANNERS:
        found, wrong = asyncio.run(_measure(ink, options.count, options.seed, fonts))
        print(f"{ink:10} scans {options.count}, found {found}, wrong {wrong}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
