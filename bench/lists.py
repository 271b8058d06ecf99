"""Every page in a database as after ten years, beside the same page in a small one.

`python -m bench.lists [--quick]`; `bench.pages` fills and asks. SQLite.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench import process
from bench.flow import environment
from bench.report import Row, beside, program, tell

SMALL = (4, 144)  # sites, and documents in all
QUICK, FULL = (60, 5_000), (500, 100_000)
EXPECTED = 300.0  # ms, of the slowest page's 95th percentile
SLOWEST = 5  # pages that are named


def asked_in(folder: Path, sites: int, documents: int, rounds: int) -> Mapping[str, float]:
    """Milliseconds of each page, in an installation of its own."""
    folder.mkdir()
    environ = {**environment(folder), "ALLOWED_HOSTS": "testserver"}  # as Django's client calls us
    answer = folder / "pages.json"
    for prepare in (["migrate"], ["collectstatic", "--no-input"]):
        command = [sys.executable, "manage.py", *prepare, "--verbosity", "0"]
        subprocess.run(command, env={**os.environ, **environ}, check=True)
    size = ["--sites", str(sites), "--documents", str(documents)]
    process.run("bench.pages", "--fill", *size, **environ)
    asking = ["--rounds", str(rounds), "--json", str(answer)]
    sys.stderr.write(process.run("bench.pages", *asking, **environ))
    found: Mapping[str, float] = json.loads(answer.read_text())
    return found


def rows(asked: argparse.Namespace) -> Iterator[Row]:
    sites, documents = QUICK if asked.quick else FULL
    rounds = 10 if asked.quick else 40
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as name:
        few = asked_in(Path(name) / "few", *SMALL, rounds)
        many = asked_in(Path(name) / "many", sites, documents, rounds)
    against = f"with {SMALL[1]} documents"
    middle = ([median(many.values())], against, [median(few.values())])
    what = f"the middle of {len(many)} pages with {documents:,} documents"
    yield beside(what, "ms", *middle, note="of each the 95th percentile")
    slowest = sorted(many, key=lambda page: many[page])
    for page in reversed(slowest[-SLOWEST:]):
        own: dict[str, Any] = {"against": against, "baseline": few[page], "most": EXPECTED}
        yield Row(what=f"`{page}`", unit="ms", ours=many[page], **own)


if __name__ == "__main__":
    tell(rows, program(__doc__))
