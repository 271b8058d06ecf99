"""Describes the machine of a measurement: processor, programs, packages, and the commit."""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from bench.sides.rivals import OCRMYPDF
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr.engines import get_engine

PACKAGES = ("Django", "httpx2", "pypdf", "pypdfium2", "opencv-python-headless", "Pebble", "psycopg")
PROGRAMS = {
    "PostgreSQL": ("psql", "--version"),
    "Redis": ("redis-server", "--version"),
    "OCRmyPDF": (str(OCRMYPDF), "--version"),
}
_VERSION = re.compile(r"\d+\.[\d.]*\d")


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def machine() -> str:
    """Return the processor, the versions of programs and packages, and the commit of the code.

    The commit is followed by "changed" if the working tree has changes.
    """
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    command = ["git", "describe", "--always", "--dirty=, changed", "--exclude=*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    limits = ReadingLimits()
    parts = [
        f"{os.cpu_count()} cores ({next(models, platform.machine())})",
        f"Linux {platform.release().partition('-')[0]}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        *(f"{name} {_program_version(command)}" for name, command in PROGRAMS.items()),
        get_engine(limits.engine, limits.languages).version,
        *(f"{name} {version(name)}" for name in PACKAGES),
        f"commit {commit or 'unknown'}",
    ]
    return ", ".join(parts)


def _program_version(command: Sequence[str]) -> str:
    if not shutil.which(command[0]):
        return "absent"
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    match = _VERSION.search(output)
    return match[0] if match else output.strip()
