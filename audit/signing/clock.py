"""Do the clocks agree? This host's against the database's, and a time server's where one is named.

Times in the ledger are worth what the clocks are (ICH E6(R3) 4.2.2(d)). One that is off by more
than AUDIT_CLOCK_SKEW_SECONDS is entered once, and again when it has changed by as much: also when
it is right again.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection

from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from audit.signing.places import rfc3161
from audit.signing.places.port import AnchorError

logger = logging.getLogger(__name__)

SOURCES = ("database", "ntp", "tsa")
NTP_PORT = 123
NTP_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)
NTP_REQUEST = b"\x23" + bytes(47)  # RFC 5905: version 4, mode 3, a client
TSA_RESOLUTION = timedelta(seconds=1)  # most authorities write whole seconds


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """By how much a clock is ahead of a host's; negative: behind."""

    source: str
    host: str
    milliseconds: int

    @property
    def is_too_much(self) -> bool:
        return abs(self.milliseconds) >= _limit()

    def __str__(self) -> str:
        way = "ahead of" if self.milliseconds > 0 else "behind"
        seconds = abs(self.milliseconds) / 1000
        return f"the clock of {self.source} is {seconds:.1f} s {way} that of {self.host}"


def check_clocks() -> list[ClockSkew]:
    """Compare, and enter what has changed. Answers what was measured."""
    measured = list(_measured())
    for skew in measured:
        if abs(skew.milliseconds - _entered(skew)) >= _limit():
            logger.error("clocks: %s", skew)
            _enter(skew)
    return measured


def excessive_skews() -> list[ClockSkew]:
    """What is on record as too much, of all hosts."""
    last: dict[tuple[str, str], ClockSkew] = {}
    for entry in queries.timeline(*(f"clock:{source}" for source in SOURCES)):
        if entry.detail:
            source = entry.subject.removeprefix("clock:")
            host = entry.detail["host"]
            last[source, host] = ClockSkew(source, host, entry.detail["milliseconds"])
    return [skew for skew in last.values() if skew.is_too_much]


def _limit() -> float:
    limit: float = settings.AUDIT_CLOCK_SKEW_SECONDS * 1000
    return limit


def _measured() -> Iterator[ClockSkew]:
    for source, read, resolution in _readers():
        before = datetime.now(UTC)
        try:
            there = read()
        except (AnchorError, OSError) as error:
            logger.warning("the clock of %s could not be read: %s", source, error)
            continue
        skew = skew_outside(there, before - resolution, datetime.now(UTC))
        yield ClockSkew(source, socket.gethostname(), round(skew.total_seconds() * 1000))


def _readers() -> Iterator[tuple[str, Callable[[], datetime], timedelta]]:
    if connection.vendor == "postgresql":  # SQLite has no clock but ours
        yield "database", _of_the_database, timedelta(0)
    if settings.NTP_SERVER:
        yield "ntp", _of_ntp, timedelta(0)
    elif settings.ANCHOR_TSA:
        yield "tsa", _of_the_authority, TSA_RESOLUTION


def skew_outside(there: datetime, before: datetime, after: datetime) -> timedelta:
    """How far a reading lies outside the time that it took to ask for it: 0 for what may be."""
    return there - min(max(there, before), after)


def _of_the_database() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


def _of_ntp() -> datetime:
    host, _, port = settings.NTP_SERVER.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.settimeout(settings.ANCHOR_TIMEOUT_SECONDS)
        server.connect((host, int(port or NTP_PORT)))
        server.send(NTP_REQUEST)
        answer = server.recv(48)
    if len(answer) < 48 or not answer[1]:  # stratum 0 is a refusal, RFC 5905 section 7.4
        raise OSError(f"{settings.NTP_SERVER} gave no time")
    since = int.from_bytes(answer[40:48], "big") / 2**32  # seconds, and a fraction
    return NTP_EPOCH + timedelta(seconds=since)


def _of_the_authority() -> datetime:
    certificates = Path(settings.ANCHOR_TSA_CERTIFICATES)
    authority = rfc3161.TimestampAnchor(
        settings.ANCHOR_TSA, certificates, settings.ANCHOR_TIMEOUT_SECONDS
    )
    return rfc3161.token_time(authority.put("", 0, "What time is it?").proof)


def _entered(skew: ClockSkew) -> int:
    """The last one of this clock and this host on record, in milliseconds."""
    entries = queries.timeline(f"clock:{skew.source}")
    ours = [e.detail["milliseconds"] for e in entries if e.detail and e.detail["host"] == skew.host]
    return int(ours[-1]) if ours else 0


def _enter(skew: ClockSkew) -> None:
    with ledger():
        record(
            "system.clock_skew",
            subject=f"clock:{skew.source}",
            by=Actor.software("clock"),
            detail={"host": skew.host, "milliseconds": skew.milliseconds},
        )
