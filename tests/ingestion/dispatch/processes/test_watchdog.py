"""Tests of the watchdog, with a simulated clock."""

import pytest

from ingestion.dispatch.processes.watchdog import Watchdog, WatchdogTimeouts
from ingestion.dispatch.processes.worker_presence import BusyWorker

TIMEOUTS = WatchdogTimeouts(wakeup=10.0, silence=55.0, shift=930.0)


class WatchedHost:
    """Simulates a host with so many workers, whose cluster has booted."""

    def __init__(self, workers=1):
        self.now = 1000.0
        self.watchdog = Watchdog(TIMEOUTS, workers, clock=lambda: self.now)
        self.watchdog.note_start()
        self.now += 10.0

    def is_stuck(self, wakeup, *, at_work=0, after=1.0):
        self.now += after
        busy = [BusyWorker(pid, began_at=self.now, seen_at=self.now) for pid in range(at_work)]
        return self.watchdog.is_stuck(wakeup, busy)


def test_a_cluster_is_stuck_if_an_idle_worker_takes_no_wakeup():
    host = WatchedHost()
    assert not host.is_stuck("wakeup 1")
    assert not host.is_stuck("wakeup 1", after=9.0)
    assert host.is_stuck("wakeup 1", after=2.0)


def test_a_host_whose_workers_are_all_busy_is_never_stuck():
    host = WatchedHost(workers=2)
    assert not any(host.is_stuck("wakeup 1", at_work=2, after=60.0) for _ in range(10))


def test_a_wakeup_counts_only_while_a_worker_is_idle():
    host = WatchedHost()
    host.is_stuck("wakeup 1", at_work=1, after=100.0)
    assert not host.is_stuck("wakeup 1")
    assert not host.is_stuck("wakeup 1", after=9.0)
    assert host.is_stuck("wakeup 1", after=2.0)


def test_a_cluster_that_answers_wakeups_is_not_stuck():
    host = WatchedHost()
    assert not any(host.is_stuck(f"wakeup {number}", after=8.0) for number in range(20))


def test_a_started_cluster_has_time_to_boot():
    host = WatchedHost()
    host.watchdog.note_start()
    assert not host.is_stuck("wakeup 1", after=5.0)
    assert not host.is_stuck("wakeup 1", after=20.0)


def test_each_unsuccessful_start_gives_the_next_one_more_time():
    host, waits = WatchedHost(), []
    for _ in range(4):
        host.watchdog.note_start()
        began = host.now
        while not host.is_stuck("wakeup 1"):
            pass
        waits.append(host.now - began)
    assert waits == sorted(set(waits))
    assert waits[-1] > 2 * waits[0]


def test_a_busy_worker_resets_the_count_of_starts():
    host = WatchedHost()
    for _ in range(5):
        host.watchdog.note_start()
    assert host.watchdog.restart_delay_seconds > 10
    host.is_stuck("", at_work=1)
    assert host.watchdog.restart_delay_seconds == 0


@pytest.mark.parametrize(
    ("began", "seen", "is_overdue"),
    [(0, 0, False), (-900, -10, False), (-60, -60, True), (-931, -1, True)],
    ids=["new", "long at work", "silent", "too long at work"],
)
def test_a_worker_without_heartbeat_or_with_an_endless_shift_is_killed(began, seen, is_overdue):
    host = WatchedHost()
    worker = BusyWorker(7, began_at=host.now + began, seen_at=host.now + seen)
    assert host.watchdog.find_overdue([worker]) == ([7] if is_overdue else [])
