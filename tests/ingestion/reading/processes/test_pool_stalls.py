"""Calls that will never begin are distinguished from those that only wait."""

from concurrent.futures import Future

import pytest

from ingestion.reading.processes.pool_stalls import GRACE_SECONDS, StallDetector


@pytest.fixture
def stalls():
    return StallDetector()


def waiting():
    return Future()


def running():
    call = Future()
    call.set_running_or_notify_cancel()
    return call


def ended():
    call = running()
    call.set_result(None)
    return call


def cancelled():
    call = Future()
    call.cancel()
    return call


def test_calls_may_wait_as_long_as_others_run(stalls):
    queue = [waiting() for _ in range(9)]
    for now in range(0, 36_000, 100):
        assert not stalls.has_stalled([running(), *queue], now)


def test_a_call_is_lost_if_a_later_one_began_before_it(stalls):
    assert stalls.has_stalled([ended(), waiting(), running()], 0.0)


def test_a_call_that_ended_or_was_cancelled_is_not_lost(stalls):
    assert not stalls.has_stalled([ended(), cancelled(), running(), waiting()], 0.0)


def test_calls_are_lost_if_none_begins_within_the_grace_period(stalls):
    queue = [waiting(), waiting()]
    assert not stalls.has_stalled(queue, 0.0)
    assert not stalls.has_stalled(queue, GRACE_SECONDS)
    assert stalls.has_stalled(queue, GRACE_SECONDS + 1)


def test_a_pause_between_two_calls_is_not_a_stall(stalls):
    queue = [waiting()]
    assert not stalls.has_stalled(queue, 0.0)
    assert not stalls.has_stalled([], 50.0)
    assert not stalls.has_stalled([running(), *queue], 100.0)
    assert not stalls.has_stalled(queue, 150.0)
    assert not stalls.has_stalled(queue, 150.0 + GRACE_SECONDS)
