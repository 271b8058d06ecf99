"""Compares this host's clock with the database's, and with a time server's if one is configured.

Times in the ledger are only as good as the clocks (ICH E6(R3) 4.2.2(d)). A clock that differs by
more than AUDIT_CLOCK_SKEW_SECONDS is recorded once, and again when the difference has changed by as
much, even when the clock is right again.

The time server is asked with NTP (ntplib). Without one, the time stamp authority is asked.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import ntplib
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
NTP_VERSION = 4  # RFC 5905
TSA_RESOLUTION = timedelta(seconds=1)  # most authorities write whole seconds


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """The time by which another clock is ahead of a host's clock. Negative: it is behind."""

    source: str
    host: str
    milliseconds: int

    @property
    def is_too_much(self) -> bool:
        """Return whether the difference reaches the limit of the settings."""
        return abs(self.milliseconds) >= _max_milliseconds()

    def __str__(self) -> str:
        direction = "ahead of" if self.milliseconds > 0 else "behind"
        seconds = abs(self.milliseconds) / 1000
        return f"the clock of {self.source} is {seconds:.1f} s {direction} that of {self.host}"


def check_clocks() -> list[ClockSkew]:
    """Measure the clocks, and record what has changed. Returns the measured differences."""
    skews = list(_measure())
    for skew in skews:
        entries = queries.list_entries(f"clock:{skew.source}")
        of_host = [
            entry.detail["milliseconds"]
            for entry in entries
            if entry.detail and entry.detail["host"] == skew.host
        ]
        last_recorded = int(of_host[-1]) if of_host else 0
        if abs(skew.milliseconds - last_recorded) >= _max_milliseconds():
            logger.error("clocks: %s", skew)
            _record_skew(skew)
    return skews


def list_excessive_skews() -> list[ClockSkew]:
    """Return the differences on record that are too large, of all hosts."""
    last: dict[tuple[str, str], ClockSkew] = {}
    for entry in queries.list_entries(*(f"clock:{source}" for source in SOURCES)):
        if entry.detail:
            source = entry.subject.removeprefix("clock:")
            host = entry.detail["host"]
            last[source, host] = ClockSkew(source, host, entry.detail["milliseconds"])
    return [skew for skew in last.values() if skew.is_too_much]


def compute_skew_outside(measured: datetime, before: datetime, after: datetime) -> timedelta:
    """Return how far a measured time is outside the period in which it was measured.

    A slow response therefore does not look like a wrong clock.
    """
    return measured - min(max(measured, before), after)


def _max_milliseconds() -> float:
    limit: float = settings.AUDIT_CLOCK_SKEW_SECONDS * 1000
    return limit


def _measure() -> Iterator[ClockSkew]:
    clocks: list[tuple[str, Callable[[], datetime], timedelta]] = []
    if connection.vendor == "postgresql":  # SQLite has no clock of its own.
        clocks.append(("database", _read_database_clock, timedelta(0)))
    if settings.NTP_SERVER:
        clocks.append(("ntp", _read_time_server, timedelta(0)))
    elif settings.ANCHOR_TSA:
        clocks.append(("tsa", _read_time_stamp_authority, TSA_RESOLUTION))
    for source, read, resolution in clocks:
        before = datetime.now(UTC)
        try:
            measured = read()
        except (AnchorError, OSError) as error:
            logger.warning("the clock of %s could not be read: %s", source, error)
            continue
        skew = compute_skew_outside(measured, before - resolution, datetime.now(UTC))
        yield ClockSkew(source, socket.gethostname(), round(skew.total_seconds() * 1000))


def _read_database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


def _read_time_server() -> datetime:
    """Ask NTP_SERVER, which is a host or host:port. Raises OSError if it gives no time."""
    host, _, port = settings.NTP_SERVER.partition(":")
    try:
        response = ntplib.NTPClient().request(
            host,
            version=NTP_VERSION,
            port=int(port or NTP_PORT),
            timeout=settings.ANCHOR_TIMEOUT_SECONDS,
        )
    except ntplib.NTPException as error:
        raise OSError(str(error)) from error
    if response.stratum == 0:  # The server refuses to answer: RFC 5905, section 7.4.
        raise OSError(f"{settings.NTP_SERVER} gave no time")
    return datetime.fromtimestamp(response.tx_time, UTC)


def _read_time_stamp_authority() -> datetime:
    authority = rfc3161.TimestampAnchor.from_settings()
    if authority is None:
        raise AnchorError("ANCHOR_TSA is not set.")
    # Any text can be stamped: only the time in the token is used.
    return rfc3161.read_token_time(authority.put("", 0, "What time is it?").proof)


def _record_skew(skew: ClockSkew) -> None:
    with ledger():
        record(
            "system.clock_skew",
            subject=f"clock:{skew.source}",
            by=Actor.software("clock"),
            detail={"host": skew.host, "milliseconds": skew.milliseconds},
        )
