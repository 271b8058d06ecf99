"""Keeps what workers finished of documents that are not decided yet: fetched bytes, pages read.

If a worker dies, the next one continues with them. They are below SPOOL_DIR/finished, on the host
that made them: a worker on another host fetches and reads again, unless the hosts share SPOOL_DIR.

`fetched/<sha256>` has the bytes of a document, and `fetched/<document>.json` says which bytes were
fetched for it. `pages/` has a folder for each file that OCR reads (`reading.kept_pages`). All of it
is removed when the document is decided. What remains of others is removed after
MAX_AGE_SECONDS, and earlier, the oldest first, if it takes more than FINISHED_STAGES_MB.
"""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from audit.files import durable
from ingestion.core.ports import Fetched

MAX_AGE_SECONDS = 86_400.0  # a document of a dead worker is due again within a minute


def get_pages_folder() -> Path | None:
    """Return the folder for pages that were read, or None if FINISHED_STAGES_MB is 0."""
    return _get_folder("pages") if settings.FINISHED_STAGES_MB else None


def keep_fetched(document: int, fetched: Fetched) -> None:
    """Keep the bytes of a document. If that fails, they are fetched again after a crash.

    `document` is the primary key. The bytes are linked and not copied.
    """
    if not settings.FINISHED_STAGES_MB:
        return
    folder = _get_folder("fetched")
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            (folder / fetched.sha256).hardlink_to(fetched.path)
        described = {
            "sha256": fetched.sha256,
            "size": fetched.size,
            "facts": dict(fetched.facts),
            "etag": fetched.etag,
        }
        partial = folder / f"{document}.partial"
        partial.write_text(json.dumps(described))
        partial.replace(folder / f"{document}.json")


def open_fetched(document: int, folder: Path) -> Fetched | None:
    """Return the bytes that a dead worker fetched for a document, linked into `folder`, or None.

    They are hashed, so damaged bytes are not used.
    """
    kept = _get_folder("fetched")
    try:
        described = json.loads((kept / f"{document}.json").read_text())
        sha256 = described["sha256"]
        path = folder / f"{document}-kept"
        path.hardlink_to(kept / sha256)
        digest = durable.hash_file(path)
    except (OSError, ValueError, KeyError):
        return None
    if digest.sha256 != sha256:
        return None
    return Fetched(path, sha256, digest.size, facts=described["facts"], etag=described["etag"])


def drop(document: int, sha256: str) -> None:
    """Remove what was kept of a document that is decided."""
    fetched = _get_folder("fetched")
    for name in (f"{document}.json", sha256):
        (fetched / name).unlink(missing_ok=True)
    for folder in _get_folder("pages").glob(f"{sha256}-*"):
        shutil.rmtree(folder, ignore_errors=True)


def prune() -> int:
    """Remove what is too old, and what is too much. Returns how many files and folders."""
    now, removed, size = time.time(), 0, 0
    kept = sorted(_list_kept(), key=lambda each: each[0], reverse=True)
    for changed_at, path in kept:
        size += _measure(path)
        if now - changed_at <= MAX_AGE_SECONDS and size <= settings.FINISHED_STAGES_MB * 1_000_000:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        removed += 1
    return removed


def _list_kept() -> Iterator[tuple[float, Path]]:
    """Yield each file of fetched bytes and each folder of pages, with its last change."""
    for name in ("fetched", "pages"):
        folder = _get_folder(name)
        for path in folder.iterdir() if folder.is_dir() else ():
            with suppress(FileNotFoundError):
                # A link has the time of the change of the file, and its own time of creation.
                stat = path.stat()
                yield (stat.st_mtime if path.is_dir() else stat.st_ctime), path


def _measure(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    size = 0
    with suppress(FileNotFoundError):
        for each in path.iterdir() if path.is_dir() else (path,):
            with suppress(FileNotFoundError):
                size += each.stat().st_size
    return size


def _get_folder(name: str) -> Path:
    return Path(settings.SPOOL_DIR) / "finished" / name
