"""Two hosts and a portal that counts for itself: together they never ask more than it allows."""

from collections.abc import Sequence
from pathlib import Path

from ingestion.drills.scene import Say, demand, host, is_completed, offered, submit, until
from ingestion.samples.portal import Limit

DOCUMENTS = 14  # all of one site, hence of one portal
# What the portal counts. We are told of a burst of one less: that is for a request that leaves a
# busy machine late.
LIMIT, TOLD_BURST = Limit(2.0, 3), 2
CHANGES = {"CHUNK_SIZE": "3", "SHIFT_MAX_CHUNKS": "1"}  # so that there is something for each


def run(folder: Path, say: Say) -> None:
    offer = offered(folder, documents=DOCUMENTS, limit=LIMIT, told_burst=TOLD_BURST)
    with offer as (portal, frozen), host(folder, **CHANGES), host(folder, **CHANGES):
        batch = submit(frozen.manifest)
        until(lambda: is_completed(batch), "every document is settled")
    times = [request.at for request in portal.requests]
    refused = portal.violations.total()
    demand(not refused, f"the portal had to refuse {refused} of {len(times)} requests")
    most = _most_beyond(times)
    demand(most <= LIMIT.burst, f"{most:.1f} requests beyond the rate came at once")
    seconds = times[-1] - times[0]
    say(
        f"Two hosts asked {len(times)} times in {seconds:.1f} s, where {LIMIT.rate_per_second:g} a "
        f"second and {LIMIT.burst} at once are allowed: never refused, at most {most:.1f} at once."
    )


def _most_beyond(times: Sequence[float]) -> float:
    """Of all windows: requests in it, without those that the rate allows in that time."""
    return max(
        end - begin + 1 - LIMIT.rate_per_second * (times[end] - times[begin])
        for begin in range(len(times))
        for end in range(begin, len(times))
    )
