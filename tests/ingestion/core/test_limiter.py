"""The rate of one portal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.limiter import MIN_TOKENS_FOR_FREE_TIMING, RequestRate

RATES, BURSTS = st.floats(0.1, 200), st.integers(1, 50)
# How long after the one before somebody reserves, how many tokens, and which share of the slack
# each request then is late.
RESERVATIONS = st.lists(
    st.tuples(st.floats(0, 5), st.integers(1, 8), st.floats(0, 1)), min_size=1, max_size=40
)


def requests(pace: RequestRate, reservations) -> list[float]:
    """When the requests go, each late by its share of the slack."""
    tat, now, gone = 0.0, 0.0, []
    for gap, tokens, lateness in reservations:
        now += gap
        tat = pace.spend(tat, now, tokens)
        gone += [at + lateness * pace.slack for at in pace.start_times(tat, now, tokens)]
    return sorted(gone)


@given(RATES, BURSTS, RESERVATIONS)
def test_no_window_holds_more_than_burst_plus_rate_times_its_length(rate, burst, reservations):
    gone = requests(RequestRate.of(rate, burst), reservations)
    for first, start in enumerate(gone):
        for last in range(first, len(gone)):
            assert last - first + 1 <= burst + rate * (gone[last] - start) + 1e-6


@given(RATES, BURSTS)
def test_a_saturated_portal_gets_nearly_all_of_its_rate(rate, burst):
    assert 1 / RequestRate.of(rate, burst).interval >= 0.96 * rate


@given(RATES, BURSTS, RESERVATIONS)
def test_no_request_goes_before_it_was_asked_for(rate, burst, reservations):
    pace, tat, now = RequestRate.of(rate, burst), 0.0, 0.0
    for gap, tokens, _ in reservations:
        now += gap
        tat = pace.spend(tat, now, tokens)
        assert min(pace.start_times(tat, now, tokens)) >= now


@given(RATES, BURSTS, st.integers(1, 8))
def test_many_tokens_at_once_go_when_they_would_one_by_one(rate, burst, tokens):
    pace, tat, single = RequestRate.of(rate, burst), 0.0, []
    for _ in range(tokens):
        tat = pace.spend(tat, 1.0)
        single += pace.start_times(tat, 1.0, 1)
    assert pace.start_times(pace.spend(0.0, 1.0, tokens), 1.0, tokens) == pytest.approx(single)


def test_a_burst_passes_at_once_but_for_the_one_token_that_is_held_back():
    pace = RequestRate.of(1.0, 5)
    gone = pace.start_times(pace.spend(0.0, 0.0, 5), 0.0, 5)
    assert gone[:4] == pytest.approx([0.0] * 4)
    assert gone[4] > 0.5


def test_a_fast_portal_has_as_many_held_back_as_a_loop_needs_to_wake_up():
    assert RequestRate.of(1000, 100).slack == pytest.approx(0.05, rel=0.05)


def test_after_a_pause_the_bucket_is_full_and_no_fuller():
    pace = RequestRate.of(10.0, 3)
    gone = pace.start_times(pace.spend(0.0, 1000.0, 3), 1000.0, 3)
    assert gone[0] == gone[1] == 1000.0 < gone[2]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_what_could_never_be_served_is_refused_at_once(rate, burst):
    with pytest.raises(ValueError, match="positive"):
        RequestRate.of(rate, burst)


@pytest.mark.parametrize(("rate", "burst"), [(1e6, 1_000_000), (20_000, 1_001), (1e6, 2_000)])
def test_where_lateness_does_not_matter_all_late_requests_fit_into_what_is_held_back(rate, burst):
    pace = RequestRate.of(rate, burst)
    whole_burst = 1 + int(pace.tolerance / pace.interval + 0.5)
    assert pace.is_delay_tolerant
    assert whole_burst + MIN_TOKENS_FOR_FREE_TIMING <= burst


@pytest.mark.parametrize(("rate", "burst"), [(1e6, 1), (1000, 1000), (1e6, 1000)])
def test_lateness_matters_where_less_is_held_back(rate, burst):
    assert not RequestRate.of(rate, burst).is_delay_tolerant
