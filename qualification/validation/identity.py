"""Identify the installed code, so that test results can be matched with it."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

# The folders of the code that runs.
CODE = (
    "api",
    "audit",
    "config",
    "ingestion",
    "qualification",
    "samples",
    "sites",
    "web",
    "templates",
    "static",
)
FILES = ("manage.py", "requirements.txt")


def code_digest(base: Path) -> str:
    """Return the SHA-256 over the output of `sha256sum` for all code, sorted by path."""
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(base).as_posix()}\n"
        for path in sorted(_files(base))
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _files(base: Path) -> Iterator[Path]:
    for name in CODE:
        for path in (base / name).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from (base / name for name in FILES if (base / name).is_file())


def commit_id(base: Path) -> str:
    """Return git's description of the commit ("-dirty" if changed), or "" outside a checkout."""
    git = shutil.which("git")
    if git is None or not (base / ".git").exists():
        return ""
    asked = [git, "-C", str(base), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - our words
    return told.stdout.strip()
