"""Reads the contents of a finished export from the manifest in its package."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ExportPackage:
    """Describes the contents of an export that can be downloaded."""

    name: str
    size: int  # bytes
    entries: int
    is_whole: bool  # whether it contains the complete audit trail
    manifest_sha256: str
    files: Sequence[tuple[str, str]]  # name and SHA-256


def read_package(path: Path) -> ExportPackage | None:
    """Return the contents of an export, or None if its file was removed.

    Raises BadZipFile or KeyError if the file is not an export.
    """
    if not path.is_file():
        return None
    with zipfile.ZipFile(path) as archive:
        # The manifest lies at the top of the package or in its only folder.
        names = [name for name in archive.namelist() if Path(name).name == MANIFEST]
        content = archive.read(min(names, key=len))
    manifest = json.loads(content)
    return ExportPackage(
        name=path.name,
        size=path.stat().st_size,
        entries=manifest["entries"],
        is_whole=manifest["whole"],
        manifest_sha256=hashlib.sha256(content).hexdigest(),
        files=sorted(manifest["files"].items()),
    )
