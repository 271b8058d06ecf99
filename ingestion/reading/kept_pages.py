"""Keeps the pages that OCR has read, so that a document is continued after its worker died.

Each page is a file of its own, which the parser process writes as soon as it has read the page. So
a worker that is killed loses only the pages that its processes are reading. The folder of a
document is named after everything that decides what is read: the bytes of the file, the code of
this package, the limits and settings, and the versions of the libraries. A page is used again only
if the OCR engine has the version that read it.

`storage.finished_stages` says where the folders are, and removes them.
"""

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from .limits import ReadingLimits
from .results import PageReading

# Libraries that render, correct or read pages. Those that are not installed do not count.
LIBRARIES = (
    "numpy",
    "opencv-python-headless",
    "pillow",
    "pypdfium2",
    "pytesseract",
    "rapidocr",
    "tesserocr",
)
_DIGEST_BYTES = 32  # of SHA-256, before the content of a file


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page that OCR read."""

    page: PageReading
    engine: str  # its version
    note: str = ""  # about the second engine, as in `OcrPages.engine`


def get_folder(
    root: Path, sha256: str, limits: ReadingLimits, *, with_form: bool, expected_language: str = ""
) -> Path:
    """Return the folder for the pages of a file with these bytes, read under these limits."""
    described = replace(
        limits,
        processes=1,  # how many of them read does not change what they read
        tasks_per_process=1,
        second_engine=Path("second") if limits.second_engine else None,
    )
    how = f"{described} {with_form} {expected_language}"
    versions = f"{_digest_reading_code()} {_list_versions()} {how}"
    return root / f"{sha256}-{hashlib.sha256(versions.encode()).hexdigest()[:32]}"


def keep_page(folder: Path, kept: KeptPage) -> None:
    """Store a page. If that fails, for example because the disk is full, it is read again."""
    content = zlib.compress(orjson.dumps(kept, default=list), 1)
    path = folder / f"{kept.page.number}"
    partial = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_bytes(hashlib.sha256(content).digest() + content)
        partial.replace(path)


def load_page(folder: Path, number: int) -> KeptPage | None:
    """Return a stored page, or None if there is none or its file is damaged."""
    try:
        stored = (folder / f"{number}").read_bytes()
    except OSError:
        return None
    digest, content = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        return None
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only after a worker died

    try:
        kept = TypeAdapter(KeptPage).validate_json(zlib.decompress(content))
    except ValidationError:
        return None
    # JSON has no tuples, and the sequences of a reading are tuples.
    names = ("words", "marks", "empty_squares", "added_marks", "forms", "separator_codes")
    sequences: dict[str, Any] = {name: tuple(getattr(kept.page, name)) for name in names}
    return replace(kept, page=replace(kept.page, **sequences))


@cache
def _digest_reading_code() -> str:
    """Return a digest of all files of this package, which changes whenever its code changes."""
    digest = hashlib.sha256()
    for path in _list_code():
        digest.update(f"{path.name} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _list_code() -> Iterator[Path]:
    root = Path(__file__).parent
    yield from sorted(
        path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


@cache
def _list_versions() -> str:
    found = []
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join(found)
