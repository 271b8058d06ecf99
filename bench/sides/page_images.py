"""Measures the accuracy of our reading of page images beside that of three other programs.

`python -m bench.sides.page_images GROUP COUNT SEED [CORPUS]` reads COUNT pages of a group with each
side and prints JSON: for each side, the word F1 and the character error rate of each page. The
group `real` consists of the pages of the corpus that have a ground truth.

- ours: the Reader with default settings: with the second engine if `requirements-ocr.txt` is
  installed, unless `--one-engine` is given.
- tesseract: Tesseract 5 on the grey image, without preparation.
- OCRmyPDF, RapidOCR: as they come, if they are installed (`make bench-rivals`).
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from rapidfuzz.distance import Levenshtein

from bench.documents.scans import (
    KINDS,
    ScannedPage,
    make_bordered_table_scans,
    make_column_scans,
    make_dotted_table_scans,
    make_four_up_scans,
    make_scans,
    make_stamped_scans,
    make_two_up_scans,
    make_typewritten_scans,
)
from bench.sides import rivals
from bench.sides.accuracy import (
    LIMITS,
    f1,
    load_raster,
    read_files,
    read_plain_page,
    with_second_engine,
)
from bench.sides.reading import AT_ONCE

REAL = "real"
OURS, TESSERACT, OCRMYPDF, RAPIDOCR = "ours", "tesseract", "OCRmyPDF", "RapidOCR"
COMPOSED: Mapping[str, Callable[[int, str], Iterator[ScannedPage]]] = {
    "four-up": make_four_up_scans,
    "two-up": make_two_up_scans,
    "columns": make_column_scans,
    "bordered table": make_bordered_table_scans,
    "dotted table": make_dotted_table_scans,
    "stamp": make_stamped_scans,
    "typewritten": make_typewritten_scans,
}
GROUPS = (*KINDS, *COMPOSED, REAL)
LEADER = re.compile(r"[._·•…]{3,}|…")
ONE_THREAD = {**os.environ, "OMP_THREAD_LIMIT": "1"}


@dataclass(frozen=True, slots=True)
class Score:
    """The accuracy of one page."""

    f1: float  # of the words in any order, 0 to 1
    error_rate: float  # of the characters in their order; 0 is perfect, and at most 1 is counted


class PageTruth(NamedTuple):
    """The words on a page in reading order, and those of a stamp on it."""

    words: Sequence[str]
    stamp: Sequence[str] = ()


def measure(
    group: str,
    count: int,
    seed: str,
    corpus: Path | None,
    sides: Sequence[str],
    *,
    one_engine: bool = False,
) -> dict[str, list[Score]]:
    """Return the scores of each page of a group by side. Sides that are absent are left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = _find_pages(group, count, seed, corpus, folder)
        paths = [path for path, _ in pages]
        texts: dict[str, Sequence[str]] = {}
        if OURS in sides:
            texts[OURS] = _read_with_ours(paths, one_engine=one_engine)
        if TESSERACT in sides:
            with ProcessPoolExecutor(AT_ONCE) as processes:
                texts[TESSERACT] = [
                    " ".join(words) for words in processes.map(read_plain_page, paths)
                ]
        if OCRMYPDF in sides and rivals.OCRMYPDF.exists():
            with ThreadPoolExecutor(AT_ONCE) as threads:
                texts[OCRMYPDF] = list(threads.map(_read_with_ocrmypdf, paths))
        if RAPIDOCR in sides and rivals.PYTHON.exists():
            texts[RAPIDOCR] = _read_with_rapidocr(paths, folder)
        return {
            side: [
                score(text, " ".join(page.words), page.stamp)
                for text, (_, page) in zip(read, pages, strict=True)
            ]
            for side, read in texts.items()
        }


