"""Tests of the decisions which shift and host take work, and how many hosts are wanted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.capacity import (
    YIELD_SECONDS,
    HostLoad,
    RunningShift,
    ScalingRules,
    ScalingState,
    compute_room,
    compute_yield_seconds,
    decide_scaling,
    may_leave,
)

RULES = ScalingRules(min_hosts=1, max_hosts=4, out_seconds=30, cooldown_seconds=120, in_seconds=600)


def make_hosts(*busy, workers=2):
    return [HostLoad(f"h{number}", workers, each) for number, each in enumerate(busy)]


@pytest.mark.parametrize(
    ("held", "limit", "room"), [(0, 16, 16), (15, 16, 1), (16, 16, 0), (17, 16, 0)]
)
def test_a_shift_has_room_up_to_its_limit(held, limit, room):
    assert compute_room(held, limit) == room
    assert RunningShift(0.0, held).has_room(limit, 600.0) == bool(room)


@given(st.integers(0, 100_000))
def test_a_limit_of_zero_means_no_limit(held):
    assert RunningShift(0.0, held).has_room(0, 600.0)


def test_a_shift_whose_time_is_over_has_no_room():
    assert RunningShift(598.0, 0).has_room(16, 600.0)
    assert not RunningShift(599.5, 0).has_room(16, 600.0)


def test_the_first_host_with_an_idle_worker_takes_a_wakeup_at_once():
    hosts = make_hosts(2, 1, 0, 0)
    waits = [compute_yield_seconds(hosts, host.name) for host in hosts]
    assert waits == [0, 0, YIELD_SECONDS, 2 * YIELD_SECONDS]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_one_idle_host_never_waits_and_no_host_waits_for_ever(busy):
    hosts = make_hosts(*busy)
    idle = [host for host in hosts if host.has_idle_worker]
    waits = [compute_yield_seconds(hosts, host.name) for host in idle]
    assert waits == [YIELD_SECONDS * number for number in range(len(idle))]


def test_hosts_may_leave_in_reverse_order_down_to_the_minimum():
    hosts = make_hosts(0, 0, 0)
    assert [may_leave(hosts, host.name, 2) for host in hosts] == [False, False, True]
    assert not may_leave(hosts, "unknown", 1)


class Clock:
    """Repeats the decision every five seconds."""

    def __init__(self, rules=RULES):
        self.now, self.state, self.rules, self.asked = 0.0, ScalingState(1), rules, []

    def run(self, seconds, hosts, waiting=0.0):
        until = self.now + seconds
        while self.now < until:
            decision = decide_scaling(hosts, waiting, self.state, self.rules, self.now)
            self.state = decision.state
            if decision.asks_for_host:
                self.asked.append(self.now)
            self.now += 5.0


def test_another_host_is_asked_for_when_all_were_full_for_long_enough():
    clock = Clock()
    clock.run(30, make_hosts(2), waiting=10)
    assert clock.asked == []
    clock.run(5, make_hosts(2), waiting=10)
    assert (clock.asked, clock.state.wanted) == ([30.0], 2)


def test_the_next_host_is_asked_for_after_the_cooldown_and_never_more_than_the_maximum():
    clock = Clock()
    clock.run(1000, make_hosts(2), waiting=10)
    assert clock.asked[:3] == [30.0, 150.0, 270.0]  # The host that was asked for does not come.
    assert clock.state.wanted == 2
    full = Clock()
    full.run(1000, make_hosts(2, 2, 2, 2), waiting=10)
    assert full.asked == []


@pytest.mark.parametrize(
    ("hosts", "waiting"), [(make_hosts(2, 1), 100), (make_hosts(2), 0), (make_hosts(2), 0.5)]
)
def test_no_host_is_asked_for_while_one_is_idle_or_nothing_waits(hosts, waiting):
    clock = Clock()
    clock.run(1000, hosts, waiting)
    assert clock.asked == []


def test_a_load_that_goes_up_and_down_asks_for_no_host():
    clock = Clock()
    for _ in range(50):
        clock.run(25, make_hosts(2), waiting=10)
        clock.run(5, make_hosts(1))
    assert clock.asked == []


def test_hosts_are_wanted_less_one_at_a_time_while_one_stays_idle():
    clock = Clock()
    clock.state = replace(clock.state, wanted=4)
    wanted = []
    for _ in range(5):
        clock.run(600, make_hosts(1, 0, 0, 0))
        wanted.append(clock.state.wanted)
    assert wanted == [4, 3, 2, 1, 1]


def test_a_busy_moment_starts_the_idle_time_again():
    clock = Clock()
    clock.state = replace(clock.state, wanted=2)
    for _ in range(10):
        clock.run(595, make_hosts(1, 0))
        clock.run(5, make_hosts(1, 1))
    assert clock.state.wanted == 2


@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 30))
def test_the_wanted_number_stays_within_its_bounds(min_hosts, max_hosts, before):
    rules = replace(RULES, min_hosts=min_hosts, max_hosts=max_hosts)
    decision = decide_scaling(make_hosts(2), 60.0, ScalingState(before), rules, 0.0)
    assert min_hosts <= decision.state.wanted <= max(min_hosts, max_hosts)
