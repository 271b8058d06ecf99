"""Do the same files still come to the same? For whoever changes a rule, or doubts a machine.

Exit code 0: every run came to the same; 1: one did not, and what differs is named, or there is
nothing to compare. Nothing is registered, and nothing written but what `--write` asks for.
"""

import argparse
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.reading.processes.pool import ReadingFault
from qualification import corpus_replay
from samples.corpus import write_corpus


class Command(BaseCommand):
    help = (
        "Reads and checks every file of a folder several times, each time in a new pool, and "
        "compares text, fields and findings. Without a folder: the generated samples."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, nargs="?")
        parser.add_argument("--times", type=int, default=2)
        parser.add_argument("--day", type=date.fromisoformat, help="on which they are checked")
        parser.add_argument("--write", type=Path, metavar="FILE", help="record what they come to")
        parser.add_argument("--against", type=Path, metavar="FILE", help="compare with a record")

    def handle(self, *args: Any, folder: Path | None, against: Path | None, **options: Any) -> None:
        if options["times"] < 1:
            raise CommandError("--times has to be at least 1")
        earlier = _read(against) if against else None
        day = options["day"] or (earlier.day if earlier else corpus_replay.DAY)
        if earlier and earlier.day != day:
            raise CommandError(f"{against} was recorded for {earlier.day}; leave out --day")
        runs = self._runs(folder, options["times"], day)
        self._show(runs[0])
        if options["write"]:
            options["write"].write_text(runs[0].as_json(), encoding="utf-8")
        self._compare([(f"run {n}", runs[0], other) for n, other in enumerate(runs[1:], start=2)])
        if earlier:
            self._compare([(f"since rules {earlier.rules}", earlier, runs[0])])

    def _runs(self, folder: Path | None, times: int, day: date) -> list[corpus_replay.ReplayRun]:
        with tempfile.TemporaryDirectory(prefix="siteledger-replay-") as made:
            if folder is None:
                folder = write_corpus(Path(made), base_url="http://samples", today=day).files
            files = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
            files = {name: path for name, path in files.items() if path.is_file()}
            if not files:
                raise CommandError(f"there are no files in {folder}")
            try:
                return [
                    corpus_replay.replay_files(
                        files, settings.READING_LIMITS, day=day, backwards=n % 2 == 1
                    )
                    for n in range(times)
                ]
            except ReadingFault as fault:
                raise CommandError(f"the reader itself failed: {fault}") from fault

    def _show(self, run: corpus_replay.ReplayRun) -> None:
        for name, record in run.files.items():
            codes = " ".join(code for code, *_ in record["findings"])
            line = (
                f"{corpus_replay.record_digest(record)[:16]}  {record['state']:<9}  {name}  {codes}"
            )
            self.stdout.write(line.rstrip())

    def _compare(
        self, pairs: list[tuple[str, corpus_replay.ReplayRun, corpus_replay.ReplayRun]]
    ) -> None:
        found = [
            f"{name}, {label}: {said}"
            for label, before, after in pairs
            for name, said in corpus_replay.differences(before, after)
        ]
        if found:
            raise CommandError("These differ:\n" + "\n".join(found))


def _read(file: Path) -> corpus_replay.ReplayRun:
    try:
        return corpus_replay.ReplayRun.from_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, corpus_replay.UnusableRecord) as error:
        raise CommandError(f"{file} cannot be compared with: {error}") from error
