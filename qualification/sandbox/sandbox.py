"""Run the installed software on its own database and folders in a temporary folder.

Programs are started as in production, with the settings of this installation, except for settings
that name a folder, a secret or an external service. Nothing in a sandbox changes the installation.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
from django.conf import settings

from qualification.sandbox.browser import Browser
from qualification.sandbox.isolation import OUTSIDE, PLACE, environment
from qualification.sandbox.programs import free_port, manage, running

COMMAND_SECONDS = 300  # timeout of one command
START_SECONDS = 40  # timeout for the start of the web server
_PATH = re.compile(r"'(/[^']*)'")
_NOT_OURS = {"BASE_DIR", "STATIC_URL", "MEDIA_URL", "LOGIN_URL", "LOGOUT_URL"}  # of the code
_NOT_OURS |= {"LOGIN_REDIRECT_URL", "LOGOUT_REDIRECT_URL", "STATICFILES_DIRS"}


class SandboxError(Exception):
    """A program of a sandbox did not start, or failed. The message says which."""


class Sandbox:
    """A sandbox in `folder`. Two processes that use the same folder share the sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "siteledger.sqlite3"
        self.environment = environment(folder)
        self._running = ExitStack()
        self.address = ""

    def close(self) -> None:
        """Stop all programs that were started."""
        self._running.close()

    def manage(self, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        """Run `manage.py` with these arguments and return its result, whatever its exit code."""
        return subprocess.run(  # noqa: S603 - our own program
            manage(*arguments),
            env=self.environment | changes,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )

    def done(self, *arguments: str) -> str:
        """Run `manage.py` and return its output. Raises SandboxError unless it exits with 0."""
        told = self.manage(*arguments)
        if told.returncode:
            raise SandboxError(
                f"{arguments[0]} ended with {told.returncode}: {told.stderr.strip()}"
            )
        return told.stdout

    def is_ours(self) -> bool:
        """Return whether this process itself works on the sandbox."""
        name = settings.DATABASES["default"]["NAME"]
        return Path(name) == self.database and Path(settings.DATA_DIR) == self.folder

    def strays(self) -> list[str]:
        """Return the settings of the sandbox that name something outside. There should be none."""
        lines = self.done("diffsettings", "--all").splitlines()
        bare = (line.removeprefix("### ").removesuffix("  ###") for line in lines)  # Django's marks
        told = dict(line.split(" = ", 1) for line in bare if " = " in line)
        return [name for name, value in told.items() if self._strays(name, value)]

    def _strays(self, name: str, value: str) -> bool:
        if name in _NOT_OURS:
            return False
        if name == "DATABASES" and str(self.database) not in value:
            return True
        if OUTSIDE.search(name):
            return value not in {"''", "[]", "None"}
        if PLACE.search(name) or name in {"DATABASES", "CACHES"}:
            return any(not path.startswith(str(self.folder)) for path in _PATH.findall(value))
        if name == "STORAGES":
            return "Bucket" in value
        return name == "DATABASE_OWNER" and value != "{}"

    @contextmanager
    def workers(self, **changes: str) -> Iterator["subprocess.Popen[str]"]:
        """Run a worker host until the block ends. Raises SandboxError if it does not start."""
        settled = self.environment | changes
        with running(manage("workers"), settled, stdout=subprocess.PIPE) as host:
            if host.stdout is None or "Working" not in host.stdout.readline():
                raise SandboxError("the worker host did not start")
            yield host

    def start_workers(self) -> None:
        """Start a worker host, which runs until `close`."""
        self._running.enter_context(self.workers())

    def start_pages(self) -> None:
        """Start the web server of production on a free local port. It runs until `close`."""
        place = f"127.0.0.1:{free_port()}"
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", place]
        command += ["--chdir", str(settings.BASE_DIR)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._running.enter_context(running(command, self.environment, **quiet))
        self.address = f"http://{place}"
        _wait_for(f"{self.address}/healthz")

    @contextmanager
    def browser(self) -> Iterator[Browser]:
        with httpx2.Client(base_url=self.address, timeout=60.0) as client:
            yield Browser(client)


def _wait_for(address: str) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            httpx2.get(address)
        except httpx2.TransportError:
            time.sleep(0.2)
        else:
            return
    raise SandboxError(f"the web server did not answer within {START_SECONDS} s")
