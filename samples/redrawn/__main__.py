"""Write the descriptions of the redrawn forms: `python -m samples.redrawn FOLDER`."""

import sys
from pathlib import Path

from samples.redrawn.descriptions import describe, read_redrawings

if __name__ == "__main__":
    for drawn in read_redrawings():
        (Path(sys.argv[1]) / f"{drawn.key}.toml").write_text(describe(drawn), encoding="utf-8")
