"""The rate of one portal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.limiter import HEADROOM, TokenBucket


def spend_all(bucket: TokenBucket, arrivals: list[float]) -> list[float]:
    """When each request goes, if it goes as soon as it arrived and the bucket allows."""
    now, gone = 0.0, []
    for gap in arrivals:
        now = max(now + gap, bucket.ready_at())
        bucket.spend(now)
        gone.append(now)
    return gone


@given(
    rate=st.floats(0.1, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.floats(0, 5), min_size=1, max_size=80),
)
def test_no_window_holds_more_than_burst_plus_rate_times_its_length(rate, burst, gaps):
    gone = spend_all(TokenBucket(rate, burst), gaps)
    for first, start in enumerate(gone):
        for last in range(first, len(gone)):
            assert last - first + 1 <= burst + rate * (gone[last] - start) + 1e-6


def test_a_saturated_portal_gets_nearly_all_of_its_rate():
    gone = spend_all(TokenBucket(5.0, 1), [0.0] * 101)
    assert 100 / (gone[-1] - gone[0]) == pytest.approx(5.0 * HEADROOM)


def test_a_burst_passes_at_once_but_for_the_one_token_that_is_held_back():
    gone = spend_all(TokenBucket(1.0, 5), [0.0] * 5)
    assert gone[:4] == [0.0] * 4
    assert gone[4] > 0


def test_after_a_pause_the_bucket_is_full_and_no_fuller():
    bucket = TokenBucket(10.0, 3)
    gone = spend_all(bucket, [1000.0, 0.0, 0.0])
    assert gone[0] == gone[1] < gone[2]


def test_a_token_that_is_not_there_cannot_be_spent():
    bucket = TokenBucket(1.0, 1)
    bucket.spend(0.0)
    with pytest.raises(ValueError, match="no token"):
        bucket.spend(0.5)


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_what_could_never_be_served_is_refused_at_once(rate, burst):
    with pytest.raises(ValueError, match="positive"):
        TokenBucket(rate, burst)
