"""The faults, and their distribution over the work."""

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
from bench.chaos.installation import Installation, send
from bench.chaos.schedule import DISK, KILLS, Harm
from bench.chaos.servers import Server
from bench.chaos.way import Mode
from ingestion.core.states import DocumentState
from ingestion.intake import retrying
from ingestion.models import Document

T = TypeVar("T")

LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 3.0  # between checks whether the next fault is due
FIND_SECONDS = 8.0  # to wait for a process that can be killed
CLOCK_SECONDS = 60  # by which a clock is changed; work may be delayed by this time
RETRY_SECONDS = 20.0  # between two retries of held documents
OPS = Actor.software("chaos", OPERATIONS)
FREEZABLE = ("worker", "monitor", "pusher", "sentinel", "cluster", "host")


class Storm:
    def __init__(self, place: Installation, server: Server, sender: uploads.Sender) -> None:
        self._place, self._server, self._sender = place, server, sender
        self.kills: Counter[str] = Counter()  # number of kills; `all` counts once
        self.killed = 0  # processes
        self.harms: Counter[str] = Counter()
        self.spoilt: set[str] = set()  # digests of uploads whose bytes are lost
        self._retries_at = 0.0

    @property
    def sent(self) -> list[uploads.Upload]:
        return self._sender.sent

    def rage(self, harms: Sequence[Harm], total: int, until: float) -> None:
        """Inject all faults. Returns when they are over, or at `until` (monotonic)."""
        for harm in harms:
            self._await(harm.due * total)
            if time.monotonic() > until:
                return
            sys.stderr.write(f"{insist(_done)} of {total} documents are done: {harm.kind}\n")
            dice = random.Random(harm.seed)
            if harm.kind in KILLS:
                self._kill(harm.kind, dice)
            else:
                self._others[harm.kind](self, dice)
                self.harms[harm.kind] += 1

    def settle(self, seconds: float) -> bool:
        """Retry held documents, and return whether all work ends without further faults."""
        until, tried = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            self._place.tend()
            time.sleep(LOOK_SECONDS)
            if not self._place.is_calm() or insist(_unsettled):
                continue
            if not insist(self._retry) or tried == 3:  # documents that are still held stay held
                return True
            tried += 1
        return False

    def _await(self, settled: float) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and insist(_done) < settled:
            self._place.tend()
            if time.monotonic() > self._retries_at:
                self._retries_at = time.monotonic() + RETRY_SECONDS
                insist(self._retry)
            time.sleep(LOOK_SECONDS)

    def _retry(self) -> int:
        """Retry held documents as operations would, and return how many there were."""
        held = Document.objects.filter(state=DocumentState.HELD)
        return retrying.retry_held(held.exclude(expected_sha256__in=self._gone()), by=OPS)

    def _gone(self) -> list[str]:
        """Return uploads that are held because their bytes are lost. They are not retried."""
        held = Document.objects.filter(expected_sha256__in=self.spoilt, state=DocumentState.HELD)
        return list(held.values_list("expected_sha256", flat=True))

    def _kill(self, role: str, dice: random.Random) -> None:
        if role == "web":
            self._kill_web()
        elif role == "host":
            self._strike("host", {dice.choice(self._place.hosts).pid})
        else:
            found = self._find(role)
            self._strike(role, found if role == "all" else {dice.choice(sorted(found))})

    def _find(self, role: str) -> set[int]:
        """Wait for processes of a role. Return those of one host, or of both for a session."""
        until = time.monotonic() + FIND_SECONDS
        while True:
            self._place.tend()
            found = [processes.find(host.pid, role) for host in self._place.hosts]
            struck = max(found, key=len) if role == "all" else set().union(*found)
            if struck or time.monotonic() > until:
                return struck or {self._place.hosts[0].pid}
            time.sleep(LOOK_SECONDS / 4)

    def _strike(self, role: str, pids: set[int]) -> None:
        send(pids, signal.SIGKILL)
        self.kills[role] += 1
        self.killed += len(pids)

    def _kill_web(self) -> None:
        """Kill the web server during an upload, which is then repeated with the same key."""
        upload = self._sender.new()
        with suppress(OSError), self._sender.half(upload):
            time.sleep(LOOK_SECONDS)
            self._strike("web", self._place.web.members())
        self._sender.send(upload)

    def _freeze(self, dice: random.Random) -> None:
        role = dice.choice(FREEZABLE)
        host = dice.choice(self._place.hosts)
        found = {host.pid} if role == "host" else processes.find(host.pid, role)
        send(found, signal.SIGSTOP)
        self._place.later(dice.uniform(1, 10), lambda: send(found, signal.SIGCONT))

    def _fill_disk(self, dice: random.Random) -> None:
        filler = Path(settings.ARCHIVE_DIR).parent / "filler"
        file = os.open(filler, os.O_CREAT | os.O_WRONLY)
        with suppress(OSError):
            while room := os.statvfs(filler).f_bavail * os.statvfs(filler).f_frsize:
                os.posix_fallocate(file, os.fstat(file).st_size, room)
        os.close(file)
        self._place.later(dice.uniform(2, 4), lambda: filler.unlink(missing_ok=True))

    def _strike_database(self, dice: random.Random) -> None:
        self._place.later(dice.uniform(3, 9), self._server.strike())

    def _cut(self, mode: Mode, dice: random.Random) -> None:
        self._place.way.set(mode)
        self._place.later(dice.uniform(3, 12), lambda: self._place.way.set(Mode.OPEN))

    def _move_clock(self, dice: random.Random) -> None:
        seconds = dice.randint(2, CLOCK_SECONDS)
        self._place.clock.set_ahead(dice.choice((-1, 1)) * seconds)
        self._place.later(dice.uniform(5, 20), lambda: self._place.clock.set_ahead(0))

    def _spoil_upload(self, dice: random.Random) -> None:
        """Damage an upload that waits. All hosts are frozen meanwhile."""
        upload, thaw = self._sender.new(), self._freeze_between_transactions()
        try:
            self._sender.send(upload)
            key = insist(lambda: Document.objects.get(expected_sha256=upload.sha256).spooled)
            _spoil(Path(settings.SPOOL_DIR) / key, dice)
            self.spoilt.add(upload.sha256)
        finally:
            thaw()

    def _freeze_between_transactions(self) -> Callable[[], None]:
        """Freeze the hosts outside of transactions, so that uploads wait for no lock."""
        while True:
            thaw = self._place.freeze()
            if insist(self._server.is_free):
                return thaw
            thaw()
            time.sleep(LOOK_SECONDS)

    def _spoil_fetched(self, dice: random.Random) -> None:
        """Damage a downloaded file that is not filed yet. It can be downloaded again."""
        thaw = self._place.freeze()
        try:
            fetched = Path(settings.SPOOL_DIR).glob("attempts/*/*")
            whole = sorted(path for path in fetched if not path.suffix)
            for path in dice.sample(whole, min(3, len(whole))):
                _spoil(path, dice)
        finally:
            thaw()

    _others: dict[str, Callable[["Storm", random.Random], None]] = {
        "freeze": _freeze,
        DISK: _fill_disk,
        "database": _strike_database,
        "portal refuses": lambda self, dice: self._cut(Mode.REFUSED, dice),
        "portal silent": lambda self, dice: self._cut(Mode.SILENT, dice),
        "clock": _move_clock,
        "upload damaged": _spoil_upload,
        "download damaged": _spoil_fetched,
    }


def insist(ask: Callable[[], T], seconds: float = 90.0) -> T:
    """Repeat an action for a while, because the database may be unavailable or locked."""
    until = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (DatabaseError, InterfaceError):
            connections.close_all()
            if time.monotonic() > until:
                raise
            time.sleep(LOOK_SECONDS)


def _unsettled() -> int:
    return Document.objects.unsettled().count()


def _done() -> int:
    """Return the number of documents that are settled and not held."""
    return Document.objects.exclude(settled_at=None).exclude(state=DocumentState.HELD).count()


def _spoil(path: Path, dice: random.Random) -> None:
    """Damage a file: flip a byte, truncate it, or empty it."""
    with suppress(FileNotFoundError):
        content = bytearray(path.read_bytes())
        match dice.choice(("flip", "cut", "remove")):
            case "flip":
                content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
                path.write_bytes(content)
            case "cut":
                os.truncate(path, dice.randrange(len(content)))
            case _:
                path.unlink()
