"""Processes of a measurement: the portal in its own, a side in its own, and what they weigh."""

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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

LOOK_SECONDS = 0.1  # between two looks at the memory of a tree of processes
LEAVE_SECONDS = 10.0  # that what a command started may outlive it; then it is an orphan
PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


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
    command = [sys.executable, "-m", "samples.portal", str(directory)]
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


@dataclass(frozen=True, slots=True)
class Used:
    """What a command used, with every process that it started, also by way of others."""

    wall: float  # seconds
    cpu: float  # seconds, user and system
    output: str
    peak: int = 0  # bytes of resident memory, of all its processes together, where it was weighed
    share: int = 0  # the same, a page that several share being shared out among them
    orphans: int = 0  # processes that did not end with it


def run_counted(command: Sequence[str], *, weighed: bool = False, **environment: str) -> Used:
    """Run it to its end. Raises CalledProcessError.

    Children are counted however they end: whoever loses his parent gets us for one, and times go
    up from parent to parent. So nothing else may run below this process meanwhile.
    """
    adopt()
    before, begun, peak, share = _used_below(), time.monotonic(), 0, 0
    with tempfile.TemporaryFile("w+") as output:  # not a pipe: orphans would keep it open
        with subprocess.Popen(command, env=os.environ | environment, stdout=output) as process:
            while weighed and process.poll() is None:
                peak = max(peak, _resident(process.pid))
                share = max(share, _proportional(process.pid))
                with suppress(subprocess.TimeoutExpired):  # its end is not to be slept through
                    process.wait(LOOK_SECONDS)
        wall = time.monotonic() - begun
        output.seek(0)
        said = output.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    orphans = _bury()
    return Used(wall, _used_below() - before, said, peak, share, orphans)


def adopt() -> None:
    """From now on whoever loses its parent below us becomes a child of ours."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _used_below() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def used_so_far() -> float:
    """Seconds of the processor, of all below this process, those that have ended included.

    After `adopt`, so that nobody is missed.
    """
    living = filter(None, map(_stat, _family(os.getpid())[1:]))
    ticks = sum(int(each) for stat in living for each in stat[11:15])  # and of their own children
    return _used_below() + ticks / os.sysconf("SC_CLK_TCK")


def _bury() -> int:
    """Wait for all that is left below us, and end what does not. How many that were."""
    orphans, deadline = 0, time.monotonic() + LEAVE_SECONDS
    with suppress(ChildProcessError):  # there is nobody any more
        while True:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
            if time.monotonic() > deadline:
                for pid in _family(os.getpid())[1:]:
                    orphans += 1
                    os.kill(pid, signal.SIGKILL)
                deadline += LEAVE_SECONDS
            time.sleep(LOOK_SECONDS / 10)
    return orphans


def _resident(root: int) -> int:
    """Of the process and all below it."""
    return sum(int(stat[21]) * PAGE for pid in _family(root) if (stat := _stat(pid)))


def _proportional(root: int) -> int:
    """As above; a page that several share is shared out among them."""
    found = 0
    for pid in _family(root):
        with suppress(OSError):  # it ended while we looked
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            found += sum(int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Pss:")
    return found * 1024


def _family(root: int) -> list[int]:
    """The process and all below it."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (stat := _stat(int(entry.name))):
            children[int(stat[1])].append(int(entry.name))
    family = [root]
    for pid in family:
        family += children[pid]
    return family


def _stat(pid: int) -> list[str]:
    """Fields of proc(5) from the state on; none of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
