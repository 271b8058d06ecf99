"""Raw material for the user's own validation, in a folder: docs/validation.md.

Exit codes: 0 made, and nothing failed or is open; 1 made, and something is, which is named; 2 not
made.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from qualification.sandbox import Sandbox
from qualification.sandbox.programs import stop_on_sigterm
from qualification.validation import (
    installation,
    marks,
    matrix,
    pack,
    results,
    steps,
)
from qualification.validation.operation import Operation
from qualification.validation.steps import StepResult

TESTS = "tests"


class Command(BaseCommand):
    help = (
        "Writes what a validation can start from: requirements and the tests that prove them, and "
        "scripts of installation and operational qualification with their results (PDF, CSV). It "
        "changes nothing here; the operations are done in a temporary folder."
    )
    # What is wrong with an installation is a finding of this command, not a reason not to run it.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", type=Path, metavar="DIR", help="A new or empty folder.")
        parser.add_argument(
            "--results",
            type=Path,
            nargs="+",
            default=[],
            metavar="FILE|DIR",
            help="of runs of the tests: scripts/test -p tests.evidence --evidence DIR",
        )
        parser.add_argument("--by", default=settings.OS_USER, help="who makes it")
        parser.add_argument(
            "--without-oq", action="store_true", help="do no operations: they take a minute"
        )

    def handle(self, *_args: Any, target: Path, **options: Any) -> None:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise CommandError(f"{target} is not an empty folder. Nothing was made.", returncode=2)
        try:
            runs = results.read_runs(options["results"])
        except results.UnusableTestRecord as error:
            raise CommandError(f"{error}. Nothing was made.", returncode=2) from error
        made = pack.Pack(
            rows=matrix.matrix_rows(self._marked(), runs),
            runs=runs,
            iq=list(steps.run_steps(installation.SCRIPT.steps(), self._tell)),
            oq=self._operated(is_left_out=options["without_oq"]),
            by=options["by"],
        )
        try:
            made.write(target)
        except OSError as error:
            raise CommandError(f"{target} could not be written: {error}", returncode=2) from error
        self._conclude(made, target)

    def _marked(self) -> dict[str, frozenset[str]]:
        folder = settings.BASE_DIR / TESTS
        if not folder.is_dir():
            self.stderr.write(
                f"The tests are not installed here ({folder}): the matrix has those that the "
                "results name, and no others. Take a checkout of this release to have all."
            )
        return marks.requirements_of_tests(folder)

    def _operated(self, *, is_left_out: bool) -> list[StepResult]:
        with tempfile.TemporaryDirectory(prefix="sl-oq-") as folder:
            sandbox = Sandbox(Path(folder))
            script = Operation(sandbox).steps()
            if is_left_out:
                return steps.skip_steps(script, "left out: --without-oq")
            stop_on_sigterm()
            try:
                return list(steps.run_steps(script, self._tell))
            except KeyboardInterrupt:
                self.stderr.write("Stopped; nothing was made, and nothing is left running.")
                sys.exit(130)
            finally:
                sandbox.close()

    def _tell(self, taken: StepResult) -> None:
        self.stdout.write(f"{taken.result.value:<8} {taken.id}  {taken.done}")
        self.stdout.flush()

    def _conclude(self, made: pack.Pack, target: Path) -> None:
        if not made.runs:
            self.stderr.write("No results of tests were given: see --results.")
        self.stdout.write(
            f"{target / pack.PDF}: raw material for your validation, and not your validation."
        )
        if made.shortcomings:
            self.stdout.write("\n".join(["Failed or open:", *made.shortcomings]))
            sys.exit(1)
