"""Tests of reserved slots: used in time or dropped, within the limits of the portal."""

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
    get_sequential_rate,
    make_slots,
)

# Shares: how late a slot is looked at (of an interval), and how long its request is on the wire (of
# the wire's half of the slack).
USES = st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), min_size=1, max_size=60)


def reserved_slots(rate, start_times):
    return ReservedSlots(
        SlotReservation(
            slots=make_slots(rate, start_times), sequential_rate=get_sequential_rate(rate)
        )
    )


def arrivals(rate: RequestRate, workers: list[tuple[int, list]]) -> list[float]:
    """Return the requests that the portal sees of workers that reserve in turn, late by chance."""
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
def test_late_requests_never_exceed_the_limits_of_the_portal(rate, burst, workers):
    seen = arrivals(RequestRate.of(rate, burst), workers)
    for first, start in enumerate(seen):
        for last in range(first, len(seen)):
            assert last - first + 1 <= burst + rate * (seen[last] - start) + 1e-6


def test_a_slot_that_is_late_by_more_than_its_share_is_dropped():
    rate = RequestRate.of(10.0, 5)
    slots = reserved_slots(rate, [0.0, 1.0])
    assert slots.next_at(rate.slack * 0.6) == 1.0
    assert slots.unused == 2


def test_a_slot_of_a_delay_tolerant_rate_can_be_used_late():
    assert (
        reserved_slots(RequestRate.of(1e6, 1_000_000), [0.0]).next_at(SLOT_LIFETIME_SECONDS / 2)
        == 0.0
    )


def test_slots_that_expired_before_a_used_one_cannot_be_given_back():
    slots = reserved_slots(RequestRate.of(10.0, 5), [0.0, 1.0, 2.0])
    assert slots.next_at(0.9) == 1.0
    slots.use(1.0)
    assert slots.unused == len(slots) == 1


def test_of_sequential_slots_a_late_request_only_moves_the_next_one():
    rate = RequestRate.of(1.0, 1)
    slots = reserved_slots(rate, [0.0, rate.interval, 2 * rate.interval])
    slots.use(0.1)
    assert slots.next_at(0.2) == pytest.approx(0.1 + rate.interval - rate.slack / 2)


def test_sequential_slots_end_in_time_and_lost_time_is_not_given_back():
    rate = RequestRate.of(1.0, 1)
    slots = reserved_slots(rate, [0.0, rate.interval, 2 * rate.interval])
    slots.use(rate.interval + rate.slack * 1.1)
    assert slots.next_at(0.5) is None
    assert slots.unused == 0


@given(st.floats(0.1, 100), USES, st.integers(1, 8))
def test_the_next_request_is_in_time_after_sequential_slots_were_given_back(
    per_second, uses, tokens
):
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


def test_a_probe_slot_does_not_expire():
    assert ReservedSlots(SlotReservation(slots=(Slot(0.0, math.inf),))).next_at(1e9) == 0.0
