"""Processes of a measurement: the portal in its own, a side in its own, and what they weigh."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

LOOK_SECONDS = 0.1  # between two looks at the memory of a tree of processes
PAGE = os.sysconf("SC_PAGE_SIZE")


Answers = dict[int, int]  # how often the portal gave each status; filled when the portal stops


def free_port() -> int:
    """Documents' addresses name their portal's port, so it is chosen before they are made."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def portal(directory: Path, port: int, faults: float) -> Iterator[Answers]:
    """The sample portal, so that neither side shares its interpreter lock with it."""
    command = [sys.executable, "-m", "ingestion.samples.portal", str(directory)]
    command += ["--port", str(port), "--faults", str(faults)]
    answers: Answers = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = cast(IO[str], process.stdout)
        output.readline()  # its address: it is ready
        try:
            yield answers
        finally:
            process.send_signal(signal.SIGTERM)
            counted = json.loads(output.read())
            answers.update({int(status): n for status, n in counted.items()})


def run(*arguments: str, **environment: str) -> str:
    """`python -m` the arguments; its output. Raises CalledProcessError."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, env=os.environ | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def run_weighed(*arguments: str, log: Path, **environment: str) -> int:
    """As `run`; answers the largest resident memory of the process and all below it, in bytes.

    Pages that processes share count once for each of them, on both sides alike.
    """
    command = [sys.executable, "-m", *arguments]
    peak = 0
    with (
        log.open("w") as output,
        subprocess.Popen(command, env=os.environ | environment, stderr=output) as process,
    ):
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(LOOK_SECONDS)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=log.read_text())
    return peak


def _resident(root: int) -> int:
    children: defaultdict[int, list[int]] = defaultdict(list)
    resident: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # it ended while we looked
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children[int(fields[1])].append(int(entry.name))
                resident[int(entry.name)] = int(fields[21]) * PAGE
    family = [root]
    for pid in family:
        family += children[pid]
    return sum(resident.get(pid, 0) for pid in family)
