"""Run a drill in a sandbox, without touching this installation.

Exit code 0: the promise was kept. Exit code 1: it was not, and the last line states the reason.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from audit.signing import key_rotation
from qualification.drills import (
    backpressure,
    memory,
    rate_limit,
    reconstruction,
    redelivery,
    replay,
    shutdown,
)
from qualification.drills.setup import DrillFailed
from qualification.sandbox import Sandbox, SandboxError
from qualification.sandbox.programs import manage, run_program, stop_on_sigterm
from samples import fixed_corpus

DRILLS = {
    "redelivery": redelivery.run,
    "backpressure": backpressure.run,
    "memory": memory.run,
    "rate-limit": rate_limit.run,
    "shutdown": shutdown.run,
    "reconstruction": reconstruction.run,
}
REPLAY = "replay"
ALL_DRILLS = (REPLAY, *DRILLS)
SETTINGS = {"backpressure": backpressure.SETTINGS}  # of the process that runs the drill


def create_migrated_database(folder: Path) -> Path:
    """Create a sandbox in `folder` and return its empty, migrated database."""
    folder.mkdir()
    sandbox = Sandbox(folder)
    command = manage("migrate", "--verbosity", "0")
    # Without a timeout, because a busy machine may need minutes.
    subprocess.run(command, env=sandbox.environment, check=True)  # noqa: S603 - our own program
    return sandbox.database


class Command(BaseCommand):
    help = (
        "Runs a drill on sample documents in a temporary folder: replay (the same 500 documents "
        "have the same results, three times), redelivery (500 documents that are delivered three "
        "times are filed once), backpressure, memory (large packets), rate-limit, shutdown "
        "(SIGTERM during work), reconstruction (states and files from an export alone)."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("drill", choices=ALL_DRILLS)
        parser.add_argument("--times", type=int, default=3, help="number of runs of a replay")
        parser.add_argument(
            "--documents",
            type=int,
            default=fixed_corpus.DOCUMENTS,
            help="number of documents of a replay",
        )
        parser.add_argument(
            "--migrated",
            type=Path,
            help="an empty, migrated SQLite database to copy, which saves the time of migrations",
        )
        parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)

    def handle(self, *args: Any, drill: str, inside: Path | None, **options: Any) -> None:
        stop_on_sigterm()
        try:
            if inside:
                self._run_inside(drill, inside, options["documents"])
            else:
                self._run_in_sandboxes(drill, options)
        except (DrillFailed, SandboxError) as error:
            raise CommandError(f"{drill}: {error}") from error

    def _run_in_sandboxes(self, drill: str, options: dict[str, Any]) -> None:
        """Run the drill in child processes, each of which knows only its own folder."""
        with tempfile.TemporaryDirectory(prefix="drill-", ignore_cleanup_errors=True) as name:
            times = options["times"] if drill == REPLAY else 1
            migrated = options["migrated"] or create_migrated_database(Path(name) / "migrated")
            folders = [Path(name) / str(number) for number in range(1, times + 1)]
            for folder in folders:
                folder.mkdir()
                shutil.copyfile(migrated, Sandbox(folder).database)
                self._run_in_sandbox(drill, folder, str(options["documents"]))
            if drill == REPLAY:
                replay.check_same_results(folders)
        self.stdout.write(f"{drill}: passed.")

    def _run_in_sandbox(self, drill: str, folder: Path, documents: str) -> None:
        command = manage("drill", drill, "--inside", str(folder), "--documents", documents)
        with (
            # The paths of sockets have to be short, so these are not below the drill's folder.
            tempfile.TemporaryDirectory(prefix="sl-", ignore_cleanup_errors=True) as temporary,
            run_program(
                command,
                Sandbox(folder).environment | {"TMPDIR": temporary, **SETTINGS.get(drill, {})},
                stdout=subprocess.PIPE,
            ) as process,
        ):
            for line in process.stdout or ():
                self.stdout.write(line, ending="")
            if process.wait():
                sys.exit(process.returncode)  # The child process has printed the reason.

    def _run_inside(self, drill: str, folder: Path, documents: int) -> None:
        """Run the drill in this process, whose settings name the sandbox in `folder`."""
        if not Sandbox(folder).is_current_installation():
            raise DrillFailed(f"this process does not use the sandbox {folder}; nothing was done")
        key_rotation.create_key(by=Actor.software("drill", OPERATIONS))

        def report(line: str) -> None:
            self.stdout.write(line)
            self.stdout.flush()

        if drill == REPLAY:
            replay.run(folder, report, documents=documents)
        else:
            DRILLS[drill](folder, report)
