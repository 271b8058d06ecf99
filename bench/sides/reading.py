"""Runs the sides of a measurement of reading, each in its own process.

`python -m bench.sides.reading SIDE FOLDER` reads every file of a folder and prints the results as
JSON.

- ours: the Reader with default settings; its children return only counts. `--dpi` is its limit.
  With `--whole`, one task reads all scanned pages of a document, for comparison.
- bare: the OCR engine with the same settings, two at a time, on decoded images: tesserocr if it is
  installed, else the tesseract program.
- usual: only pypdf, in a ProcessPoolExecutor: the text of each page, and form fields.
- loop: the same, one file after the other.
"""

import argparse
import asyncio
import hashlib
import importlib.util
import json
import logging
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from PIL import Image

from bench.sides import reading_counts
from bench.sides.reading_counts import ReadingCounts, count_reading
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import ProbedDocument
from ingestion.reading.ocr.language_data import find_tessdata
from ingestion.reading.processes import pool
from ingestion.reading.processes.pool import Reader

AT_ONCE = 2  # child processes of each side
PAGE_MODE, LSTM_ONLY = "3", "1"  # as in the product's engines


async def ours(paths: Sequence[Path], limits: ReadingLimits) -> Mapping[Path, ReadingCounts]:
    """Read the files with our Reader, and return their counts."""
    async with Reader(limits, preload=[reading_counts.__name__]) as reader:

        async def read(path: Path) -> ReadingCounts:
            sha256 = await asyncio.to_thread(_hash_file, path)
            return await reader.read_then(count_reading, path, sha256)

        return dict(zip(paths, await asyncio.gather(*map(read, paths)), strict=True))


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bare(pictures: Sequence[Path]) -> Mapping[Path, ReadingCounts]:
    """Read images whose names contain their resolution, such as 0001-300.pgm."""
    if importlib.util.find_spec("tesserocr"):
        with ProcessPoolExecutor(AT_ONCE, initializer=_start_engine) as processes:
            tables = list(processes.map(_recognize, pictures))
    else:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            tables = list(threads.map(_run_tesseract, pictures))
    return {
        path: ReadingCounts(1, 0, len(table)) for path, table in zip(pictures, tables, strict=True)
    }


_engine: Any = None


def _start_engine() -> None:
    import tesserocr

    global _engine  # noqa: PLW0603 - one for each child
    _engine = tesserocr.PyTessBaseAPI(
        path=f"{find_tessdata('eng')}/", lang="eng", psm=int(PAGE_MODE), oem=tesserocr.OEM.LSTM_ONLY
    )


def _recognize(picture: Path) -> str:
    with Image.open(picture) as opened:
        _engine.SetImage(opened)
    _engine.SetSourceResolution(_dpi(picture))
    _engine.Recognize()
    table: str = _engine.GetTSVText(0)
    return table


def _run_tesseract(picture: Path) -> str:
    command = ["tesseract", str(picture), "stdout", "-l", "eng", "--dpi", str(_dpi(picture))]
    command += ["--psm", PAGE_MODE, "--oem", LSTM_ONLY, "tsv"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return result.stdout


def _dpi(picture: Path) -> int:
    return int(picture.stem.rpartition("-")[2])


def usual(paths: Sequence[Path]) -> Mapping[Path, ReadingCounts]:
    """Read the files with pypdf in a pool of processes, and return their counts."""
    with ProcessPoolExecutor(AT_ONCE, initializer=logging.disable) as processes:
        return dict(zip(paths, processes.map(_extract, paths), strict=True))


def loop(paths: Sequence[Path]) -> Mapping[Path, ReadingCounts]:
    """Read the files with pypdf, one after the other, and return their counts."""
    logging.disable()
    return {path: _extract(path) for path in paths}


def _extract(path: Path) -> ReadingCounts:
    from pypdf import PdfReader

    reader = PdfReader(path)
    texts = [page.extract_text() for page in reader.pages]
    characters = sum(map(len, texts))
    return ReadingCounts(len(texts), 0, characters, len(reader.get_fields() or {}))


def main() -> None:
    """Read a folder with the side that the command line names, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=["ours", "bare", "usual", "loop"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dpi", type=int, default=ReadingLimits().ocr_dpi)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--page-seconds", type=float, default=ReadingLimits().page_seconds)
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.iterdir())
    limits = ReadingLimits(
        ocr_dpi=arguments.dpi, processes=AT_ONCE, page_seconds=arguments.page_seconds
    )
    if arguments.whole:
        limits = replace(limits, task_seconds=3600.0)

        def keep_whole(document: ProbedDocument, processes: int) -> Iterator[ProbedDocument]:
            yield document.part(document.scans)

        pool._split_scans = keep_whole  # noqa: SLF001 - there is no such setting
    sides: dict[str, Callable[[], Mapping[Path, ReadingCounts]]] = {
        "ours": lambda: asyncio.run(ours(paths, limits)),
        "bare": lambda: bare(paths),
        "usual": lambda: usual(paths),
        "loop": lambda: loop(paths),
    }
    counts = sides[arguments.side]()
    print(json.dumps({path.name: asdict(each) for path, each in counts.items()}))


if __name__ == "__main__":
    main()
