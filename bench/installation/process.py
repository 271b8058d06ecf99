"""Runs the portal and each side of a measurement in their own processes, and weighs them."""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from qualification.sandbox.process_tree import (
    list_process_tree,
    read_memory,
    read_process_status,
)

POLL_SECONDS = 0.1  # between two measurements of memory
LEAVE_SECONDS = 10.0  # for which child processes may outlive a command before they count as orphans
PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


Answers = dict[int, int]  # number of responses of the portal by status; filled when it stops


def free_port() -> int:
    """Return a free port. It is chosen first, because the addresses of documents contain it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def portal(directory: Path, port: int, faults: float) -> Iterator[Answers]:
    """Run the sample portal in its own process, so that no side shares its interpreter lock."""
    command = [sys.executable, "-m", "samples.portal", str(directory)]
    command += ["--port", str(port), "--faults", str(faults)]
    answers: Answers = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = cast(IO[str], process.stdout)
        output.readline()  # its address; it is ready then
        try:
            yield answers
        finally:
            process.send_signal(signal.SIGTERM)
            counts = json.loads(output.read())
            answers.update({int(status): n for status, n in counts.items()})


def run(*arguments: str, **environment: str) -> str:
    """Run `python -m` with the arguments and return its output. Raises CalledProcessError."""
    command = [sys.executable, "-m", *arguments]
    result = subprocess.run(
        command, env=os.environ | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return result.stdout


def run_weighed(*arguments: str, log: Path, **environment: str) -> int:
    """Run `python -m`, and return the largest resident memory of the process tree in bytes.

    Pages that processes share count once for each process, on both sides alike.
    """
    command = [sys.executable, "-m", *arguments]
    peak = 0
    with (
        log.open("w") as output,
        subprocess.Popen(command, env=os.environ | environment, stderr=output) as process,
    ):
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(POLL_SECONDS)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=log.read_text())
    return peak


@dataclass(frozen=True, slots=True)
class Used:
    """The resources used by a command and all its descendants."""

    wall: float  # seconds
    cpu: float  # seconds, user and system
    output: str
    peak: int = 0  # bytes of resident memory of all its processes, if it was measured
    share: int = 0  # the same, with shared pages divided between processes
    orphans: int = 0  # processes that did not end with it


def run_counted(command: Sequence[str], *, weighed: bool = False, **environment: str) -> Used:
    """Run a command until it ends. Raises CalledProcessError.

    This process becomes the parent of orphans, and times are added to the parent of an ended
    process, so children are counted however they end. Nothing else may run below this process
    meanwhile.
    """
    adopt()
    before, begun, peak, share = _used_below(), time.monotonic(), 0, 0
    with tempfile.TemporaryFile("w+") as output:  # not a pipe, which orphans would keep open
        with subprocess.Popen(command, env=os.environ | environment, stdout=output) as process:
            while weighed and process.poll() is None:
                peak = max(peak, _resident(process.pid))
                share = max(share, read_memory(process.pid))
                with suppress(subprocess.TimeoutExpired):  # so that its end is noticed at once
                    process.wait(POLL_SECONDS)
        wall = time.monotonic() - begun
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    orphans = _end_descendants()
    return Used(wall, _used_below() - before, text, peak, share, orphans)


def adopt() -> None:
    """Make this process the parent of all orphans among its descendants."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _used_below() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def used_so_far() -> float:
    """Return the processor seconds of all descendants of this process, including ended ones.

    Call `adopt` before, so that none is missed.
    """
    living = filter(None, map(read_process_status, list_process_tree(os.getpid())[1:]))
    ticks = sum(int(each) for stat in living for each in stat[11:15])  # with their children
    return _used_below() + ticks / os.sysconf("SC_CLK_TCK")


def _end_descendants() -> int:
    """Wait for all remaining descendants, and kill those that do not end. Return their number."""
    orphans, deadline = 0, time.monotonic() + LEAVE_SECONDS
    with suppress(ChildProcessError):  # no child is left
        while True:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
            if time.monotonic() > deadline:
                for pid in list_process_tree(os.getpid())[1:]:
                    orphans += 1
                    os.kill(pid, signal.SIGKILL)
                deadline += LEAVE_SECONDS
            time.sleep(POLL_SECONDS / 10)
    return orphans


def _resident(root: int) -> int:
    """Return the resident memory of a process and its descendants."""
    return sum(
        int(stat[21]) * PAGE
        for pid in list_process_tree(root)
        if (stat := read_process_status(pid))
    )
