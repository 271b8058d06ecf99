"""Starts the process of the second OCR engine, unless a process of this host runs already.

It imports neither the engine nor the libraries of images, because every worker imports it.
"""

import fcntl
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

LOCK_NAME, SOCKET_NAME, LOG_NAME = "engine.lock", "engine.socket", "engine.log"
MAX_SOCKET_PATH_BYTES = 107  # unix(7)
PROCESS_MODULE = "ingestion.reading.ocr.second_engine.process"
ROOT = Path(__file__).parents[4]  # the folder of manage.py

# Processes that this process started, so that they are reaped when they end.
_started: list[subprocess.Popen[bytes]] = []


class UnsafeFolder(Exception):
    """The folder of the socket belongs to another user, or others may use it."""


def start_if_needed(folder: Path) -> None:
    """Start the process of this host unless it runs. Raises UnsafeFolder or OSError.

    It does not wait: the first page waits until the models are loaded, which takes two seconds.
    What the process logs is in `engine.log` of the folder.
    """
    prepare_folder(folder)
    lock = take_lock(folder)
    if lock is None:
        return
    lock.close()
    _started[:] = [each for each in _started if each.poll() is None]
    with (folder / LOG_NAME).open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - this program, with a folder of the settings
            [sys.executable, "-m", PROCESS_MODULE, str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _started.append(process)


def prepare_folder(folder: Path) -> None:
    """Create the folder of the socket, for this user only. Raises UnsafeFolder or OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise UnsafeFolder(f"{folder} must belong to this user, with mode 0700")
    if len(os.fsencode(folder / SOCKET_NAME)) > MAX_SOCKET_PATH_BYTES:
        raise UnsafeFolder(f"{folder} is longer than the path of a socket can be")


def take_lock(folder: Path) -> IO[str] | None:
    """Return the open lock file of the engine, or None if a process of this host holds it."""
    file = (folder / LOCK_NAME).open("a")
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    file.close()
    return None
