"""What a measurement ran on: processor, programs, packages, and the commit that was measured."""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from bench.rivals import OCRMYPDF
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr.engines import get_engine

PACKAGES = ("Django", "httpx2", "pypdf", "pypdfium2", "opencv-python-headless", "Pebble", "psycopg")
PROGRAMS = {
    "PostgreSQL": ("psql", "--version"),
    "Redis": ("redis-server", "--version"),
    "OCRmyPDF": (str(OCRMYPDF), "--version"),
}
_VERSION = re.compile(r"\d+\.[\d.]*\d")


def machine() -> str:
    return ", ".join(_parts())


def load() -> float:
    """Processes that ran or wanted to, a minute's mean."""
    return os.getloadavg()[0]


def _parts() -> Iterator[str]:
    yield f"{os.cpu_count()} cores ({_cpu()})"
    yield f"Linux {platform.release().partition('-')[0]}"
    yield f"Python {platform.python_version()}"
    yield f"SQLite {sqlite3.sqlite_version}"
    for name, command in PROGRAMS.items():
        yield f"{name} {_version(command)}"
    yield get_engine(ReadingLimits().engine, ReadingLimits().languages).version
    yield from (f"{name} {version(name)}" for name in PACKAGES)
    yield f"commit {_commit()}"


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _version(command: Sequence[str]) -> str:
    if not shutil.which(command[0]):
        return "absent"
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = _VERSION.search(said)
    return found[0] if found else said.strip()


def _commit() -> str:
    """Of the working tree; "changed" if it is not what was committed."""
    command = ["git", "describe", "--always", "--dirty=, changed", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
