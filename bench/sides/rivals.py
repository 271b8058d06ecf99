"""Finds OCRmyPDF and RapidOCR for comparison, if `make bench-rivals` installed them.

They are no part of the product.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.sides.reading import AT_ONCE

PROGRAMS = Path(__file__).parents[2] / "var" / "rivals" / "bin"
OCRMYPDF = PROGRAMS / "ocrmypdf"
PYTHON = PROGRAMS / "python"  # which imports RapidOCR
ABSENT = "OCRmyPDF is not installed (`make bench-rivals`)"


def ocrmypdf(document: Path, text: Path | None = None, *, at_once: int = AT_ONCE) -> Sequence[str]:
    """Return the command that only reads, without writing pages or a PDF.

    It writes the text to `text`, by default beside the document.
    """
    text = text or document.with_suffix(".sidecar")
    options = ["-j", str(at_once), "--quiet", "--skip-text", "--output-type", "none"]
    return [str(OCRMYPDF), *options, "--sidecar", str(text), str(document), "-"]
