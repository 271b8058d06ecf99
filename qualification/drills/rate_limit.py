"""Shows that two worker hosts together stay within the rate limit of each portal.

The portal counts the requests.
"""

from collections.abc import Sequence
from pathlib import Path

from qualification.drills.setup import (
    Print,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)
from samples.portal import SiteLimit

DOCUMENTS, SITES = 120, 2  # Each site has a portal of its own.
# The portal enforces one request more than it announces, because a busy machine may send a request
# later than planned.
LIMIT, ANNOUNCED_BURST = SiteLimit(2.0, 3), 2
SETTINGS = {"CHUNK_SIZE": "3", "SHIFT_MAX_CHUNKS": "1"}  # so that both hosts get work


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    served = run_sample_portal(
        folder, documents=DOCUMENTS, sites=SITES, limit=LIMIT, announced_burst=ANNOUNCED_BURST
    )
    hosts = run_worker_host(folder, **SETTINGS), run_worker_host(folder, **SETTINGS)
    with served as (portal, corpus), hosts[0], hosts[1]:
        batch = submit_manifest(corpus.manifest)
        wait_until(lambda: is_completed(batch), "all documents are settled")
    requests = portal.requests
    refused = portal.violations.total()
    require(not refused, f"the portals refused {refused} of {len(requests)} requests")
    for site_id in sorted({request.site_id for request in requests}):
        times = [request.at for request in requests if request.site_id == site_id]
        burst, seconds = find_largest_burst(times), times[-1] - times[0]
        require(burst <= LIMIT.burst, f"{site_id}: a burst of {burst:.1f} requests")
        report(
            f"{site_id}: two hosts made {len(times)} requests in {seconds:.1f} s, which is "
            f"{(len(times) - ANNOUNCED_BURST) / seconds / LIMIT.rate_per_second:.2f} of the rate. "
            f"The portal allows {LIMIT.rate_per_second:g} a second and bursts of {LIMIT.burst}. "
            f"It refused no request, and the largest burst was {burst:.1f}."
        )


def find_largest_burst(times: Sequence[float]) -> float:
    """Return the largest number of requests beyond the rate, over all periods.

    `times` are in seconds, in ascending order.
    """
    return max(
        end - begin + 1 - LIMIT.rate_per_second * (times[end] - times[begin])
        for begin in range(len(times))
        for end in range(begin, len(times))
    )
