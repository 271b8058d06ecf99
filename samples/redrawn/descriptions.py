"""Makes the descriptions of the redrawn forms, as the product registers them."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from samples.redrawn import fda_1571, fda_1572, fda_3454, fda_3455, fda_3674
from samples.redrawn.sheet import Redrawing

_SCRIPT = Path(__file__).parents[2] / "scripts" / "describe-form"
_BLANK_ENTRIES = re.compile(r"signs = \[\]\nboxes = \[\n(?:.*\n)*?\]\n")


def read_redrawings() -> Sequence[Redrawing]:
    """Return all redrawn editions."""
    return (
        *fda_1571.EDITIONS,
        *fda_1572.EDITIONS,
        *fda_3454.EDITIONS,
        *fda_3455.EDITIONS,
        *fda_3674.EDITIONS,
    )


def describe(drawn: Redrawing) -> str:
    """Return the description of a redrawn form. Its print is read from the drawing."""
    content, sheets = drawn.draw()
    with tempfile.TemporaryDirectory() as folder:
        blank = Path(folder) / "blank.pdf"
        blank.write_bytes(content)
        printed = subprocess.run(  # noqa: S603 - our own script
            [_SCRIPT, blank], check=True, capture_output=True, text=True
        ).stdout
    pages = []
    for page, sheet in zip(printed.split("\n[[pages]]\n")[1:], sheets, strict=True):
        signs = ", ".join(f'"{sign}"' for sign in sheet.signs)
        boxes = "\n".join(box.as_toml() for box in sheet.boxes)
        entries = f"signs = [{signs}]\nboxes = [\n{boxes}\n]\n"
        before, after = _BLANK_ENTRIES.split(page)
        pages.append(f"{before}{entries}{after}".rstrip())
    return "\n\n[[pages]]\n".join(("\n".join(drawn.head()), *pages)) + "\n"
