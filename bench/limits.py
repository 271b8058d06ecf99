"""Compares processes that share the limits of one portal with processes that have a bucket each.

`python -m bench.limits [--quick]` has two rows for each limit. The first one compares the requests
per second that the portal counted with those that it allows. The second one compares the share of
refused requests with that of processes that have a bucket each, which is the usual design. The
sample portal has its own bucket and clock.

`python -m bench.limits ask KEY URL N` is one of our processes, and `python -m bench.limits each
RATE BURST URL N` one of the others.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django
import httpx2 as httpx

from bench.results.report import Row, compare, program, run_benchmark
from bench.sides.plain import Bucket
from samples.portal import SamplePortal, SiteLimit

PROCESSES = 4
WORKERS = 8  # of each process
SITE = "1001"


@dataclass(frozen=True, slots=True)
class LimitsSize:
    """Describes the size of a run."""

    limits: Sequence[SiteLimit]
    seconds: float  # of requests to a saturated portal
    rounds: int


MIN_SHARE_OF_RATE = 0.95  # of the allowed rate, while there is work
# Of each process. Its first one opens a connection, behind which a time stays free.
MIN_REQUESTS = 10
QUICK = LimitsSize((SiteLimit(5.0, 1), SiteLimit(50.0, 10)), seconds=8.0, rounds=1)
FULL = LimitsSize(
    (SiteLimit(2.0, 1), SiteLimit(5.0, 5), SiteLimit(50.0, 10), SiteLimit(200.0, 40)),
    seconds=8.0,
    rounds=3,
)


async def send_requests(key: str, url: str, requests: int) -> None:
    """Request `url` this many times, as fast as the limits of the portal `key` allow."""
    from django.conf import settings

    from ingestion.core.portal_limits import KEEP_ALIVE_SECONDS, RequestOutcome
    from ingestion.core.portal_queues import PortalQueues
    from ingestion.dispatch import clock, database_thread, shared_portal_limits, work_items
    from ingestion.sources.http.client import load_backend
    from sites.models import Portal

    queues: PortalQueues[int] = PortalQueues(WORKERS)

    async def work(client: httpx.AsyncClient) -> None:
        while await queues.take() is not None:
            await client.get(url)
            await queues.report_outcome(key, RequestOutcome.DELIVERED)
            queues.finish_request(key)

    await load_backend()  # as before the first slot of a shift
    keep_alive = httpx.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS)
    async with (
        database_thread.DatabaseThread() as database,
        httpx.AsyncClient(trust_env=False, limits=keep_alive) as client,
    ):
        terms = work_items.get_portal_terms(await database(Portal.objects.get, key=key))
        portal_limit = shared_portal_limits.SharedPortalLimit(
            database, clock.DatabaseClock(), terms, settings.BREAKER
        )
        queues.open(key, portal_limit, WORKERS)
        async with asyncio.TaskGroup() as group:
            group.create_task(queues.reserve_slots(lambda *_: None))
            for _ in range(WORKERS):
                group.create_task(work(client))
            for number in range(requests):
                await queues.put(key, number)
            queues.close()


async def send_requests_with_own_bucket(limit: SiteLimit, url: str, requests: int) -> None:
    """Do the same with an own token bucket, without regard to other processes."""
    bucket, remaining = Bucket(limit.rate_per_second, limit.burst), iter(range(requests))

    async def work(client: httpx.AsyncClient) -> None:
        for _ in remaining:
            await bucket.acquire()
            await client.get(url)

    async with httpx.AsyncClient(trust_env=False) as client, asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(work(client))


@contextmanager
def portal_with(limit: SiteLimit) -> Iterator[tuple[SamplePortal, str]]:
    """Run a portal with one small document, and yield its address."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "files" / SITE / "doc.pdf"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"%PDF-1.7\n")
        with SamplePortal(Path(name), {SITE: limit}, faults=0) as portal:
            yield portal, f"{portal.base_url}/{SITE}/doc.pdf"


def ask_together(
    key: str,
    url: str,
    requests: int,
    *,
    processes: int = PROCESSES,
    environment: dict[str, str] | None = None,
) -> None:
    """Distribute the requests to several processes. Raises CalledProcessError if one fails."""
    share = str(requests // processes)
    _run_processes("ask", key, url, share, processes=processes, environment=environment)


def _run_processes(
    *arguments: str, processes: int = PROCESSES, environment: dict[str, str] | None = None
) -> None:
    command = [sys.executable, "-m", "bench.limits", *arguments]
    running = [subprocess.Popen(command, env=environment) for _ in range(processes)]
    for process in running:
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command)


def measure(limit: SiteLimit, size: LimitsSize) -> Iterator[Row]:
    """Measure one limit.

    The rate is that at saturation, without the burst and the time after it: of the last two thirds
    of the requests.
    """
    from sites.models import Portal
    from sites.portal_origin import parse_origin

    rates, refused, refused_each = [], [], []
    rate, burst = limit.rate_per_second, limit.burst
    requests = PROCESSES * max(MIN_REQUESTS, round(rate * size.seconds / PROCESSES))
    for number in range(size.rounds):
        with portal_with(limit) as (portal, url):
            key = f"rate-{rate:g}-burst-{burst}-{number}"
            own = {"rate_per_second": rate, "burst": burst, "approved_origin": parse_origin(url)}
            Portal.objects.create(key=key, base_url=url, **own)
            ask_together(key, url, requests)
        times = [request.at for request in portal.requests]
        steady = times[len(times) // 3 :]
        rates.append((len(steady) - 1) / (steady[-1] - steady[0]))
        refused.append(_percent_refused(portal))
        with portal_with(limit) as (portal, url):
            _run_processes("each", str(rate), str(burst), url, str(requests // PROCESSES))
        refused_each.append(_percent_refused(portal))
    what = f"{PROCESSES} processes, {rate:g} requests/s, burst {burst}"
    allowed = [rate] * size.rounds
    yield compare(
        what, "requests/s", rates, "what the portal allows", allowed, minimum=MIN_SHARE_OF_RATE
    )
    each = ("a bucket for each process", refused_each)
    yield compare(f"{what}: refused", "%", refused, *each, maximum=0, of_ours=True)


def _percent_refused(portal: SamplePortal) -> float:
    return 100 * portal.violations.total() / len(portal.requests)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    size = QUICK if options.quick else FULL
    for limit in size.limits:
        yield from measure(limit, size)


def main() -> None:
    """Run the benchmark, or the process that the command line names."""
    with tempfile.TemporaryDirectory() as data:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ |= {"SECRET_KEY": "bench", "Q_LOG_LEVEL": "ERROR", "LOG_LEVEL": "WARNING"}
        if sys.argv[1:2] == ["each"]:
            rate, burst, url, requests = sys.argv[2:]
            limit = SiteLimit(float(rate), int(burst))
            asyncio.run(send_requests_with_own_bucket(limit, url, int(requests)))
            return
        if sys.argv[1:2] == ["ask"]:
            django.setup()
            asyncio.run(send_requests(sys.argv[2], sys.argv[3], int(sys.argv[4])))
            return
        os.environ["DATA_DIR"] = data
        django.setup()
        run_benchmark(rows, program(__doc__))


if __name__ == "__main__":
    main()
