"""Injects faults, and distributes them over the work."""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from audit.ledger.actors import OPERATIONS, Actor
from bench.chaos import processes, uploads
from bench.chaos.installation import Installation, send_signal
from bench.chaos.portal_proxy import Mode
from bench.chaos.schedule import DISK, KILLS, ScheduledFault
from bench.chaos.servers import Server
from ingestion.core.states import DocumentState
from ingestion.intake import retrying
from ingestion.models import Document

T = TypeVar("T")

POLL_SECONDS = 0.2
MAX_WAIT_SECONDS = 3.0  # for the share of the work at which the next fault is due
FIND_SECONDS = 8.0  # to wait for a process that can be killed
CLOCK_SECONDS = 60  # by which a clock is changed; work may be delayed by this time
RETRY_SECONDS = 20.0  # between two retries of held documents
OPS = Actor.software("chaos", OPERATIONS)
FREEZABLE = ("worker", "monitor", "pusher", "sentinel", "cluster", "host")


class FaultInjector:
    """Injects the planned faults when their share of the work is done."""

    def __init__(self, installation: Installation, server: Server, sender: uploads.Sender) -> None:
        self._installation, self._server, self._sender = installation, server, sender
        self.kills: Counter[str] = Counter()  # number of kills; `all` counts once
        self.killed = 0  # processes
        self.other_faults: Counter[str] = Counter()
        self.damaged: set[str] = set()  # digests of uploads whose bytes are lost
        self._retries_at = 0.0

    @property
    def sent(self) -> list[uploads.KeyedUpload]:
        """Return the files that were uploaded during the run."""
        return self._sender.sent

    def inject_all(self, faults: Sequence[ScheduledFault], total: int, until: float) -> None:
        """Inject all faults. Returns when they are over, or at `until` (monotonic).

        A fault is due when its share of the `total` documents is done, or after a while without
        progress.
        """
        for fault in faults:
            wait_until = time.monotonic() + MAX_WAIT_SECONDS
            while time.monotonic() < wait_until and repeat(_count_done) < fault.due * total:
                self._installation.restart_ended()
                if time.monotonic() > self._retries_at:
                    self._retries_at = time.monotonic() + RETRY_SECONDS
                    repeat(self._retry)
                time.sleep(POLL_SECONDS)
            if time.monotonic() > until:
                return
            done = repeat(_count_done)
            sys.stderr.write(f"{done} of {total} documents are done: {fault.kind}\n")
            rng = random.Random(fault.seed)
            if fault.kind in KILLS:
                self._kill(fault.kind, rng)
            else:
                self._other_faults[fault.kind](self, rng)
                self.other_faults[fault.kind] += 1

    def settle(self, seconds: float) -> bool:
        """Retry held documents, and return whether all work ends without further faults."""
        until, tried = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            self._installation.restart_ended()
            time.sleep(POLL_SECONDS)
            if self._installation.has_active_fault() or repeat(_count_unsettled):
                continue
            # Documents that are still held after three retries stay held.
            if not repeat(self._retry) or tried == 3:
                return True
            tried += 1
        return False

    def _retry(self) -> int:
        """Retry held documents as operations would, and return how many there were.

        Uploads that are held because their bytes are lost are not retried.
        """
        held = Document.objects.filter(state=DocumentState.HELD)
        lost = held.filter(expected_sha256__in=self.damaged)
        digests = list(lost.values_list("expected_sha256", flat=True))
        return retrying.retry_held(held.exclude(expected_sha256__in=digests), by=OPS)

    def _kill(self, role: str, rng: random.Random) -> None:
        if role == "web":
            # Kill the web server during an upload, which is then repeated with the same key.
            upload = self._sender.new()
            with suppress(OSError), self._sender.send_half(upload):
                time.sleep(POLL_SECONDS)
                self._kill_processes("web", self._installation.web.members())
            self._sender.send(upload)
        elif role == "host":
            self._kill_processes("host", {rng.choice(self._installation.hosts).pid})
        else:
            pids = self._find_processes(role)
            self._kill_processes(role, pids if role == "all" else {rng.choice(sorted(pids))})

    def _find_processes(self, role: str) -> set[int]:
        """Wait for processes of a role. Return those of one host for `all`, else of both hosts."""
        until = time.monotonic() + FIND_SECONDS
        while True:
            self._installation.restart_ended()
            by_host = [processes.find(host.pid, role) for host in self._installation.hosts]
            pids = max(by_host, key=len) if role == "all" else set().union(*by_host)
            if pids or time.monotonic() > until:
                return pids or {self._installation.hosts[0].pid}
            time.sleep(POLL_SECONDS / 4)

    def _kill_processes(self, role: str, pids: set[int]) -> None:
        send_signal(pids, signal.SIGKILL)
        self.kills[role] += 1
        self.killed += len(pids)

    def _freeze(self, rng: random.Random) -> None:
        role = rng.choice(FREEZABLE)
        host = rng.choice(self._installation.hosts)
        pids = {host.pid} if role == "host" else processes.find(host.pid, role)
        send_signal(pids, signal.SIGSTOP)
        self._installation.run_later(rng.uniform(1, 10), lambda: send_signal(pids, signal.SIGCONT))

    def _fill_disk(self, rng: random.Random) -> None:
        filler = Path(settings.ARCHIVE_DIR).parent / "filler"
        file = os.open(filler, os.O_CREAT | os.O_WRONLY)
        with suppress(OSError):
            while room := os.statvfs(filler).f_bavail * os.statvfs(filler).f_frsize:
                os.posix_fallocate(file, os.fstat(file).st_size, room)
        os.close(file)
        self._installation.run_later(rng.uniform(2, 4), lambda: filler.unlink(missing_ok=True))

    def _interrupt_database(self, rng: random.Random) -> None:
        self._installation.run_later(rng.uniform(3, 9), self._server.inject_fault())

    def _interrupt_portal(self, mode: Mode, rng: random.Random) -> None:
        proxy = self._installation.portal_proxy
        proxy.set_mode(mode)
        self._installation.run_later(rng.uniform(3, 12), lambda: proxy.set_mode(Mode.OPEN))

    def _change_clock(self, rng: random.Random) -> None:
        clock = self._installation.clock
        seconds = rng.randint(2, CLOCK_SECONDS)
        clock.set_ahead(rng.choice((-1, 1)) * seconds)
        self._installation.run_later(rng.uniform(5, 20), lambda: clock.set_ahead(0))

    def _damage_upload(self, rng: random.Random) -> None:
        """Damage an upload that waits in the spool. All hosts are frozen meanwhile.

        They are frozen outside of transactions, so that the upload waits for no lock.
        """
        upload = self._sender.new()
        unfreeze = self._installation.freeze()
        while not repeat(self._server.is_free):
            unfreeze()
            time.sleep(POLL_SECONDS)
            unfreeze = self._installation.freeze()
        try:
            self._sender.send(upload)
            key = repeat(lambda: Document.objects.get(expected_sha256=upload.sha256).spooled)
            _damage(Path(settings.SPOOL_DIR) / key, rng)
            self.damaged.add(upload.sha256)
        finally:
            unfreeze()

    def _damage_downloads(self, rng: random.Random) -> None:
        """Damage downloaded files that are not filed yet. They can be downloaded again."""
        unfreeze = self._installation.freeze()
        try:
            downloads = Path(settings.SPOOL_DIR).glob("attempts/*/*")
            complete = sorted(path for path in downloads if not path.suffix)
            for path in rng.sample(complete, min(3, len(complete))):
                _damage(path, rng)
        finally:
            unfreeze()

    _other_faults: dict[str, Callable[["FaultInjector", random.Random], None]] = {
        "freeze": _freeze,
        DISK: _fill_disk,
        "database": _interrupt_database,
        "portal refuses": lambda self, rng: self._interrupt_portal(Mode.REFUSED, rng),
        "portal silent": lambda self, rng: self._interrupt_portal(Mode.SILENT, rng),
        "clock": _change_clock,
        "upload damaged": _damage_upload,
        "download damaged": _damage_downloads,
    }


def repeat(action: Callable[[], T], seconds: float = 90.0) -> T:
    """Repeat an action for a while, because the database may be unavailable or locked."""
    until = time.monotonic() + seconds
    while True:
        try:
            return action()
        except (DatabaseError, InterfaceError):
            connections.close_all()
            if time.monotonic() > until:
                raise
            time.sleep(POLL_SECONDS)


def _count_unsettled() -> int:
    return Document.objects.unsettled().count()


def _count_done() -> int:
    """Return the number of documents that are settled and not held."""
    return Document.objects.exclude(settled_at=None).exclude(state=DocumentState.HELD).count()


def _damage(path: Path, rng: random.Random) -> None:
    """Damage a file: flip a bit, truncate it, or remove it."""
    with suppress(FileNotFoundError):
        content = bytearray(path.read_bytes())
        match rng.choice(("flip", "cut", "remove")):
            case "flip":
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
                path.write_bytes(content)
            case "cut":
                os.truncate(path, rng.randrange(len(content)))
            case _:
                path.unlink()
