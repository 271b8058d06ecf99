"""Two hosts and portals that count for themselves: together they never ask more than is allowed."""

from collections.abc import Sequence
from pathlib import Path

from qualification.drills.scene import (
    Say,
    demand,
    host,
    is_completed,
    offered,
    submit,
    until,
)
from samples.portal import SiteLimit

DOCUMENTS = 20  # of two sites, hence of two portals
# What the portal counts. We are told of a burst of one less: that is for a request that leaves a
# busy machine late.
LIMIT, TOLD_BURST = SiteLimit(2.0, 3), 2
CHANGES = {"CHUNK_SIZE": "3", "SHIFT_MAX_CHUNKS": "1"}  # so that there is something for each


def run(folder: Path, say: Say) -> None:
    offer = offered(folder, documents=DOCUMENTS, limit=LIMIT, told_burst=TOLD_BURST)
    with offer as (portal, frozen), host(folder, **CHANGES), host(folder, **CHANGES):
        batch = submit(frozen.manifest)
        until(lambda: is_completed(batch), "every document is settled")
    requests = portal.requests
    refused = portal.violations.total()
    demand(not refused, f"the portals had to refuse {refused} of {len(requests)} requests")
    for site_id in sorted({request.site_id for request in requests}):
        _look(say, site_id, [request.at for request in requests if request.site_id == site_id])


def _look(say: Say, site_id: str, times: Sequence[float]) -> None:
    most, seconds = _most_beyond(times), times[-1] - times[0]
    demand(most <= LIMIT.burst, f"{site_id}: {most:.1f} requests beyond the rate came at once")
    say(
        f"{site_id}: two hosts asked {len(times)} times in {seconds:.1f} s, where "
        f"{LIMIT.rate_per_second:g} a second and {LIMIT.burst} at once are allowed: "
        f"never refused, at most {most:.1f} at once."
    )


def _most_beyond(times: Sequence[float]) -> float:
    """Of all windows: requests in it, without those that the rate allows in that time."""
    return max(
        end - begin + 1 - LIMIT.rate_per_second * (times[end] - times[begin])
        for begin in range(len(times))
        for end in range(begin, len(times))
    )
