"""Shows that two worker hosts together use the rate limit of each portal, and stay within it.

The portal counts the requests, and refuses each one that is sent too early.
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
LIMIT = SiteLimit(2.0, 1)
MIN_SHARE_OF_RATE = 0.95  # stated, not required: a busy machine sends requests late
SETTINGS = {"CHUNK_SIZE": "3", "SHIFT_MAX_CHUNKS": "1"}  # so that both hosts get work


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    served = run_sample_portal(folder, documents=DOCUMENTS, sites=SITES, limit=LIMIT)
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
        share = (len(times) - LIMIT.burst) / seconds / LIMIT.rate_per_second
        require(burst <= LIMIT.burst, f"{site_id}: a burst of {burst:.1f} requests")
        is_met = "met" if share >= MIN_SHARE_OF_RATE else "MISSED"
        report(
            f"{site_id}: two hosts made {len(times)} requests in {seconds:.1f} s, which is "
            f"{share:.2f} of the rate (at least {MIN_SHARE_OF_RATE}: {is_met}). The portal allows "
            f"{LIMIT.rate_per_second:g} a second and bursts of {LIMIT.burst}. It refused no "
            f"request, and the largest burst was {burst:.1f}."
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
