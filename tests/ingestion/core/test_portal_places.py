"""Tests of the division of a portal's places: never too many, fair, and in turns."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.portal_places import (
    TURN_SECONDS,
    PlaceClaim,
    decide_share,
    divide_places,
    is_turn_over,
)

MAXIMUM = st.integers(1, 12)


@st.composite
def claims(draw):
    held = draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    return [
        PlaceClaim(f"worker-{n}", each, each + draw(st.integers(0, 6)), draw(st.floats(0, 100)))
        for n, each in enumerate(held)
    ]


@given(MAXIMUM, claims())
def test_shares_fill_the_portal_and_no_claim_gets_more_than_it_wants(maximum, found):
    shares = divide_places(maximum, found)
    assert sum(shares.values()) == min(maximum, sum(claim.wanted for claim in found))
    assert all(shares[claim.holder] <= claim.wanted for claim in found)


@given(MAXIMUM, claims())
def test_no_shift_has_two_places_more_than_one_that_waits_for_another(maximum, found):
    shares = divide_places(maximum, found)
    waiting = [shares[claim.holder] for claim in found if shares[claim.holder] < claim.wanted]
    assert all(max(shares.values()) - share <= 1 for share in waiting)


@given(MAXIMUM, claims(), st.data())
def test_shifts_that_ask_in_any_order_never_use_more_places_than_the_portal_has(
    maximum, found, data
):
    """Each step is one shift that asks, after some of its requests have ended or become due."""
    rows = {claim.holder: replace(claim, held=0) for claim in found}
    for _ in range(20):
        own = rows[data.draw(st.sampled_from(sorted(rows)))]
        held = data.draw(st.integers(0, own.held))
        own = replace(own, held=held, wanted=max(held, data.draw(st.integers(0, 6))))
        others = [row for row in rows.values() if row.holder != own.holder]
        share = decide_share(maximum, own, others)
        # What is above the share is given back later, when the requests have ended.
        rows[own.holder] = replace(own, held=max(held, share))
        assert sum(row.held for row in rows.values()) <= maximum


@given(MAXIMUM, claims())
def test_a_share_that_nobody_waits_for_is_kept(maximum, found):
    own = replace(found[0], held=min(found[0].held, maximum))
    own = replace(own, wanted=max(own.wanted, own.held))
    assert decide_share(maximum, own, []) == min(maximum, own.wanted)


def test_a_shift_that_holds_the_only_place_gives_it_up_after_its_turn():
    holder = PlaceClaim("a", 1, 3, queued_at=0.0, granted_at=0.0)
    waiting = PlaceClaim("b", 0, 2, queued_at=5.0)
    assert not is_turn_over(holder, [waiting], TURN_SECONDS - 1)
    assert decide_share(1, holder, [waiting]) == 1
    assert is_turn_over(holder, [waiting], TURN_SECONDS)
    requeued = replace(holder, queued_at=TURN_SECONDS)
    assert decide_share(1, requeued, [waiting]) == 0
    assert decide_share(1, waiting, [requeued]) == 0, "its request has not ended"
    assert decide_share(1, waiting, [replace(requeued, held=0)]) == 1
    assert not is_turn_over(holder, [], 10 * TURN_SECONDS), "nobody waits"
