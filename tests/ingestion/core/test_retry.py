"""How long to wait before a portal is asked again."""

from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import PortalFailing, PortalThrottled
from ingestion.core.limits import Limits
from ingestion.core.retry import delay

LIMITS = Limits(
    fetch_tries=4, backoff_base_seconds=1, backoff_cap_seconds=5, retry_after_cap_seconds=60
)


def longest(_low, high):
    return high


def throttled(seconds):
    error = PortalThrottled()
    error.retry_after = seconds
    return error


def test_the_ceiling_doubles_and_is_capped():
    waits = [delay(PortalFailing(), n, LIMITS, counted=n, uniform=longest) for n in (1, 2, 3)]
    assert waits == [2, 4, 5]


def test_the_whole_wait_is_drawn_so_that_a_herd_does_not_come_back_at_once():
    assert delay(PortalFailing(), 1, LIMITS, counted=1, uniform=lambda low, _high: low) == 0


def test_after_the_last_try_there_is_no_wait():
    assert delay(PortalFailing(), 4, LIMITS, counted=4) is None


def test_what_is_the_portals_fault_has_no_last_try_and_longer_waits():
    waits = [delay(PortalFailing(), n, LIMITS, counted=None, uniform=longest) for n in (3, 4, 99)]
    assert waits == [5, 16, LIMITS.patient_cap_seconds]


@given(st.floats(0, 60), st.integers(1, 3))
def test_a_portal_is_never_asked_before_the_time_it_named(seconds, tries):
    assert delay(throttled(seconds), tries, LIMITS, counted=None) >= seconds


def test_a_portal_that_names_an_absurd_time_gets_the_cap():
    assert delay(throttled(86_400), 1, LIMITS, counted=None, uniform=lambda low, _high: low) == 60
