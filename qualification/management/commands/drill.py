"""A promise of the software, tried in an installation of its own: no other is touched.

Exit code 0: it held; 1: it did not, and the last line says what.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from audit.signing import key_rotation
from qualification.drills import (
    backpressure,
    rate_limit,
    reconstruction,
    replay,
    shutdown,
)
from qualification.drills.scene import DrillFailed
from qualification.sandbox import Sandbox, SandboxError
from qualification.sandbox.programs import manage, running, stop_on_sigterm
from samples import fixed_corpus

DRILLS = {
    "backpressure": backpressure.run,
    "rate-limit": rate_limit.run,
    "shutdown": shutdown.run,
    "reconstruction": reconstruction.run,
}
REPLAY = "replay"
CHANGES = {"backpressure": backpressure.CHANGES}


class Command(BaseCommand):
    help = (
        "Tries what is promised, on sample documents in a temporary folder: replay (the same 500 "
        "documents come to the same, three times), backpressure, rate-limit, shutdown (SIGTERM in "
        "the middle), reconstruction (states and files from an export alone)."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("drill", choices=[REPLAY, *DRILLS])
        parser.add_argument("--times", type=int, default=3, help="of a replay")
        parser.add_argument(
            "--documents",
            type=int,
            default=fixed_corpus.DOCUMENTS,
            help="of a replay; the first ones",
        )
        parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)

    def handle(self, *args: Any, drill: str, inside: Path | None, **options: Any) -> None:
        stop_on_sigterm()
        try:
            if inside:
                self._work(drill, inside, options["documents"])
            else:
                self._send(drill, options)
        except (DrillFailed, SandboxError) as failed:
            raise CommandError(f"{drill}: {failed}") from failed

    def _send(self, drill: str, options: dict[str, Any]) -> None:
        """Have it done by processes that know only its own folder."""
        with tempfile.TemporaryDirectory(prefix="drill-", ignore_cleanup_errors=True) as name:
            times = options["times"] if drill == REPLAY else 1
            folders = [Path(name) / str(number) for number in range(1, times + 1)]
            for folder in folders:
                self._done(drill, folder, str(options["documents"]))
            if drill == REPLAY:
                replay.compare(folders)
        self.stdout.write(f"{drill}: it holds.")

    def _done(self, drill: str, folder: Path, documents: str) -> None:
        folder.mkdir()
        command = manage("drill", drill, "--inside", str(folder), "--documents", documents)
        with (
            # Sockets are made in it, whose paths are short: not below the drill's own folder.
            tempfile.TemporaryDirectory(prefix="sl-", ignore_cleanup_errors=True) as temporary,
            running(
                command,
                Sandbox(folder).environment | {"TMPDIR": temporary, **CHANGES.get(drill, {})},
                stdout=subprocess.PIPE,
            ) as process,
        ):
            for line in process.stdout or ():
                self.stdout.write(line, ending="")
            if process.wait():
                sys.exit(process.returncode)  # it has said why

    def _work(self, drill: str, folder: Path, documents: int) -> None:
        if not Sandbox(folder).is_ours():
            raise DrillFailed(f"a drill works in {folder} alone; nothing was done")
        call_command("migrate", verbosity=0)
        key_rotation.create_key(by="system:drill")
        if drill == REPLAY:
            replay.run(folder, self._say, documents=documents)
        else:
            DRILLS[drill](folder, self._say)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
