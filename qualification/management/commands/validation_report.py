"""Write the validation pack, the raw material for the user's own validation (docs/validation.md).

Exit codes: 0 the pack was written, and nothing failed or is open; 1 it was written, and what failed
or is open is listed; 2 it was not written.
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

TESTS_FOLDER = "tests"


class Command(BaseCommand):
    help = (
        "Writes a folder with the requirements and the tests that prove them, and the scripts of "
        "installation and operational qualification with their results (PDF, CSV). It changes "
        "nothing in this installation: the operations run in a temporary folder."
    )
    # Faults of an installation are results of this command, and must not prevent it from running.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", type=Path, metavar="DIR", help="A new or empty folder.")
        parser.add_argument(
            "--results",
            type=Path,
            nargs="+",
            default=[],
            metavar="FILE|DIR",
            help="results of test runs: scripts/test -p tests.evidence --evidence DIR",
        )
        parser.add_argument(
            "--by", default=settings.OS_USER, help="the person who requests the pack"
        )
        parser.add_argument(
            "--without-oq", action="store_true", help="leave out the operations (about a minute)"
        )

    def handle(self, *_args: Any, target: Path, **options: Any) -> None:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise CommandError(
                f"{target} is not an empty folder. Nothing was written.", returncode=2
            )
        try:
            runs = results.read_runs(options["results"])
        except results.UnusableTestRecord as error:
            raise CommandError(f"{error}. Nothing was written.", returncode=2) from error
        tests = settings.BASE_DIR / TESTS_FOLDER
        if not tests.is_dir():
            self.stderr.write(
                f"The tests are not installed here ({tests}). The matrix contains only the tests "
                "in the given results. Use a checkout of this release to include all tests."
            )
        written = pack.Pack(
            rows=matrix.make_matrix_rows(marks.read_requirements_of_tests(tests), runs),
            runs=runs,
            iq=list(steps.run_steps(installation.SCRIPT.steps(), self._print_step)),
            oq=self._run_operations(is_left_out=options["without_oq"]),
            by=options["by"],
        )
        try:
            written.write(target)
        except OSError as error:
            raise CommandError(f"{target} could not be written: {error}", returncode=2) from error
        if not runs:
            self.stderr.write("No results of tests were given: see --results.")
        self.stdout.write(
            f"{target / pack.PDF}: raw material for your validation. It is not a validation."
        )
        if written.shortcomings:
            self.stdout.write("\n".join(["Failed or open:", *written.shortcomings]))
            sys.exit(1)

    def _run_operations(self, *, is_left_out: bool) -> list[StepResult]:
        with tempfile.TemporaryDirectory(prefix="sl-oq-") as folder:
            sandbox = Sandbox(Path(folder))
            script = Operation(sandbox).steps()
            if is_left_out:
                return steps.skip_steps(script, "left out: --without-oq")
            stop_on_sigterm()
            try:
                return list(steps.run_steps(script, self._print_step))
            except KeyboardInterrupt:
                self.stderr.write("Stopped. Nothing was written, and all programs have ended.")
                sys.exit(130)
            finally:
                sandbox.close()

    def _print_step(self, result: StepResult) -> None:
        self.stdout.write(f"{result.outcome.value:<8} {result.id}  {result.action}")
        self.stdout.flush()
