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
from qualification.sandbox.isolation import EXTERNAL_SETTING, PATH_SETTING, make_environment
from qualification.sandbox.programs import find_free_port, manage, run_program

COMMAND_SECONDS = 300  # timeout of one command
START_SECONDS = 40  # timeout for the start of the web server
_PATHS = re.compile(r"'(/[^']*)'")
# Settings that the code defines and no installation changes.
_CODE_SETTINGS = {
    "BASE_DIR", "STATIC_URL", "MEDIA_URL", "LOGIN_URL", "LOGOUT_URL", "LOGIN_REDIRECT_URL",
    "LOGOUT_REDIRECT_URL", "STATICFILES_DIRS",
}  # fmt: skip


class SandboxError(Exception):
    """A program of a sandbox did not start or failed. The message names it."""


class Sandbox:
    """A sandbox in `folder`. Two processes that use the same folder share the sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "siteledger.sqlite3"
        self.environment = make_environment(folder)
        self._running = ExitStack()
        self.address = ""

    def close(self) -> None:
        """Stop all programs that were started."""
        self._running.close()

    def manage(self, *arguments: str, **overrides: str) -> "subprocess.CompletedProcess[str]":
        """Run `manage.py` and return its result, even if it fails.

        `overrides` are environment variables. The result says why the command failed, as to a
        person at a terminal.
        """
        return subprocess.run(  # noqa: S603 - our own program
            manage(*arguments),
            env=self.environment | {"LOG_FORMAT": "text"} | overrides,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )

    def run(self, *arguments: str) -> str:
        """Run `manage.py` and return its output. Raises SandboxError unless it exits with 0."""
        result = self.manage(*arguments)
        if result.returncode:
            raise SandboxError(
                f"{arguments[0]} ended with {result.returncode}: {result.stderr.strip()}"
            )
        return result.stdout

    def is_current_installation(self) -> bool:
        """Return whether the settings of this process itself name the sandbox."""
        name = settings.DATABASES["default"]["NAME"]
        return Path(name) == self.database and Path(settings.DATA_DIR) == self.folder

    def find_external_settings(self) -> list[str]:
        """Return the settings of the sandbox that name something outside. There should be none."""
        lines = self.run("diffsettings", "--all").splitlines()
        # Django marks settings that have their default value.
        unmarked = (line.removeprefix("### ").removesuffix("  ###") for line in lines)
        values = dict(line.split(" = ", 1) for line in unmarked if " = " in line)
        return [name for name, value in values.items() if self._is_external(name, value)]

    def _is_external(self, name: str, value: str) -> bool:
        if name in _CODE_SETTINGS:
            return False
        if name == "DATABASES" and str(self.database) not in value:
            return True
        if EXTERNAL_SETTING.search(name):
            return value not in {"''", "[]", "None"}
        if PATH_SETTING.search(name) or name in {"DATABASES", "CACHES"}:
            return any(not path.startswith(str(self.folder)) for path in _PATHS.findall(value))
        if name == "STORAGES":
            return "Bucket" in value
        return name == "DATABASE_OWNER" and value != "{}"

    @contextmanager
    def workers(self, **overrides: str) -> Iterator["subprocess.Popen[str]"]:
        """Run a worker host until the block ends. Raises SandboxError if it does not start."""
        environment = self.environment | overrides
        with run_program(manage("workers"), environment, stdout=subprocess.PIPE) as host:
            if host.stdout is None or "Working" not in host.stdout.readline():
                raise SandboxError("the worker host did not start")
            yield host

    def start_workers(self) -> None:
        """Start a worker host, which runs until `close`."""
        self._running.enter_context(self.workers())

    def start_web_server(self) -> None:
        """Start the web server of production on a free local port. It runs until `close`."""
        host = f"127.0.0.1:{find_free_port()}"
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", host]
        command += ["--chdir", str(settings.BASE_DIR)]
        discarded = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._running.enter_context(run_program(command, self.environment, **discarded))
        self.address = f"http://{host}"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                httpx2.get(f"{self.address}/healthz")
            except httpx2.TransportError:
                time.sleep(0.2)
            else:
                return
        raise SandboxError(f"the web server did not answer within {START_SECONDS} s")

    @contextmanager
    def browser(self) -> Iterator[Browser]:
        """Open a browser session on the web server of the sandbox. Requests time out after 60 s."""
        with httpx2.Client(base_url=self.address, timeout=60.0) as client:
            yield Browser(client)
