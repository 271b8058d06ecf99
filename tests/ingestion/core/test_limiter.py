"""Tests of the request rate of one portal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.limiter import MIN_TOKENS_FOR_FREE_TIMING, RequestRate

RATES, BURSTS = st.floats(0.1, 200), st.integers(1, 50)
# Each reservation: the seconds since the one before, its tokens, and the share of the slack by
# which each of its requests is late.
RESERVATIONS = st.lists(
    st.tuples(st.floats(0, 5), st.integers(1, 8), st.floats(0, 1)), min_size=1, max_size=40
)


def requests(request_rate: RequestRate, reservations) -> list[float]:
    """Return the times of the requests, each late by its share of the slack."""
    tat, now, starts = 0.0, 0.0, []
    for gap, tokens, lateness in reservations:
        now += gap
        tat = request_rate.spend(tat, now, tokens)
        starts += [
            at + lateness * request_rate.slack for at in request_rate.start_times(tat, now, tokens)
        ]
    return sorted(starts)


@given(RATES, BURSTS, RESERVATIONS)
def test_no_window_holds_more_than_burst_plus_rate_times_its_length(rate, burst, reservations):
    starts = requests(RequestRate.of(rate, burst), reservations)
    for first, start in enumerate(starts):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + rate * (starts[last] - start) + 1e-6


@given(RATES, BURSTS)
def test_a_saturated_portal_gets_nearly_all_of_its_rate(rate, burst):
    assert 1 / RequestRate.of(rate, burst).interval >= 0.96 * rate


@given(RATES, BURSTS, RESERVATIONS)
def test_no_request_goes_before_it_was_asked_for(rate, burst, reservations):
    request_rate, tat, now = RequestRate.of(rate, burst), 0.0, 0.0
    for gap, tokens, _ in reservations:
        now += gap
        tat = request_rate.spend(tat, now, tokens)
        assert min(request_rate.start_times(tat, now, tokens)) >= now


@given(RATES, BURSTS, st.integers(1, 8))
def test_tokens_spent_together_start_as_if_spent_one_by_one(rate, burst, tokens):
    request_rate, tat, single = RequestRate.of(rate, burst), 0.0, []
    for _ in range(tokens):
        tat = request_rate.spend(tat, 1.0)
        single += request_rate.start_times(tat, 1.0, 1)
    assert request_rate.start_times(
        request_rate.spend(0.0, 1.0, tokens), 1.0, tokens
    ) == pytest.approx(single)


def test_a_burst_starts_at_once_except_for_the_reserved_token():
    request_rate = RequestRate.of(1.0, 5)
    starts = request_rate.start_times(request_rate.spend(0.0, 0.0, 5), 0.0, 5)
    assert starts[:4] == pytest.approx([0.0] * 4)
    assert starts[4] > 0.5


def test_a_fast_portal_has_tokens_reserved_for_the_wakeup_of_the_loop():
    assert RequestRate.of(1000, 100).slack == pytest.approx(0.05, rel=0.05)


def test_after_a_pause_the_bucket_is_exactly_full():
    request_rate = RequestRate.of(10.0, 3)
    starts = request_rate.start_times(request_rate.spend(0.0, 1000.0, 3), 1000.0, 3)
    assert starts[0] == starts[1] == 1000.0 < starts[2]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_rate_that_is_not_positive_is_refused(rate, burst):
    with pytest.raises(ValueError, match="positive"):
        RequestRate.of(rate, burst)


@pytest.mark.parametrize(("rate", "burst"), [(1e6, 1_000_000), (20_000, 1_001), (1e6, 2_000)])
def test_all_late_requests_of_a_delay_tolerant_rate_fit_into_its_reserve(rate, burst):
    request_rate = RequestRate.of(rate, burst)
    whole_burst = 1 + int(request_rate.tolerance / request_rate.interval + 0.5)
    assert request_rate.is_delay_tolerant
    assert whole_burst + MIN_TOKENS_FOR_FREE_TIMING <= burst


@pytest.mark.parametrize(("rate", "burst"), [(1e6, 1), (1000, 1000), (1e6, 1000)])
def test_a_rate_with_a_smaller_reserve_is_not_delay_tolerant(rate, burst):
    assert not RequestRate.of(rate, burst).is_delay_tolerant
