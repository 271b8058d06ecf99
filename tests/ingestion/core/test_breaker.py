"""When a portal is not asked any more, and when again."""

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


def test_enough_failures_in_a_row_open_it_for_the_cool_down():
    assert after(1, 2).state is CLOSED
    assert after(1, 2, 3) == Breaker(OPEN, (1, 2, 3), 303)


def test_failures_that_lie_far_apart_do_not_open_it():
    assert after(0, 59, 119).state is CLOSED


def test_an_answer_between_them_begins_the_count_again():
    assert after(3, 4, breaker=after(1, 2).after_answer()).state is CLOSED


def test_after_the_cool_down_one_probe_goes_and_no_other():
    breaker = after(1, 2, 3)
    assert not breaker.request_permission(302, TERMS)[1]
    breaker, may_ask = breaker.request_permission(303, TERMS)
    assert (breaker.state, may_ask) == (HALF_OPEN, True)
    assert not breaker.request_permission(304, TERMS)[1]


def test_a_probe_that_fails_opens_it_again_and_one_that_is_answered_closes_it():
    probing, _ = after(1, 2, 3).request_permission(303, TERMS)
    assert probing.after_failure(310, TERMS).until == 610
    assert probing.after_interruption(310, TERMS).state is OPEN
    assert probing.after_answer() == Breaker()


def test_a_probe_that_never_came_back_is_replaced_after_another_cool_down():
    probing, _ = after(1, 2, 3).request_permission(303, TERMS)
    assert not probing.request_permission(602, TERMS)[1]
    assert probing.request_permission(603, TERMS)[1]


@given(HISTORIES)
def test_whatever_happens_an_open_portal_sees_one_request_in_a_cool_down(history):
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


async def test_a_gate_in_memory_shuts_probes_and_opens_again():
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


async def test_what_a_gate_in_memory_takes_back_goes_at_once_to_the_next():
    portal_limit = LocalPortalLimit(1, 2, clock=lambda: 1000.0)
    reservation = await portal_limit.reserve(3)
    await portal_limit.give_back(reservation, 2)
    assert (await portal_limit.reserve(1)).slots[0] == reservation.slots[1]
    await portal_limit.give_back(reservation, 2)  # somebody reserved after it: kept
    assert (await portal_limit.reserve(1)).slots[0].earliest_at > reservation.slots[1].earliest_at
