"""OCRmyPDF, where `make bench-rivals` has installed it: measured beside us, no part of us."""

from collections.abc import Sequence
from pathlib import Path

from bench.sides import AT_ONCE

OCRMYPDF = Path(__file__).parents[1] / "var" / "rivals" / "bin" / "ocrmypdf"
ABSENT = "OCRmyPDF is not installed (`make bench-rivals`)"


def ocrmypdf(document: Path) -> Sequence[str]:
    """The command that only reads: no page is written anew, and no PDF."""
    text = document.with_suffix(".sidecar")
    how = ["-j", str(AT_ONCE), "--quiet", "--skip-text", "--output-type", "none"]
    return [str(OCRMYPDF), *how, "--sidecar", str(text), str(document), "-"]
