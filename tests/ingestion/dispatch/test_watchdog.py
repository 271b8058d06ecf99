"""Tests of when the watchdog restarts a cluster, with a clock of the test."""

import pytest

from ingestion.dispatch.processes.watchdog import Watchdog, WatchdogTimeouts
from ingestion.dispatch.processes.worker_presence import BusyWorker

TIMEOUTS = WatchdogTimeouts(wakeup=10.0, silence=55.0, shift=930.0)


class Watched:
    """A watchdog over a host with so many workers, booted some time ago."""

    def __init__(self, workers=1):
        self.now = 1000.0
        self.dog = Watchdog(TIMEOUTS, workers, clock=lambda: self.now)
        self.dog.note_start()
        self.now += 10.0

    def looks(self, wakeup, *, at_work=0, after=1.0):
        self.now += after
        busy = [BusyWorker(pid, began_at=self.now, seen_at=self.now) for pid in range(at_work)]
        return self.dog.is_stuck(wakeup, busy)


def test_a_cluster_is_stuck_if_an_idle_worker_takes_no_wakeup():
    host = Watched()
    assert not host.looks("wakeup 1")
    assert not host.looks("wakeup 1", after=9.0)
    assert host.looks("wakeup 1", after=2.0)


def test_a_host_whose_workers_are_all_busy_is_never_stuck():
    host = Watched(workers=2)
    assert not any(host.looks("wakeup 1", at_work=2, after=60.0) for _ in range(10))


def test_a_wakeup_counts_only_while_a_worker_is_idle():
    host = Watched()
    host.looks("wakeup 1", at_work=1, after=100.0)
    assert not host.looks("wakeup 1")
    assert not host.looks("wakeup 1", after=9.0)
    assert host.looks("wakeup 1", after=2.0)


def test_a_cluster_that_answers_wakeups_is_not_stuck():
    host = Watched()
    assert not any(host.looks(f"wakeup {number}", after=8.0) for number in range(20))


def test_a_cluster_that_was_just_started_gets_time_to_boot():
    host = Watched()
    host.dog.note_start()
    assert not host.looks("wakeup 1", after=5.0)
    assert not host.looks("wakeup 1", after=20.0)


def test_each_start_that_did_not_help_gives_the_next_one_longer():
    host, waits = Watched(), []
    for _ in range(4):
        host.dog.note_start()
        began = host.now
        while not host.looks("wakeup 1"):
            pass
        waits.append(host.now - began)
    assert waits == sorted(set(waits))
    assert waits[-1] > 2 * waits[0]


def test_a_busy_worker_resets_the_count_of_starts():
    host = Watched()
    for _ in range(5):
        host.dog.note_start()
    assert host.dog.restart_delay_seconds > 10
    host.looks("", at_work=1)
    assert host.dog.restart_delay_seconds == 0


@pytest.mark.parametrize(
    ("began", "seen", "is_overdue"),
    [(0, 0, False), (-900, -10, False), (-60, -60, True), (-931, -1, True)],
    ids=["new", "long at work", "silent", "over its time"],
)
def test_a_worker_is_killed_when_it_is_silent_for_as_long_as_a_lease_lasts_or_over_its_time(
    began, seen, is_overdue
):
    host = Watched()
    worker = BusyWorker(7, began_at=host.now + began, seen_at=host.now + seen)
    assert host.dog.find_overdue([worker]) == ([7] if is_overdue else [])
