"""Check that the same files have the same results after a change of rules, or on another machine.

Exit code 0: all runs have the same results. Exit code 1: a run differs, and the differences are
listed, or there is nothing to compare. The command registers nothing, and writes only the file
given with `--write`.
"""

import argparse
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.core.errors import ReadingFault
from qualification import corpus_replay
from qualification.corpus_replay import ReplayRun
from samples.corpus import write_corpus


class Command(BaseCommand):
    help = (
        "Reads and checks every file of a folder several times, each time in a new pool, and "
        "compares text, fields and findings. Without a folder, it uses the generated samples."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, nargs="?")
        parser.add_argument("--times", type=int, default=2)
        parser.add_argument("--day", type=date.fromisoformat, help="the date of the checks")
        parser.add_argument("--write", type=Path, metavar="FILE", help="record the results")
        parser.add_argument("--against", type=Path, metavar="FILE", help="compare with a record")

    def handle(self, *args: Any, folder: Path | None, against: Path | None, **options: Any) -> None:
        if options["times"] < 1:
            raise CommandError("--times has to be at least 1")
        earlier = _read_record(against) if against else None
        day = options["day"] or (earlier.day if earlier else corpus_replay.DAY)
        if earlier and earlier.day != day:
            raise CommandError(f"{against} was recorded for {earlier.day}; leave out --day")
        runs = self._replay(folder, options["times"], day)
        for name, record in runs[0].files.items():
            digest = corpus_replay.record_digest(record)[:16]
            codes = " ".join(code for code, *_ in record["findings"])
            self.stdout.write(f"{digest}  {record['state']:<9}  {name}  {codes}".rstrip())
        if options["write"]:
            options["write"].write_text(runs[0].as_json(), encoding="utf-8")
        _compare([(f"run {n}", runs[0], other) for n, other in enumerate(runs[1:], start=2)])
        if earlier:
            _compare([(f"since rules {earlier.rules}", earlier, runs[0])])

    def _replay(self, folder: Path | None, times: int, day: date) -> list[ReplayRun]:
        with tempfile.TemporaryDirectory(prefix="siteledger-replay-") as temporary:
            if folder is None:
                folder = write_corpus(Path(temporary), base_url="http://samples", today=day).files
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


def _read_record(file: Path) -> ReplayRun:
    try:
        return ReplayRun.from_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, corpus_replay.UnusableRecord) as error:
        raise CommandError(f"{file} cannot be compared with: {error}") from error


def _compare(pairs: list[tuple[str, ReplayRun, ReplayRun]]) -> None:
    """Raise CommandError that lists all differences between the labelled pairs of runs."""
    found = [
        f"{name}, {label}: {sentence}"
        for label, before, after in pairs
        for name, sentence in corpus_replay.iter_file_differences(before, after)
    ]
    if found:
        raise CommandError("These results differ:\n" + "\n".join(found))
