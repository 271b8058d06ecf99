"""This installation's software on a database and folders of its own, in a temporary folder.

Programs are started as they are in production, with the settings in force here, but for those that
name a place, a secret or somebody else: nothing that is done in it reaches the installation.
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

SECONDS = 300  # for one command
START_SECONDS = 40
_PATH = re.compile(r"'(/[^']*)'")
_NOT_OURS = {"BASE_DIR", "STATIC_URL", "MEDIA_URL", "LOGIN_URL", "LOGOUT_URL"}  # of the code
_NOT_OURS |= {"LOGIN_REDIRECT_URL", "LOGOUT_REDIRECT_URL", "STATICFILES_DIRS"}


class Failed(Exception):
    """Something in a sandbox did not start, or ended badly. The message says what."""


class Sandbox:
    """In a folder of whoever makes it. The same folder is the same sandbox, in any process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "siteledger.sqlite3"
        self.environment = environment(folder)
        self._running = ExitStack()
        self.address = ""

    def close(self) -> None:
        """Stop what was started."""
        self._running.close()

    def manage(self, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        """`manage.py`, to its end, whatever its exit code."""
        return subprocess.run(  # noqa: S603 - our own program
            manage(*arguments),
            env=self.environment | changes,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def done(self, *arguments: str) -> str:
        """What it printed. Raises Failed unless it ended well."""
        told = self.manage(*arguments)
        if told.returncode:
            raise Failed(f"{arguments[0]} ended with {told.returncode}: {told.stderr.strip()}")
        return told.stdout

    def is_ours(self) -> bool:
        """Whether this very process works in it, and nowhere else."""
        name = settings.DATABASES["default"]["NAME"]
        return Path(name) == self.database and Path(settings.DATA_DIR) == self.folder

    def strays(self) -> list[str]:
        """Settings of the sandbox that name something outside of it: there may be none."""
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
        """A worker host that works. Raises Failed."""
        settled = self.environment | changes
        with running(manage("workers"), settled, stdout=subprocess.PIPE) as host:
            if host.stdout is None or "Working" not in host.stdout.readline():
                raise Failed("the worker host did not start")
            yield host

    def start_workers(self) -> None:
        """Until `close`."""
        self._running.enter_context(self.workers())

    def start_pages(self) -> None:
        """The web server that production runs, on a free port of this machine; until `close`."""
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
    raise Failed(f"the web server did not answer within {START_SECONDS} s")
