"""Go-times are used in time or not at all, and a portal never sees more than it allows."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.limiter import RequestRate
from ingestion.core.reservations import (
    SLOT_LIFETIME_SECONDS,
    ReservedSlots,
    Slot,
    SlotReservation,
    make_slots,
    sequential_rate_of,
)

# Shares: how late a slot is looked at (of an interval), and how long its request is on the wire (of
# the wire's half of the slack).
USES = st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), min_size=1, max_size=60)


def reserved_slots(rate, start_times):
    return ReservedSlots(
        SlotReservation(
            slots=make_slots(rate, start_times), sequential_rate=sequential_rate_of(rate)
        )
    )


def arrivals(rate: RequestRate, workers: list[tuple[int, list]]) -> list[float]:
    """What the portal sees of some workers that take turns in reserving, each late by chance."""
    tat, seen = 0.0, []
    for tokens, uses in workers:
        tat = rate.spend(tat, 0.0, tokens)
        slots, now = reserved_slots(rate, rate.start_times(tat, 0.0, tokens)), 0.0
        for lateness, wire in uses:
            if (ready_at := slots.next_at(now)) is None:
                break
            now = max(now, ready_at)
            if lateness < 2:  # else it is looked at so late that it may have spoilt
                slots.use(now)
                seen.append(now + wire * rate.slack / 2)
            now += max(0.0, lateness - 1) * rate.interval
    return sorted(seen)


@given(
    st.floats(0.1, 100),
    st.integers(1, 10),
    st.lists(st.tuples(st.integers(1, 8), USES), min_size=1, max_size=6),
)
def test_whoever_is_late_the_portal_sees_no_more_than_it_allows(rate, burst, workers):
    seen = arrivals(RequestRate.of(rate, burst), workers)
    for first, start in enumerate(seen):
        for last in range(first, len(seen)):
            assert last - first + 1 <= burst + rate * (seen[last] - start) + 1e-6


def test_a_slot_that_is_late_by_more_than_its_share_is_thrown_away():
    rate = RequestRate.of(10.0, 5)
    slots = reserved_slots(rate, [0.0, 1.0])
    assert slots.next_at(rate.slack * 0.6) == 1.0
    assert slots.unused == 2


def test_a_slot_keeps_where_so_much_is_held_back_that_lateness_does_not_matter():
    assert (
        reserved_slots(RequestRate.of(1e6, 1_000_000), [0.0]).next_at(SLOT_LIFETIME_SECONDS / 2)
        == 0.0
    )


def test_what_was_thrown_away_before_one_was_used_cannot_be_given_back():
    slots = reserved_slots(RequestRate.of(10.0, 5), [0.0, 1.0, 2.0])
    assert slots.next_at(0.9) == 1.0
    slots.use(1.0)
    assert slots.unused == len(slots) == 1


def test_in_a_run_a_late_request_only_moves_the_next_one():
    rate = RequestRate.of(1.0, 1)
    slots = reserved_slots(rate, [0.0, rate.interval, 2 * rate.interval])
    slots.use(0.1)
    assert slots.next_at(0.2) == pytest.approx(0.1 + rate.interval - rate.slack / 2)


def test_a_run_ends_in_time_for_the_next_ones_turn_and_what_it_was_late_is_not_given_back():
    rate = RequestRate.of(1.0, 1)
    slots = reserved_slots(rate, [0.0, rate.interval, 2 * rate.interval])
    slots.use(rate.interval + rate.slack * 1.1)
    assert slots.next_at(0.5) is None
    assert slots.unused == 0


@given(st.floats(0.1, 100), USES, st.integers(1, 8))
def test_whoever_goes_when_the_rest_of_a_run_was_given_back_goes_in_time(per_second, uses, tokens):
    rate = RequestRate.of(per_second, 1)
    tat = rate.spend(0.0, 0.0, tokens)
    slots, now, last = reserved_slots(rate, rate.start_times(tat, 0.0, tokens)), 0.0, None
    for lateness, _ in uses:
        if (ready_at := slots.next_at(now)) is None:
            break
        last = now = max(now, ready_at) + lateness * rate.slack / 12
        if now > rate.start_times(tat, 0.0, tokens)[-1] + rate.slack / 2:
            break
        slots.use(now)
    else:
        after = tat - slots.unused * rate.interval
        if last is not None:
            assert after - (last + rate.slack / 2) >= 1 / per_second - 1e-6


def test_a_probe_keeps():
    assert ReservedSlots(SlotReservation(slots=(Slot(0.0, math.inf),))).next_at(1e9) == 0.0
