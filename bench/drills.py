"""Runs the drills at full size and writes the record of the run: `python -m bench.drills [NAMES]`.

Each drill is the command `manage.py drill`, which works in a temporary sandbox. `--record FILE`
replaces the record in FILE (docs/drills.md) by that of this run. Exit code 0: all drills passed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.results.machine import load, machine

ROOT = Path(__file__).resolve().parent.parent
# In the order of the record. The command refuses other names.
DRILLS = (
    "redelivery",
    "backpressure",
    "memory",
    "rate-limit",
    "shutdown",
    "reconstruction",
    "replay",
)
COLUMNS = 100
MANAGE = [sys.executable, str(ROOT / "manage.py")]
ENVIRONMENT = {**os.environ, "DEBUG": "True", "DJANGO_SETTINGS_MODULE": "config.settings"}
HEADER = """# Drills: the last full run

This page is for operators and QA. It is the record of the last run of all drills at full size,
written by `python -m bench.drills --record docs/drills.md`. [Chaos tests and drills](chaos.md)
describes what each drill does. `make test-all` runs the same drills.
"""


@dataclass(frozen=True, slots=True)
class DrillResult:
    """The result of one drill, and the lines that it printed."""

    name: str
    has_passed: bool
    seconds: float
    lines: Sequence[str]


def run_drill(name: str, *options: str) -> DrillResult:
    """Run one drill at full size, in a process of its own. `options` are those of the command."""
    command = [*MANAGE, "drill", name, *options]
    started = time.monotonic()
    result = subprocess.run(
        command,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    has_passed = result.returncode == 0
    output = result.stdout if has_passed else result.stdout + result.stderr
    lines = [line for line in output.splitlines() if line != f"{name}: passed."]
    return DrillResult(name, has_passed, time.monotonic() - started, lines)


def create_migrated_database(folder: Path) -> Path:
    """Create an empty, migrated database, so that the drills do not migrate one each."""
    migrated = folder / "migrated.sqlite3"
    subprocess.run(
        [*MANAGE, "migrate", "--verbosity", "0"],
        env=ENVIRONMENT | {"DATA_DIR": str(folder), "DATABASE_URL": f"sqlite:///{migrated}"},
        check=True,
    )
    return migrated


def format_record(results: Sequence[DrillResult], *, day: str, described_machine: str) -> str:
    """Return the record in Markdown. It names the drills that were not run, too."""
    rows = [
        f"| [{each.name}](#{each.name}) | {'passed' if each.has_passed else 'FAILED'} "
        f"| {each.seconds:.0f} |\n"
        for each in results
    ]
    names = {each.name for each in results}
    rows += [f"| {name} | not run | |\n" for name in DRILLS if name not in names]
    sections = [
        f"\n## {each.name}\n\n" + "".join(f"{_wrap(f'- {line}', '  ')}\n" for line in each.lines)
        for each in results
    ]
    return (
        f"{HEADER}\n{_wrap(f'Run on {day}, with {described_machine}.')}\n\n"
        f"| drill | result | seconds |\n|---|---|---|\n{''.join(rows)}{''.join(sections)}"
    )


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)


def main() -> int:
    """Run the drills that the command line names, or all, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.drills", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="drills; all without a name")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the record of the run")
    options = parser.parse_args()
    day = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    described_machine, results = f"{machine()}, load average {load():.1f}", []
    with tempfile.TemporaryDirectory(prefix="drills-") as folder:
        migrated = create_migrated_database(Path(folder))
        for name in options.names or DRILLS:
            results.append(run_drill(name, "--migrated", str(migrated)))
            last = results[-1]
            sys.stdout.write(f"{name}: {'passed' if last.has_passed else 'FAILED'}\n")
            sys.stdout.writelines(f"  {line}\n" for line in last.lines)
            sys.stdout.flush()
            if options.record:  # after each drill, so that an interrupted run leaves a record
                options.record.write_text(
                    format_record(results, day=day, described_machine=described_machine)
                )
    return 0 if all(each.has_passed for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
