"""The harms themselves, and how they are spread over the work."""

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
PATIENCE_SECONDS = 3.0  # for the work to come to where the next harm is due
FIND_SECONDS = 8.0  # for a process to be there that can be killed
CLOCK_SECONDS = 60  # by which a clock jumps; what is put off by it is waited for
RETRY_SECONDS = 20.0  # between two looks of somebody from operations at what is held
OPS = Actor.software("chaos", OPERATIONS)
FREEZABLE = ("worker", "monitor", "pusher", "sentinel", "cluster", "host")


class Storm:
    def __init__(self, place: Installation, server: Server, sender: uploads.Sender) -> None:
        self._place, self._server, self._sender = place, server, sender
        self.kills: Counter[str] = Counter()  # strikes; `all` is one, whatever it kills
        self.killed = 0  # processes
        self.harms: Counter[str] = Counter()
        self.spoilt: set[str] = set()  # hashes of uploads that nobody has any more
        self._retries_at = 0.0

    @property
    def sent(self) -> list[uploads.Upload]:
        return self._sender.sent

    def rage(self, harms: Sequence[Harm], total: int, until: float) -> None:
        """Returns when they are over, or at `until` (monotonic)."""
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
        """No harm any more: does everything come to rest, what is held for our sake retried?"""
        until, tried = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            self._place.tend()
            time.sleep(LOOK_SECONDS)
            if not self._place.is_calm() or insist(_unsettled):
                continue
            if not insist(self._retry) or tried == 3:  # what is held still is held for good
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
        """As somebody from operations would, who sees what is held. How many."""
        held = Document.objects.filter(state=DocumentState.HELD)
        return retrying.retry_held(held.exclude(expected_sha256__in=self._gone()), by=OPS)

    def _gone(self) -> list[str]:
        """Uploads that are held because their bytes are lost: once is enough to know."""
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
        """Of one host where it is a whole session; else of both. Waits until there are some."""
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
        """In the middle of an upload; then it is sent again, under its key."""
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
        """While it waits: every host is frozen until it is spoilt."""
        upload, thaw = self._sender.new(), self._freeze_between_transactions()
        try:
            self._sender.send(upload)
            key = insist(lambda: Document.objects.get(expected_sha256=upload.sha256).spooled)
            _spoil(Path(settings.SPOOL_DIR) / key, dice)
            self.spoilt.add(upload.sha256)
        finally:
            thaw()

    def _freeze_between_transactions(self) -> Callable[[], None]:
        """Who is frozen in one keeps what an upload has to wait for."""
        while True:
            thaw = self._place.freeze()
            if insist(self._server.is_free):
                return thaw
            thaw()
            time.sleep(LOOK_SECONDS)

    def _spoil_fetched(self, dice: random.Random) -> None:
        """What a portal gave, and nobody has filed yet. It can be fetched again."""
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
    """The database may be away, or somebody else's, for a while."""
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
    """Documents that are over, and not only held until somebody looks."""
    return Document.objects.exclude(settled_at=None).exclude(state=DocumentState.HELD).count()


def _spoil(path: Path, dice: random.Random) -> None:
    """A byte flips, the end goes, or all of it."""
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
