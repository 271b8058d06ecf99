"""This installation's software on a database and folders of its own, in a temporary folder.

Programs are started as they are in production, with the settings in force here, but for those that
name a place, a secret or somebody else: nothing that is done in it reaches the installation.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

from ingestion.validation import values
from ingestion.validation.steps import Differs

SECONDS = 300  # for one command
STOP_SECONDS = 40
# Settings that name a place of the installation, or somebody outside of it.
_PLACE = re.compile(r"_(DIR|ROOT|FILE)$")
_OUTSIDE = re.compile(
    r"_(URL|BUCKET|ENDPOINT|TSA|CERTIFICATES|EMAILS|WEBHOOK|SERVER|ROLES)$|^CLAMD$"
)
_PORTALS = ("PORTAL_SECRET", "PORTAL_CA_", "PORTAL_CERT_")
_PATH = re.compile(r"'(/[^']*)'")
_NOT_OURS = {"BASE_DIR", "STATIC_URL", "MEDIA_URL", "LOGIN_URL", "LOGOUT_URL"}  # of the code
_NOT_OURS |= {"LOGIN_REDIRECT_URL", "LOGOUT_REDIRECT_URL", "STATICFILES_DIRS"}


class Sandbox:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "siteledger.sqlite3"
        self.environment = _environment(folder)
        self._running = ExitStack()
        self.address = ""

    def close(self) -> None:
        """Stop what was started."""
        self._running.close()

    def manage(self, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        """`manage.py`, to its end, whatever its exit code."""
        return subprocess.run(  # noqa: S603 - our own program
            [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
            env=self.environment | changes,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def done(self, *arguments: str) -> str:
        """What it printed. Raises Differs unless it ended well."""
        told = self.manage(*arguments)
        if told.returncode:
            raise Differs(f"{arguments[0]} ended with {told.returncode}: {told.stderr.strip()}")
        return told.stdout

    def ingested(self, folder: Path, site: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(
            self.done("ingest_folder", str(folder), "--site", site, "--wait", "--json")
        )
        return told

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
        if _OUTSIDE.search(name):
            return value not in {"''", "[]", "None"}
        if _PLACE.search(name) or name in {"DATABASES", "CACHES"}:
            return any(not path.startswith(str(self.folder)) for path in _PATH.findall(value))
        if name == "STORAGES":
            return "Bucket" in value
        return name == "DATABASE_OWNER" and value != "{}"

    def start_workers(self) -> None:
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "workers"]
        host = self._running.enter_context(_program(command, self.environment))
        assert host.stdout is not None  # noqa: S101 - it is a pipe
        if "Working" not in host.stdout.readline():
            raise Differs("the worker host did not start")

    def start_pages(self) -> None:
        """The web server that production runs, on a free port of this machine."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{probe.getsockname()[1]}"
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", place]
        self._running.enter_context(
            _program([*command, "--chdir", str(settings.BASE_DIR)], self.environment)
        )
        self.address = f"http://{place}"
        _wait_for(f"{self.address}/healthz")

    @contextmanager
    def browser(self) -> Iterator["Browser"]:
        with httpx2.Client(base_url=self.address, timeout=60.0) as client:
            yield Browser(client)


class Browser:
    """Somebody at a browser, with their own cookies."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def get(self, address: str) -> httpx2.Response:
        return self._client.get(address)

    def post(self, address: str, form: Mapping[str, str]) -> httpx2.Response:
        """As the page's own form sends it, with its token."""
        token = {"X-CSRFToken": self._client.cookies["csrftoken"]}
        return self._client.post(address, data=dict(form), headers=token)

    def sign_in(self, name: str, password: str) -> httpx2.Response:
        self.get("/login/")
        return self.post("/login/", {"username": name, "password": password})


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: v for name, v in os.environ.items() if not name.startswith(_PORTALS)}
    used = [name for name in values.names() if getattr(settings, name, "") and _PLACE.search(name)]
    places = {name: str(folder / name.lower()) for name in used}
    outside = dict.fromkeys((name for name in values.names() if _OUTSIDE.search(name)), "")
    return (
        kept
        | places
        | outside
        | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "True",  # plain HTTP and demo users, on this machine alone
            "HTTPS_ONLY": "False",
            "BEHIND_PROXY": "False",
            "SECRET_KEY": "of-a-sandbox",
            "ALLOWED_HOSTS": "127.0.0.1",
            "CSRF_TRUSTED_ORIGINS": "",
            "DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder / 'siteledger.sqlite3'}",
            "DATABASE_OWNER_URL": "",
            "AUDIT_KEY_FILE": str(folder / "keys" / "audit.pem"),
            "ALERT_WEBHOOK_SECRET_FILE": "",
            "PORTAL_SECRETS_DIR": "",
            "LOG_LEVEL": "WARNING",
        }
    )


@contextmanager
def _program(
    command: list[str], environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[str]"]:
    """Its own session: a Ctrl-C reaches us alone, and we stop it in order."""
    program = subprocess.Popen(  # noqa: S603 - our own program
        command,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
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


def _wait_for(address: str) -> None:
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until:
        try:
            httpx2.get(address)
        except httpx2.TransportError:
            time.sleep(0.2)
        else:
            return
    raise Differs(f"the web server did not answer within {STOP_SECONDS} s")
