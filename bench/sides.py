"""The sides of a measurement of reading, each in its own process.

`python -m bench.sides SIDE FOLDER` reads every file of a folder and prints the results as JSON.

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

from bench import seen
from bench.seen import Seen
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import ProbedDocument
from ingestion.reading.ocr.engines import find_tessdata
from ingestion.reading.processes import pool
from ingestion.reading.processes.pool import Reader

AT_ONCE = 2  # child processes of each side
PAGE_MODE, LSTM_ONLY = "3", "1"  # as in the product's engines


async def ours(paths: Sequence[Path], limits: ReadingLimits) -> Mapping[Path, Seen]:
    async with Reader(limits, preload=[seen.__name__]) as reader:

        async def read(path: Path) -> Seen:
            sha256 = await asyncio.to_thread(_hash, path)
            return await reader.read_then(seen.counted, path, sha256)

        return dict(zip(paths, await asyncio.gather(*map(read, paths)), strict=True))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _whole(document: ProbedDocument, processes: int) -> Iterator[ProbedDocument]:
    yield document.part(document.scans)


def bare(pictures: Sequence[Path]) -> Mapping[Path, Seen]:
    """Read images whose names contain their resolution, such as 0001-300.pgm."""
    if importlib.util.find_spec("tesserocr"):
        with ProcessPoolExecutor(AT_ONCE, initializer=_start_engine) as processes:
            tables = list(processes.map(_recognized, pictures))
    else:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            tables = list(threads.map(_recognized_outside, pictures))
    return {path: Seen(1, 0, len(each)) for path, each in zip(pictures, tables, strict=True)}


_engine: Any = None


def _start_engine() -> None:
    import tesserocr  # noqa: PLC0415 - no other side needs it

    global _engine  # noqa: PLW0603 - one for each child
    _engine = tesserocr.PyTessBaseAPI(
        path=f"{find_tessdata('eng')}/", lang="eng", psm=int(PAGE_MODE), oem=tesserocr.OEM.LSTM_ONLY
    )


def _recognized(picture: Path) -> str:
    with Image.open(picture) as opened:
        _engine.SetImage(opened)
    _engine.SetSourceResolution(_dpi(picture))
    _engine.Recognize()
    table: str = _engine.GetTSVText(0)
    return table


def _recognized_outside(picture: Path) -> str:
    command = ["tesseract", str(picture), "stdout", "-l", "eng", "--dpi", str(_dpi(picture))]
    command += ["--psm", PAGE_MODE, "--oem", LSTM_ONLY, "tsv"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def _dpi(picture: Path) -> int:
    return int(picture.stem.rpartition("-")[2])


def usual(paths: Sequence[Path]) -> Mapping[Path, Seen]:
    with ProcessPoolExecutor(AT_ONCE, initializer=logging.disable) as processes:
        return dict(zip(paths, processes.map(_extracted, paths), strict=True))


def loop(paths: Sequence[Path]) -> Mapping[Path, Seen]:
    logging.disable()
    return {path: _extracted(path) for path in paths}


def _extracted(path: Path) -> Seen:
    from pypdf import PdfReader  # noqa: PLC0415 - no other side needs it

    reader = PdfReader(path)
    texts = [page.extract_text() for page in reader.pages]
    return Seen(len(texts), 0, sum(map(len, texts)), len(reader.get_fields() or {}))


def main() -> None:
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
        pool._split_scans = _whole  # noqa: SLF001 - there is no such setting
    sides: dict[str, Callable[[], Mapping[Path, Seen]]] = {
        "ours": lambda: asyncio.run(ours(paths, limits)),
        "bare": lambda: bare(paths),
        "usual": lambda: usual(paths),
        "loop": lambda: loop(paths),
    }
    found = sides[arguments.side]()
    print(json.dumps({path.name: asdict(each) for path, each in found.items()}))


if __name__ == "__main__":
    main()
