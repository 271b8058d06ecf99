"""Estimates of remaining time: ranges that come from earlier work and shrink during the work."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.estimates import Estimate, estimate_remaining

PACES = [1.0, 1.5, 2.0, 2.5, 4.0]


def test_nothing_is_estimated_without_earlier_work_and_progress():
    assert estimate_remaining([], total=10) is None
    assert estimate_remaining([], total=10, done=0, elapsed=60) is None


def test_few_samples_give_a_wide_range():
    assert estimate_remaining([2.0], total=10) == Estimate(10, 20, 40)
    assert estimate_remaining(PACES, total=10) == Estimate(12, 20, 34)


def test_the_pace_of_the_work_itself_counts_by_its_progress():
    slow = estimate_remaining(PACES, total=100, done=10, elapsed=100)
    slower = estimate_remaining(PACES, total=100, done=10, elapsed=200)
    assert slow.likely < slower.likely
    nearly = estimate_remaining(PACES, total=100, done=99, elapsed=990)
    assert nearly == Estimate(10, 10, 10)


@given(
    paces=st.lists(st.floats(0.01, 100), max_size=30),
    total=st.integers(1, 10_000),
    part=st.floats(0, 1),
    elapsed=st.floats(0.1, 10_000),
)
@example(paces=[], total=1, part=5e-324, elapsed=1.0)
def test_the_range_contains_the_likely_time_and_ends_at_zero(paces, total, part, elapsed):
    found = estimate_remaining(paces, total=total, done=total * part, elapsed=elapsed)
    if found is not None:
        assert 0 <= found.low <= found.likely <= found.high
    assert estimate_remaining([*paces, 1.0], total=total, done=total, elapsed=elapsed) == Estimate(
        0, 0, 0
    )


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_the_range_becomes_narrower(part):
    before = estimate_remaining(PACES, total=1_000)
    during = estimate_remaining(PACES, total=1_000, done=1_000 * part, elapsed=2_000 * part)
    assert during.high - during.low <= (before.high - before.low) * (1 - part) ** 2 + 2
