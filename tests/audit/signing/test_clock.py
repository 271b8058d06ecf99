"""Tests that the clock is compared with real time servers and with the database server."""

import socketserver
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from audit.ledger import queries
from audit.ledger.actors import add_process
from audit.signing import clock
from audit.signing.clock import ClockSkew
from tests.audit.buckets import free_port
from tests.socket_servers import serving

NOW = datetime(2026, 8, 14, 9, 31, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NTP_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)
CLIENT, SERVER = 0x23, 0x24  # RFC 5905: version 4, mode 3 and mode 4


class _StoppedClock(datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


class _ResponseHandler(socketserver.BaseRequestHandler):
    def handle(self):
        request, socket = self.request
        assert request[0] == CLIENT
        now = NOW + self.server.ahead - NTP_EPOCH
        stamp = int(now.total_seconds() * 2**32).to_bytes(8, "big")
        socket.sendto(bytes([SERVER, self.server.stratum]) + bytes(38) + stamp, self.client_address)


@contextmanager
def ntp_server():
    """Run a time server, as a client sees it (RFC 5905). `ahead` is the error of its clock."""
    server = socketserver.ThreadingUDPServer(("127.0.0.1", 0), _ResponseHandler)
    server.ahead, server.stratum = timedelta(0), 1
    with serving(server):
        yield server


@pytest.fixture
def ntp(settings, monkeypatch):
    monkeypatch.setattr(clock, "datetime", _StoppedClock)
    with ntp_server() as server:
        settings.NTP_SERVER = "127.0.0.1:{1}".format(*server.server_address)
        yield server


def recorded_skews(source="ntp"):
    return [entry.detail["milliseconds"] for entry in queries.list_entries(f"clock:{source}")]


def excessive_skews(source="ntp"):
    """Return the skews that are reported, without that of a database, whose clock does not stop."""
    return [skew for skew in clock.list_excessive_skews() if skew.source == source]


def measure(source):
    [skew] = [skew for skew in clock.check_clocks() if skew.source == source]
    return skew


def test_clocks_that_agree_are_not_recorded(db, ntp):
    assert measure("ntp").milliseconds == 0
    assert recorded_skews() == []
    assert excessive_skews() == []


@pytest.mark.requirement("R10")
def test_a_wrong_clock_is_recorded_once_and_reported(db, ntp):
    ntp.ahead = timedelta(hours=1)
    clock.check_clocks()
    clock.check_clocks()
    assert recorded_skews() == [3_600_000]
    [skew] = excessive_skews()
    assert "3600.0 s ahead of" in str(skew)
    assert queries.list_entries("clock:ntp")[0].event == "system.clock_skew"


@pytest.mark.requirement("R10")
def test_each_change_of_a_clock_is_recorded_also_its_correction(db, ntp):
    for hours in (-1, -1, -2, 0):
        ntp.ahead = timedelta(hours=hours)
        clock.check_clocks()
    assert recorded_skews() == [-3_600_000, -7_200_000, 0]
    assert excessive_skews() == []


def test_each_host_has_its_own_clock(db, ntp, monkeypatch):
    add_process("system:tests")  # a process keeps its name: it must not be made from a patched one
    ntp.ahead = timedelta(hours=1)
    for host in ("one", "two", "one"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        clock.check_clocks()
    assert len(recorded_skews()) == 2
    assert {skew.host for skew in excessive_skews()} == {"one", "two"}


def test_a_time_server_that_refuses_or_does_not_answer_is_skipped(db, ntp, settings):
    ntp.stratum = 0
    assert [skew for skew in clock.check_clocks() if skew.source == "ntp"] == []
    settings.NTP_SERVER = f"127.0.0.1:{free_port()}"
    settings.ANCHOR_TIMEOUT_SECONDS = 0.2
    assert [skew for skew in clock.check_clocks() if skew.source == "ntp"] == []


def test_without_a_time_server_the_clock_is_compared_with_the_time_stamp_authority(db, stamped):
    assert measure("tsa").milliseconds == 0  # although it has whole seconds only


def test_the_database_servers_clock_is_compared(db):
    sources = [skew.source for skew in clock.check_clocks()]
    assert ("database" in sources) == (connection.vendor == "postgresql")


@pytest.mark.parametrize(
    ("measured", "skew"),
    [
        (NOW - 3 * SECOND, -2 * SECOND),
        (NOW - SECOND, 0 * SECOND),
        (NOW, 0 * SECOND),
        (NOW + SECOND, 0 * SECOND),
        (NOW + 3 * SECOND, 2 * SECOND),
    ],
)
def test_a_slow_response_is_not_a_wrong_clock(measured, skew):
    assert clock.compute_skew_outside(measured, NOW - SECOND, NOW + SECOND) == skew


def test_a_skew_is_described_in_a_sentence():
    assert (
        str(ClockSkew("ntp", "host-1", -2500)) == "the clock of ntp is 2.5 s behind that of host-1"
    )
