"""Divides the places of a portal, which are its concurrent requests, among all shifts that ask it.

Each shift holds a claim: the places that it may use, and the number that it could use. A claim
lasts for a time and is renewed, so the places of a dead worker come back. A shift that holds
several places uses them without asking again, and asks for its share from time to time. A place is
given back when its request has ended, so that all shifts together never use more places than the
portal has.

The module is pure. `dispatch.portal_place_rows` stores the claims.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# After so long, a shift that holds a place goes to the end of the queue, if another one has none.
TURN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PlaceClaim:
    """Describes the claim of one shift to places of a portal."""

    holder: str
    held: int  # places that the shift may use now
    wanted: int  # places that it could use, at least `held`
    queued_at: float  # seconds of any clock; the earlier, the sooner it gets a place
    granted_at: float = 0.0  # the same: when it received the first of the places that it holds


class PlaceClaims(Protocol):
    """The port to the places of one portal that one shift claims. No method raises."""

    async def claim(self, held: int, wanted: int) -> int:
        """Return how many places the shift should use. It uses `held` at most, and wants `wanted`.

        It may use the returned number at once. If that is less than `held`, it gives places back as
        soon as their requests end, and says so with the next call.
        """
        ...


def divide_places(maximum: int, claims: Sequence[PlaceClaim]) -> dict[str, int]:
    """Return the share of each holder in the places of a portal, which has `maximum` of them.

    Each claim receives one place in turn, in the order of the queue, until it has what it wants or
    nothing is left. So no shift has two places more than one that waits for another place.
    """
    shares = {claim.holder: 0 for claim in claims}
    ordered = sorted(claims, key=lambda claim: (claim.queued_at, claim.holder))
    left = maximum
    while left and (unmet := [each for each in ordered if shares[each.holder] < each.wanted]):
        for claim in unmet[:left]:
            shares[claim.holder] += 1
        left -= min(left, len(unmet))
    return shares


def is_turn_over(claim: PlaceClaim, others: Sequence[PlaceClaim], now: float) -> bool:
    """Return whether a shift has to queue again, because another one waits without any place."""
    is_awaited = any(other.wanted and not other.held for other in others)
    return bool(claim.held) and is_awaited and now - claim.granted_at >= TURN_SECONDS


def decide_share(maximum: int, claim: PlaceClaim, others: Sequence[PlaceClaim]) -> int:
    """Return how many places a shift should use: its share, as far as the others have left it."""
    free = max(0, maximum - claim.held - sum(other.held for other in others))
    share = divide_places(maximum, [claim, *others])[claim.holder]
    return min(share, claim.held + free)
