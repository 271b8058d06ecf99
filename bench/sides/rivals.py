"""Finds OCRmyPDF for comparison, if `make bench-rivals` installed it.

It is no part of the product.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.sides.reading import AT_ONCE

OCRMYPDF = Path(__file__).parents[2] / "var" / "rivals" / "bin" / "ocrmypdf"
ABSENT = "OCRmyPDF is not installed (`make bench-rivals`)"


def ocrmypdf(document: Path) -> Sequence[str]:
    """Return the command that only reads, without writing pages or a PDF."""
    text = document.with_suffix(".sidecar")
    options = ["-j", str(AT_ONCE), "--quiet", "--skip-text", "--output-type", "none"]
    return [str(OCRMYPDF), *options, "--sidecar", str(text), str(document), "-"]
