"""Runs a chaos test: `python -m bench.chaos [--documents N] [--kills N] [--seed N] ...`.

Further options are `--minutes N` and `--database NAME`.

Exit code 0: no document was lost, filed twice, wrong or unexplained. Exit code 1: some were, they
are named, and the folder with the logs is kept. `--output FILE` also writes the Markdown there.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import django

from bench.chaos.servers import Postgresql, Server, Sqlite
from bench.chaos.settings import environment

DISK_MB = 2  # size of the small disk for each document


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="after which no fault is injected"
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="postgresql")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


@contextmanager
def disk(folder: Path, documents: int) -> Iterator[str]:
    """Mount a small disk at `folder`, and yield "", or the reason why that is not possible."""
    size = f"size={max(128, documents * DISK_MB)}m"
    mount = ["mount", "-t", "tmpfs", "-o", size, "chaos", str(folder)]
    result = subprocess.run(mount, check=False, capture_output=True, text=True)
    try:
        yield result.stderr.strip() if result.returncode else ""
    finally:
        if not result.returncode:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)  # noqa: S607


def main() -> int:
    """Run the test, print its table, and return the exit code."""
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # programs are stopped
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    with ExitStack() as stack:
        server: Server = Sqlite(folder) if options.database == "sqlite" else Postgresql()
        stack.callback(server.stop)
        os.environ |= environment(folder, server.url)
        skipped = stack.enter_context(disk(folder / "disk", options.documents))
        django.setup()
        from bench.chaos.run import run  # noqa: PLC0415 - it needs the settings

        text, is_good = run(options, folder, server, skipped)
    sys.stdout.write(text)
    if options.output:
        options.output.write_text(text)
    if is_good:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"The logs of the hosts and the web server are in {folder}/*.log\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