def score(text: str, truth: str, stamp: Sequence[str] = ()) -> Score:
    """Return the accuracy of a text that was read. White space is one blank, whatever it is.

    Leaders are left out of both texts. The words of a stamp may be among those that were read.
    """
    words, true_words = _without_leaders(text), _without_leaders(truth)
    words = _without_stamp(words, true_words, stamp)
    distance = Levenshtein.distance(" ".join(words), " ".join(true_words))
    return Score(f1(words, true_words), min(distance / max(len(" ".join(true_words)), 1), 1.0))


def _without_leaders(text: str) -> list[str]:
    """Return the words of a text without leaders such as `.....`, also where a word has one."""
    words = (LEADER.sub(" ", word) for word in text.split())
    return [part for word in words for part in word.split()]


def _without_stamp(
    words: Sequence[str], true_words: Sequence[str], stamp: Sequence[str]
) -> list[str]:
    """Return the words without those of the stamp, unless they are print of the page as well."""
    extra = Counter(words) - Counter(true_words)
    left = Counter(stamp) & extra
    kept = []
    for word in words:
        if left[word]:
            left[word] -= 1
        else:
            kept.append(word)
    return kept


def _find_pages(
    group: str, count: int, seed: str, corpus: Path | None, folder: Path
) -> list[tuple[Path, PageTruth]]:
    """Return the files of a group with the words on them. `folder` is for generated ones."""
    if group == REAL:
        truths = sorted((corpus / "gt").iterdir()) if corpus else []
        return [
            (path.parents[1] / path.stem, PageTruth(path.read_text().split()))
            for path in truths[:count]
        ]
    make = COMPOSED.get(group)
    scans = make(count, seed) if make else make_scans(group, count, seed)
    pages = []
    for number, scan in enumerate(scans):
        path = folder / f"{number:03}.pdf"
        path.write_bytes(scan.content)
        pages.append((path, PageTruth(scan.words, scan.stamp)))
    return pages


def _read_with_ours(paths: Sequence[Path], *, one_engine: bool) -> Sequence[str]:
    limits = LIMITS if one_engine else with_second_engine(LIMITS)
    readings = asyncio.run(read_files(paths, limits))
    return [reading.text if reading else "" for reading in readings]


def _read_with_ocrmypdf(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Path(folder) / "text"
        command = [*rivals.ocrmypdf(path, sidecar, at_once=1)]
        if path.suffix != ".pdf":  # an image that may not state its resolution
            command += ["--image-dpi", str(round(load_raster(path).dpi))]
        subprocess.run(command, env=ONE_THREAD, check=True, stdout=subprocess.DEVNULL)
        return sidecar.read_text()


def _read_with_rapidocr(paths: Sequence[Path], folder: Path) -> Sequence[str]:
    images = []
    for number, path in enumerate(paths):
        images.append(str(folder / f"{number:03}.pgm"))
        Image.fromarray(load_raster(path).grey).save(images[-1])
    script = Path(__file__).with_name("rapidocr_pages.py")
    command = [str(rivals.PYTHON), "-P", str(script), *images]
    result = subprocess.run(command, env=ONE_THREAD, check=True, capture_output=True, text=True)
    texts: list[str] = json.loads(result.stdout.splitlines()[-1])
    return texts


def main() -> None:
    """Measure the group that the command line names, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("count", type=int)
    parser.add_argument("seed")
    parser.add_argument("corpus", type=Path, nargs="?")
    sides = [OURS, TESSERACT, OCRMYPDF, RAPIDOCR]
    parser.add_argument("--sides", nargs="+", choices=sides, default=sides)
    parser.add_argument("--one-engine", action="store_true", help="ours reads with Tesseract alone")
    options = parser.parse_args()
    found = measure(
        options.group,
        options.count,
        options.seed,
        options.corpus,
        options.sides,
        one_engine=options.one_engine,
    )
    print(json.dumps({side: [asdict(each) for each in pages] for side, pages in found.items()}))


if __name__ == "__main__":
    main()
