"""The least throughput, on a clock of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import PortalUnreachable
from ingestion.sources.http.throughput import ThroughputGuard


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def run(*steps):
    """(seconds, bytes) after one another, at 100 bytes a second over 10 seconds."""
    clock = Clock()
    pace = ThroughputGuard(100, 10, clock=clock)
    for seconds, size in steps:
        clock.now += seconds
        pace.add(size)


def test_a_portal_that_keeps_the_pace_may_take_all_day():
    run(*[(1, 110)] * 1000)


def test_a_slow_beginning_is_forgiven_within_the_window():
    run(*[(1, 1)] * 9, (0.5, 2000), *[(1, 110)] * 100)


def test_a_fast_beginning_does_not_pay_for_a_slow_end():
    with pytest.raises(PortalUnreachable, match="too slow"):
        run((1, 1_000_000), *[(1, 50)] * 25)


def test_a_drip_ends_with_the_first_window():
    run(*[(0.3, 1)] * 33)
    with pytest.raises(PortalUnreachable) as caught:
        run(*[(0.3, 1)] * 40)
    assert caught.value.facts == {"seconds": 10}


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 1000)), max_size=200))
def test_what_is_remembered_is_bounded(steps):
    clock = Clock()
    pace = ThroughputGuard(0, 10, clock=clock)
    for seconds, size in steps:
        clock.now += seconds
        pace.add(size)
        assert len(pace._marks) <= 13
