"""Programs of ours that run beside this one, and are stopped in order whatever becomes of it."""

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
    """The command line of `manage.py`."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


@contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], **streams: Any
) -> Iterator["subprocess.Popen[str]"]:
    """`streams` as of Popen. Its own session: a Ctrl-C reaches us alone, and we stop it."""
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
        program.communicate()  # closes its pipe


def free_port() -> int:
    """Of this machine. Whoever takes it tells others of it before."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def stop_on_sigterm() -> None:
    """As Ctrl-C does: so that what was started is stopped."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt
