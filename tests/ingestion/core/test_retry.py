"""Tests of what follows when a request to a portal failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import (
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    StorageUnavailable,
    TransientError,
)
from ingestion.core.ports import EarlyDecision
from ingestion.core.retry import RetryRules, decide_after_failure
from tests.ingestion.core.fakes import make_item

RULES = RetryRules(
    fetch_tries=4,
    backoff_base_seconds=1,
    backoff_cap_seconds=5,
    outage_backoff_cap_seconds=600,
    retry_after_cap_seconds=60,
)


def longest(_low, high):
    return high


def shortest(low, _high):
    return low


def throttled(seconds):
    error = PortalThrottled()
    error.retry_after = seconds
    return error


def after(error, *, tries=1, counted=None, uniform=longest, **options):
    """Decide after the request that makes them so many tries, of which so many count."""
    item = make_item(tries=tries - 1, counted_tries=(tries if counted is None else counted) - 1)
    options = {"is_portal_down": False, "now": 0.0} | options
    return decide_after_failure(error, item, RULES, uniform=uniform, **options)


def test_the_upper_bound_of_the_wait_doubles_and_is_capped():
    waits = [after(PortalFailing(), tries=tries).wait_seconds for tries in (1, 2, 3)]
    assert waits == [2, 4, 5]


def test_the_whole_wait_is_drawn_so_that_many_documents_do_not_return_at_once():
    assert after(PortalFailing(), uniform=shortest).wait_seconds == 0


def test_after_the_last_try_the_document_is_rejected():
    decision = after(PortalFailing(), tries=4)
    assert decision == EarlyDecision(code="DOWNLOAD_FAILED", facts={"tries": 4}, is_held=False)


def test_failures_of_the_portal_have_no_last_try_and_longer_waits():
    waits = [
        after(PortalFailing(), tries=tries, counted=1, is_portal_down=True).wait_seconds
        for tries in (3, 4, 99)
    ]
    assert waits == [5, 16, RULES.outage_backoff_cap_seconds]


def test_failures_of_the_portal_do_not_count_against_the_document():
    assert after(PortalUnreachable(), tries=3, counted=2).counted_tries == 1
    assert after(PortalFailing(), tries=3, counted=2).counted_tries == 2


def test_past_its_deadline_a_document_is_held_if_the_portal_is_to_blame():
    item = make_item(deadline=0.0)
    decision = decide_after_failure(PortalUnreachable(), item, RULES, is_portal_down=False, now=1.0)
    assert (decision.code, decision.is_held) == ("PORTAL_UNAVAILABLE", True)


def test_the_deadline_counts_from_the_first_failure():
    first = after(PortalUnreachable(), now=7.0)
    assert first.deadline == 7.0 + RULES.deadline_seconds
    item = make_item(deadline=first.deadline)
    second = decide_after_failure(PortalUnreachable(), item, RULES, is_portal_down=False, now=9.0)
    assert second.deadline == first.deadline


@pytest.mark.parametrize(("error", "is_held"), [(NotServed(), False), (StorageUnavailable(), True)])
def test_an_error_that_no_request_can_heal_decides_at_once(error, is_held):
    assert after(error) == EarlyDecision(code=error.code, facts={"tries": 1}, is_held=is_held)


@given(st.floats(0, 60), st.integers(1, 3))
def test_a_portal_is_never_asked_before_the_time_it_named(seconds, tries):
    assert after(throttled(seconds), tries=tries).wait_seconds >= seconds


def test_a_portal_that_names_an_absurd_time_gets_the_cap():
    assert after(throttled(86_400), uniform=shortest).wait_seconds == 60


def test_every_kind_of_transient_error_has_a_policy():
    assert set(RULES.policies) == set(TransientError.__subclasses__())
