"""Tests of the decision whether a batch progresses or is given up."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.completion import (
    BatchCounts,
    PollOutcome,
    PollState,
    StallLimit,
    decide_next_poll,
    poll_delay_seconds,
)

PATIENCE = StallLimit(1200.0)  # ten retries of 120 s
TOTAL = 20_000
counts = st.integers(1, 20_000)
patiences = st.floats(1, 200_000).map(StallLimit)


def counts_of(left, total=TOTAL):
    return BatchCounts(left, total - left)


def looks(counted, patience=PATIENCE):
    """Every look at the unfinished documents, each with what the one before left to it."""
    polled = PollState()
    for left in counted:
        seen = decide_next_poll(counts_of(left), polled, patience)
        polled = seen.state
        yield seen


def scenarios(counted, patience=PATIENCE):
    return [seen.outcome for seen in looks(counted, patience)]


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


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        (BatchCounts(7, 3), BatchCounts(12, 4), PollOutcome.PROGRESS_MADE),  # a divided file
        (BatchCounts(7, 3), BatchCounts(5, 3), PollOutcome.RETRY_NEEDED),  # two were given up
        (BatchCounts(7, 3), BatchCounts(8, 2), PollOutcome.RETRY_NEEDED),  # one is retried
        (BatchCounts(7, 3), BatchCounts(0, 3), PollOutcome.ALL_PROCESSED),
        (BatchCounts(7, 3), BatchCounts(-1, 11), PollOutcome.ALL_PROCESSED),
    ],
)
def test_both_counts_decide(before, now, outcome):
    assert decide_next_poll(now, PollState(before), PATIENCE).outcome is outcome


@given(counts, st.floats(0, 5_000))
def test_a_poll_by_another_process_continues_the_time_without_progress(count, idle):
    state = PollState.resume(counts_of(count), idle, PATIENCE)
    outcome = decide_next_poll(counts_of(count), state, PATIENCE).outcome
    assert (outcome is PollOutcome.RETRIES_EXHAUSTED) == (idle >= PATIENCE.seconds)
    assert state.retries <= PATIENCE.retries


@given(counts, patiences)
def test_a_batch_without_progress_is_given_up_after_its_time_and_not_before(count, patience):
    waited, polled = 0.0, PollState()
    while True:
        seen = decide_next_poll(counts_of(count), polled, patience)
        if seen.outcome is PollOutcome.RETRIES_EXHAUSTED:
            break
        if polled.counts is not None:  # since the last progress, which was the first look
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
    assert decide_next_poll(counts_of(counted[at]), before, PATIENCE) == seen[at]


@given(counts)
def test_polling_always_ends(count):
    """Whatever the work does, a batch whose count never falls is given up in bounded looks."""
    found = scenarios([count] * (PATIENCE.retries + 2))
    assert found[-1] is PollOutcome.RETRIES_EXHAUSTED


def test_large_batches_are_polled_less_often():
    delays = [poll_delay_seconds(left) for left in (1, 499, 500, 1000, 2000, 5000, 1_000_000)]
    assert delays == [60, 60, 120, 180, 240, 300, 300]
    assert all(shorter <= longer for shorter, longer in pairwise(delays))
