"""Where bytes wait before they are archived. A port like the archive: a folder now.

`uploads/` holds what people sent, fsynced and hashed before it is registered; it stays until its
document is settled. `attempts/<lease>/` holds what a shift fetches, and goes when the lease ends.
"""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingestion.archive import fsync_folder


@dataclass(frozen=True, slots=True)
class Spooled:
    key: str  # below the spool's root
    sha256: str
    size: int  # bytes


def keep(chunks: Iterable[bytes]) -> Spooled:
    """Write an upload to the disk for good, hashing it on the way. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    target = path_of(key)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    try:
        with target.open("xb") as out:
            for chunk in chunks:
                out.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            out.flush()
            os.fsync(out.fileno())
        fsync_folder(target.parent)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return Spooled(key, digest.hexdigest(), size)


def again(kept: Spooled) -> Spooled:
    """The same bytes under a key of their own, so that each may be dropped. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    path_of(key).hardlink_to(path_of(kept.key))  # nobody ever writes to what is kept
    fsync_folder(path_of(key).parent)
    return Spooled(key, kept.sha256, kept.size)


def path_of(key: str) -> Path:
    return Path(settings.SPOOL_DIR) / key


def drop(key: str) -> None:
    """Idempotent: its document is settled, or was never registered."""
    path_of(key).unlink(missing_ok=True)


def attempt_folder(lease: uuid.UUID) -> Path:
    """Where one lease of a chunk puts what it fetches."""
    folder = path_of(f"attempts/{lease}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def attempts() -> list[uuid.UUID]:
    """Leases that have a folder here."""
    root = path_of("attempts")
    return [uuid.UUID(folder.name) for folder in root.iterdir()] if root.is_dir() else []


def drop_attempt(lease: uuid.UUID) -> None:
    shutil.rmtree(path_of(f"attempts/{lease}"), ignore_errors=True)
