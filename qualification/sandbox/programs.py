"""Start programs of SiteLedger as child processes, and stop them in every case."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings

STOP_SECONDS = 70.0  # a worker host drains for a minute


def manage(*arguments: str) -> list[str]:
    """Return the command line for `manage.py` with these arguments."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


@contextmanager
def run_program(
    command: Sequence[str], environment: Mapping[str, str], **streams: Any
) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until the block ends. `streams` are arguments of Popen.

    The program has its own session, so that Ctrl-C reaches only this process, which stops it.
    """
    program = subprocess.Popen(  # noqa: S603 - our own program
        command, env=dict(environment), text=True, start_new_session=True, **streams
    )
    try:
        yield program
    finally:
        program.terminate()
        try:
            program.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
        program.communicate()  # closes the pipe


def find_free_port() -> int:
    """Return a port of this machine that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def stop_on_sigterm() -> None:
    """Handle SIGTERM like Ctrl-C, so that started programs are stopped."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
