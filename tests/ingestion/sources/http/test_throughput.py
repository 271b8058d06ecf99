"""Tests of the minimum throughput, with a fake clock."""

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
    """Add bytes after seconds, for each pair in `steps`; 100 bytes/s over 10 s are required."""
    clock = Clock()
    guard = ThroughputGuard(100, 10, clock=clock)
    for seconds, size in steps:
        clock.now += seconds
        guard.add(size)


def test_a_portal_with_enough_throughput_is_never_ended():
    run(*[(1, 110)] * 1000)


def test_a_slow_beginning_is_tolerated_within_the_window():
    run(*[(1, 1)] * 9, (0.5, 2000), *[(1, 110)] * 100)


def test_a_fast_beginning_does_not_make_up_for_a_slow_end():
    with pytest.raises(PortalUnreachable, match="too slow"):
        run((1, 1_000_000), *[(1, 50)] * 25)


def test_single_bytes_end_with_the_first_window():
    run(*[(0.3, 1)] * 33)
    with pytest.raises(PortalUnreachable) as caught:
        run(*[(0.3, 1)] * 40)
    assert caught.value.facts == {"seconds": 10}


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 1000)), max_size=200))
def test_the_number_of_marks_is_bounded(steps):
    clock = Clock()
    guard = ThroughputGuard(0, 10, clock=clock)
    for seconds, size in steps:
        clock.now += seconds
        guard.add(size)
        assert len(guard._marks) <= 13
