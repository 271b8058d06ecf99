"""The sides of a measurement of reading, each in a process of its own.

`python -m bench.sides SIDE FOLDER` reads every file of a folder and tells as JSON what it saw.

- ours: the Reader as it is shipped; only counts come back from its children. `--dpi` is its cap.
  With `--whole` one task reads all scanned pages of a document, which is how it is not done.
- bare: the OCR engine with the same settings, two at a time, on pictures that are decoded already;
  tesserocr where it is installed, else the tesseract program.
- usual: pypdf and nothing else, in a ProcessPoolExecutor: text of each page, and form fields.
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

AT_ONCE = 2  # children of every side
PAGE_MODE, LSTM_ONLY = "3", "1"  # as the product's engines have them


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
    """Of pictures that are named after their resolution, as in 0001-300.pgm."""
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
    asked = parser.parse_args()
    paths = sorted(asked.folder.iterdir())
    limits = ReadingLimits(ocr_dpi=asked.dpi, processes=AT_ONCE, page_seconds=asked.page_seconds)
    if asked.whole:
        limits = replace(limits, task_seconds=3600.0)
        pool._split_scans = _whole  # noqa: SLF001 - there is no such setting
    sides: dict[str, Callable[[], Mapping[Path, Seen]]] = {
        "ours": lambda: asyncio.run(ours(paths, limits)),
        "bare": lambda: bare(paths),
        "usual": lambda: usual(paths),
        "loop": lambda: loop(paths),
    }
    found = sides[asked.side]()
    print(json.dumps({path.name: asdict(each) for path, each in found.items()}))


if __name__ == "__main__":
    main()
