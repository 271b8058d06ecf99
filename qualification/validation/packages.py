"""Compare the installed packages with the pinned versions and with their recorded digests."""

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

# `name==1.2 ; marker \`, as in the files that `make requirements` writes.
_PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)\s*(?P<marker>;)?"
)


def read_pins(requirements: Path) -> dict[str, dict[str, bool]]:
    """Return the pinned versions by name, and whether each is for some platforms only."""
    found: dict[str, dict[str, bool]] = {}
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if pin := _PIN.match(line):
            found.setdefault(pin["name"], {})[pin["version"]] = bool(pin["marker"])
    return found


def find_version_mismatches(pins: dict[str, dict[str, bool]]) -> Iterator[str]:
    """Yield a sentence for each package that is missing or has a version that is not pinned."""
    for name, versions in pins.items():
        installed = _find_installed(name)
        if installed is None:
            if not all(versions.values()):
                yield f"{name} is missing"
        elif installed.version not in versions:
            yield f"{name} is {installed.version}, pinned is {' or '.join(versions)}"


def find_altered_files(pins: dict[str, dict[str, bool]]) -> tuple[int, list[str]]:
    """Return the number of files compared with RECORD, and the files that differ."""
    compared, differing = 0, []
    for name in pins:
        installed = _find_installed(name)
        for file in (installed.files or []) if installed else []:
            if file.hash is None:  # RECORD itself, and compiled Python files
                continue
            compared += 1
            if _record_digest(Path(str(file.locate())), file.hash.mode) != file.hash.value:
                differing.append(f"{name}: {file}")
    return compared, differing


def _find_installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _record_digest(path: Path, mode: str) -> str:
    """Return the digest in the format of RECORD, or "" if the file is missing.

    Source: packaging.python.org, "Recording installed projects".
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, mode).digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
