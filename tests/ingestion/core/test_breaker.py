"""Tests of the circuit breaker."""

from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.breaker import Breaker, BreakerSettings, BreakerState
from ingestion.core.portal_limits import LocalPortalLimit, RequestOutcome

TERMS = BreakerSettings(failures=3, window_seconds=60, cooldown_seconds=300)
CLOSED, OPEN, HALF_OPEN = BreakerState
# Seconds since the one before, and what happens.
HISTORIES = st.lists(
    st.tuples(st.floats(0, 200), st.sampled_from(["ask", "failed", "answered", "broke off"])),
    max_size=60,
)


def after(*failures, breaker=Breaker()):  # noqa: B008 - immutable
    for at in failures:
        breaker = breaker.after_failure(at, TERMS)
    return breaker


def test_enough_failures_in_a_row_open_the_breaker_for_the_cooldown():
    assert after(1, 2).state is CLOSED
    assert after(1, 2, 3) == Breaker(OPEN, (1, 2, 3), 303)


def test_failures_far_apart_do_not_open_the_breaker():
    assert after(0, 59, 119).state is CLOSED


def test_an_answer_resets_the_count_of_failures():
    assert after(3, 4, breaker=after(1, 2).after_answer()).state is CLOSED


def test_after_the_cooldown_one_probe_is_permitted():
    breaker = after(1, 2, 3)
    assert not breaker.request_permission(302, TERMS)[1]
    breaker, may_ask = breaker.request_permission(303, TERMS)
    assert (breaker.state, may_ask) == (HALF_OPEN, True)
    assert not breaker.request_permission(304, TERMS)[1]


def test_a_failed_probe_opens_the_breaker_and_an_answered_one_closes_it():
    probing, _ = after(1, 2, 3).request_permission(303, TERMS)
    assert probing.after_failure(310, TERMS).until == 610
    assert probing.after_interruption(310, TERMS).state is OPEN
    assert probing.after_answer() == Breaker()


def test_a_lost_probe_is_replaced_after_another_cooldown():
    probing, _ = after(1, 2, 3).request_permission(303, TERMS)
    assert not probing.request_permission(602, TERMS)[1]
    assert probing.request_permission(603, TERMS)[1]


@given(HISTORIES)
def test_a_portal_with_an_open_breaker_sees_one_request_in_a_cooldown(history):
    breaker, now, probed_at = Breaker(), 0.0, None
    for gap, event in history:
        now += gap
        if event == "ask":
            was = breaker.state
            breaker, may_ask = breaker.request_permission(now, TERMS)
            assert may_ask or was is not CLOSED
            if may_ask and was is not CLOSED:
                assert probed_at is None or now - probed_at >= TERMS.cooldown_seconds
                probed_at = now
        elif event == "failed":
            breaker = breaker.after_failure(now, TERMS)
        elif event == "broke off":
            breaker = breaker.after_interruption(now, TERMS)
        else:
            breaker, probed_at = breaker.after_answer(), None
            assert breaker.state is CLOSED
        assert len(breaker.failures) <= TERMS.failures
        assert breaker.state is not OPEN or breaker.until <= now + TERMS.cooldown_seconds


async def test_a_local_limit_opens_probes_and_closes_its_breaker():
    now = [1000.0]
    portal_limit = LocalPortalLimit(10, 5, TERMS, clock=lambda: now[0])
    assert not (await portal_limit.report_outcome(RequestOutcome.INTERRUPTED)).is_healthy
    assert (await portal_limit.report_outcome(RequestOutcome.DELIVERED)).is_healthy
    for _ in range(3):
        standing = await portal_limit.report_outcome(RequestOutcome.FAILED)
    assert not standing.is_healthy
    assert portal_limit.breaker.until == 1300
    assert (await portal_limit.reserve(4)).is_portal_down
    now[0] += 300
    probe = await portal_limit.reserve(4)
    assert probe.is_probe
    assert len(probe.slots) == 1
    await portal_limit.report_outcome(RequestOutcome.ANSWERED)
    assert len((await portal_limit.reserve(4)).slots) == 4


async def test_slots_given_back_to_a_local_limit_are_reserved_next():
    portal_limit = LocalPortalLimit(1, 2, clock=lambda: 1000.0)
    reservation = await portal_limit.reserve(3)
    await portal_limit.give_back(reservation, 2)
    assert (await portal_limit.reserve(1)).slots[0] == reservation.slots[1]
    # A later reservation exists, so nothing is given back.
    await portal_limit.give_back(reservation, 2)
    assert (await portal_limit.reserve(1)).slots[0].earliest_at > reservation.slots[1].earliest_at
