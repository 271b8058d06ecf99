"""Processes a folder of files in an installation, and reports what became of each.

`python -m bench.sides.hostile FOLDER RESULT` registers the files of the folder for one site,
processes them as a worker does, and writes RESULT as JSON: the state of each file, the longest time
for which a task kept a parser process, and the largest process with what it read at the time.
"""

import argparse
import asyncio
import json
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

from audit.ledger.actors import OPERATIONS, Actor

TIMEOUT_SECONDS = 3 * 3600.0
MAX_CALL_LENGTH = 600  # characters of its description
PAUSE_SECONDS, POLL_SECONDS = 0.1, 0.05


class ProcessWatch(threading.Thread):
    """Watches how long parser processes are kept by a task, and how large processes become."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0  # seconds
        self.longest_call = ""
        self.largest = 0  # bytes of resident memory
        self.calls_of_largest: list[str] = []  # that ran at the time
        self._calls: dict[Future[Any], str] = {}
        self._since: dict[Future[Any], float] = {}

    def watch(self) -> None:
        """Observe the calls of each pool of this process from now on."""
        from ingestion.reading.processes.parser_processes import ParserProcesses

        schedule = ParserProcesses._schedule  # noqa: SLF001 - only a benchmark asks for it

        async def observed(pool: Any, call: Any) -> Any:
            future = await schedule(pool, call)
            self._calls[future] = repr(call)[:MAX_CALL_LENGTH]
            return future

        setattr(ParserProcesses, "_schedule", observed)  # noqa: B010 - its type is generic
        self.start()

    def run(self) -> None:
        """Look at calls and processes until this process ends."""
        while True:
            now = time.monotonic()
            for future in list(self._calls):
                if future.done():
                    call, seconds = self._calls.pop(future), now - self._since.pop(future, now)
                    if seconds > self.longest:
                        self.longest, self.longest_call = seconds, call
                elif future.running():
                    self._since.setdefault(future, now)
            largest = max(map(_peak_memory, _list_family()))
            if largest > self.largest:
                self.largest = largest
                self.calls_of_largest = [self._calls.get(each, "") for each in self._since]
            time.sleep(POLL_SECONDS)


def _list_family() -> list[int]:
    family = [os.getpid()]
    for pid in family:
        for task in Path("/proc").glob(f"{pid}/task/*/children"):
            with suppress(OSError):  # it has just ended
                family += map(int, task.read_text().split())
    return family


def _peak_memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    """Process the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("result", type=Path)
    arguments = parser.parse_args()
    django.setup()
    from bench.installation.filled import add_sites
    from ingestion.dispatch.shift import Shift
    from ingestion.intake.registration import register_folder
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource, Document

    call_command("migrate", verbosity=0)
    (site,) = add_sites(range(1000, 1001), [])
    submission = Submission(BatchSource.FOLDER, Actor.software("bench", OPERATIONS))
    register_folder(arguments.folder, site, submission)
    watch = ProcessWatch()
    watch.watch()
    start = time.monotonic()
    while Document.objects.unsettled().exists() and time.monotonic() - start < TIMEOUT_SECONDS:
        asyncio.run(Shift.work())
        time.sleep(PAUSE_SECONDS)
    whole_files = Document.objects.filter(part_of=None)
    result = {
        "seconds": time.monotonic() - start,
        "states": dict(whole_files.values_list("doc_id", "state")),
        "codes": {each.doc_id: each.code for each in whole_files},
        "unsettled": Document.objects.unsettled().count(),
        "longest": watch.longest,
        "longest_call": watch.longest_call,
        "largest": watch.largest,
        "calls_of_largest": watch.calls_of_largest,
    }
    arguments.result.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
