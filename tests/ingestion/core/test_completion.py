"""Tests of the decision whether a batch progresses or is given up."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.completion import (
    PollOutcome,
    PollState,
    StallLimit,
    decide_next_poll,
    poll_delay_seconds,
)

PATIENCE = StallLimit(1200.0)  # ten retries of 120 s
counts = st.integers(1, 20_000)
patiences = st.floats(1, 200_000).map(StallLimit)


def looks(counted, patience=PATIENCE, **towards):
    """Every look, each with what the one before left to it."""
    polled = PollState()
    for count in counted:
        seen = decide_next_poll(count, polled, patience, **towards)
        polled = seen.state
        yield seen


def scenarios(counted, patience=PATIENCE, **towards):
    return [seen.outcome for seen in looks(counted, patience, **towards)]


@pytest.mark.parametrize(
    ("counted", "last"),
    [
        ([7], PollOutcome.PROGRESS_MADE),
        ([0], PollOutcome.ALL_PROCESSED),
        ([7, 6], PollOutcome.PROGRESS_MADE),
        ([7, 7], PollOutcome.RETRY_NEEDED),
        ([7, 9], PollOutcome.RETRY_NEEDED),
        ([7, 9, 8], PollOutcome.PROGRESS_MADE),
        ([7] * 11, PollOutcome.RETRY_NEEDED),
        ([7] * 12, PollOutcome.RETRIES_EXHAUSTED),
        ([7] * 11 + [0], PollOutcome.ALL_PROCESSED),
    ],
)
def test_the_outcome_of_a_poll_follows_from_the_counts(counted, last):
    assert scenarios(counted)[-1] is last


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(50, 60))
def test_counting_up_to_a_target_equals_counting_down(left, target):
    up = scenarios([target - count for count in left], target=target)
    assert up == scenarios(left)


@given(counts, st.integers(0, 10_000))
def test_a_count_above_the_target_is_complete(target, beyond):
    assert scenarios([target + beyond], target=target) == [PollOutcome.ALL_PROCESSED]


@given(counts, patiences)
def test_a_batch_without_progress_is_given_up_after_its_time_and_not_before(count, patience):
    waited, polled = 0.0, PollState()
    while True:
        seen = decide_next_poll(count, polled, patience)
        if seen.outcome is PollOutcome.RETRIES_EXHAUSTED:
            break
        if polled.previous is not None:  # since the last progress, which was the first look
            waited += seen.delay_seconds
        polled = seen.state
    assert patience.seconds <= waited < patience.seconds + patience.retry_delay


@given(st.lists(st.integers(1, 500), min_size=2, unique=True), st.integers(0, 10))
def test_progress_resets_the_retries(left, stalls):
    falling = [count for count in sorted(left, reverse=True) for _ in range(stalls + 1)]
    assert PollOutcome.RETRIES_EXHAUSTED not in scenarios([*falling, 0])


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60))
def test_giving_up_is_final_although_it_changes_the_count(counted):
    given_up = [7] * 12
    after = scenarios([*given_up, *counted])[12:]
    for count, scenario in zip(counted, after, strict=True):
        assert scenario is (PollOutcome.RETRIES_EXHAUSTED if count else PollOutcome.ALL_PROCESSED)
        if not count:
            break


@given(st.lists(counts, min_size=1, max_size=60), st.integers(0, 60))
def test_an_interrupted_poll_is_repeated_with_the_same_result(counted, at):
    seen = list(looks(counted))
    at = min(at, len(counted) - 1)
    before = seen[at - 1].state if at else PollState()
    carried = PollState(previous=before.previous, retries=before.retries)  # from the row
    assert decide_next_poll(counted[at], carried, PATIENCE) == seen[at]


@given(counts)
def test_polling_always_ends(count):
    """Whatever the work does, a batch whose count never falls is given up in bounded looks."""
    found = scenarios([count] * (PATIENCE.retries + 2))
    assert found[-1] is PollOutcome.RETRIES_EXHAUSTED


def test_large_batches_are_polled_less_often():
    delays = [poll_delay_seconds(left) for left in (1, 499, 500, 1000, 2000, 5000, 1_000_000)]
    assert delays == [60, 60, 120, 180, 240, 300, 300]
    assert all(shorter <= longer for shorter, longer in pairwise(delays))
