"""Identify the installed code, so that test results can be matched with it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

# The folders and files of the code that an installation runs.
CODE_FOLDERS = (
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
CODE_FILES = ("manage.py", "requirements.txt")


def compute_code_digest(base: Path) -> str:
    """Return the SHA-256 over the output of `sha256sum` for all code, sorted by path."""
    paths = [base / name for name in CODE_FILES]
    for name in CODE_FOLDERS:
        paths += (base / name).rglob("*")
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(base).as_posix()}\n"
        for path in sorted(paths)
        if path.is_file() and "__pycache__" not in path.parts
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def commit_id(base: Path) -> str:
    """Return git's description of the commit ("-dirty" if changed), or "" outside a checkout."""
    git = shutil.which("git")
    if git is None or not (base / ".git").exists():
        return ""
    options = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    result = subprocess.run(  # noqa: S603 - a fixed command
        [git, "-C", str(base), *options], capture_output=True, text=True, check=False
    )
    return result.stdout.strip()
