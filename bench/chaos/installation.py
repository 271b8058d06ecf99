"""Runs hosts, web server, portal and disk of one run. Programs that end are restarted."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from django.core.management import call_command

from audit.ledger.actors import OPERATIONS, Actor
from bench.chaos import processes
from bench.chaos.clock import Clock
from bench.chaos.expected_documents import PORTAL, ExpectedDocuments
from bench.chaos.portal_proxy import PortalProxy
from bench.installation.process import free_port
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import BatchSource
from samples.portal import SamplePortal, read_limits

ROOT = Path(__file__).parents[2]
HOSTS = 2
PORTAL_FAULTS = 0.05  # share of documents with injected faults of the portal
RESTART_SECONDS = 1.0  # before a restart, like `RestartSec` of systemd
STOP_SECONDS = 60.0


class Program:
    """A program that has to run all the time. Its output is written to a file."""

    def __init__(self, command: list[str], log: Path, changes: Mapping[str, str]) -> None:
        self._command, self._environment = command, os.environ | changes
        self._log = log
        self._starts_at = 0.0
        self.starts = 0
        self.start()

    @property
    def pid(self) -> int:
        """Return the id of the process that was started last."""
        return self._process.pid

    def start(self) -> None:
        """Start the program, and count the start."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, cwd=ROOT
            )
        self.starts += 1

    def restart_ended(self) -> None:
        """Restart the program a moment after it has ended."""
        if self._process.poll() is None:
            self._starts_at = time.monotonic() + RESTART_SECONDS
        elif time.monotonic() > self._starts_at:
            self.start()

    def stop(self) -> int:
        """End the program, and return its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def members(self) -> set[int]:
        """Return the process and all its descendants."""
        return processes.descendants(self.pid)


class Installation:
    """Runs the programs of one installation, and restarts those that end."""

    def __init__(self, folder: Path, portal_proxy: PortalProxy) -> None:
        self.portal_proxy = portal_proxy
        self.web_port = free_port()
        self.clock = Clock(folder)
        self._folder = folder
        workers = [sys.executable, "manage.py", "workers"]
        self.hosts = [
            Program(workers, folder / f"host-{number}.log", self.clock.environment)
            for number in range(HOSTS)
        ]
        address = f"127.0.0.1:{self.web_port}"
        serve = ["-m", "gunicorn", "config.wsgi", "--bind", address, "--worker-class", "gthread"]
        web = [sys.executable, *serve, "--threads", "8", "--workers", "2"]
        self.web = Program(web, folder / "web.log", {})
        self._timers: list[threading.Timer] = []  # each ends a fault

    def run_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Run an action later in a thread, because a blocked caller cannot end a fault."""
        timer = threading.Timer(seconds, action)
        timer.start()
        self._timers.append(timer)

    def restart_ended(self) -> None:
        """Restart the programs that have ended."""
        for program in (*self.hosts, self.web):
            program.restart_ended()

    def has_active_fault(self) -> bool:
        """Return whether a fault has not ended yet."""
        return any(timer.is_alive() for timer in self._timers)

    def freeze(self) -> Callable[[], None]:
        """Stop every process of every host (SIGSTOP). Return a function that continues them."""
        pids = {pid for host in self.hosts for pid in host.members()}
        send_signal(pids, signal.SIGSTOP)
        return lambda: send_signal(pids, signal.SIGCONT)

    def stop(self) -> list[int]:
        """Drain the hosts, stop the web server, and return the exit codes of the hosts."""
        while self.has_active_fault():
            self.restart_ended()
            time.sleep(0.1)
        self.web.stop()
        return [host.stop() for host in self.hosts]

    def remaining_processes(self) -> set[int]:
        """Return the processes that still run. The cluster of a killed host ends after a while."""
        until = time.monotonic() + STOP_SECONDS
        while (pids := processes.find_by_folder(self._folder)) and time.monotonic() < until:
            time.sleep(0.1)
        return pids


def send_signal(pids: set[int], number: signal.Signals) -> None:
    """Send a signal to those of the processes that still exist."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def make_portal(offer: ExpectedDocuments, *, seed: int, port: int) -> SamplePortal:
    """Return a sample portal for the documents, with limits and faults."""
    limits = dict.fromkeys(read_limits(offer.sites), PORTAL)
    return SamplePortal(offer.directory, limits, faults=PORTAL_FAULTS, seed=seed, port=port)


def submit(offer: ExpectedDocuments) -> None:
    """Load the sites, and register all documents as one batch."""
    call_command("load_sites", str(offer.sites), verbosity=0)
    submission = Submission(BatchSource.MANIFEST, Actor.software("chaos", OPERATIONS))
    registration.register_manifest(manifest.read_manifest(offer.manifest), submission)
