"""A finished export: what is in it, by its own manifest."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ExportPackage:
    name: str
    size: int  # bytes
    entries: int
    is_whole: bool  # or a part of the trail
    manifest_sha256: str
    files: Sequence[tuple[str, str]]  # name and SHA-256


def read_package(path: Path) -> ExportPackage | None:
    """None when it is no longer there. Raises BadZipFile or KeyError for what is no export."""
    if not path.is_file():
        return None
    with zipfile.ZipFile(path) as archive:
        raw = archive.read(_manifest(archive))
    manifest = json.loads(raw)
    files = sorted(manifest["files"].items())
    fingerprint = hashlib.sha256(raw).hexdigest()
    size, entries, is_whole = path.stat().st_size, manifest["entries"], manifest["whole"]
    return ExportPackage(path.name, size, entries, is_whole, fingerprint, files)


def _manifest(archive: zipfile.ZipFile) -> str:
    """Its name inside: at the top, or in the package's one folder."""
    return min((name for name in archive.namelist() if Path(name).name == MANIFEST), key=len)
