"""Finds the language data of Tesseract on this host. It loads no OCR engine."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

# Names of languages as in OCR_LANGUAGES: "eng", "chi_sim" or "script/Latin", joined by "+".
LANGUAGES = re.compile(r"[\w/-]+(?:\+[\w/-]+)*")
# Folders of the data in distributions, relative to the root.
TESSDATA_FOLDERS = (
    "usr/share/tesseract-ocr/*/tessdata",
    "usr/share/tessdata",
    "usr/local/share/tessdata",
)


def find_tessdata(languages: str) -> Path:
    """Return the folder of language data that the Tesseract program reads too.

    It is the folder that the environment variable TESSDATA_PREFIX names, or that of the newest
    version in the distribution. Raises LookupError if no folder has all languages.
    """
    prefix = os.environ.get("TESSDATA_PREFIX")
    if prefix:
        folders = [Path(prefix)]
    else:
        found = (folder for pattern in TESSDATA_FOLDERS for folder in Path("/").glob(pattern))
        folders = sorted(found, reverse=True)
    wanted = languages.split("+")
    missing = [_list_missing(wanted, folder) for folder in folders]
    for folder, names in zip(folders, missing, strict=True):
        if not names:
            return folder
    fewest: list[str] = min(missing, key=len, default=wanted)
    raise make_missing_error(fewest)


def is_installed(language: str) -> bool:
    """Return whether Tesseract has the data of a language."""
    try:
        find_tessdata(language)
    except LookupError:
        return False
    return True


def make_missing_error(languages: Iterable[str]) -> LookupError:
    """Return the error that names languages without data."""
    return LookupError(f"tesseract has no data for {', '.join(sorted(languages))}")


def _list_missing(languages: Iterable[str], folder: Path) -> list[str]:
    return [name for name in languages if not (folder / f"{name}.traineddata").is_file()]
