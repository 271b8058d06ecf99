"""Several processes ask one portal through the shared gate: does it hold, and what is left unused?

`python -m bench.limits [--quick]` has a row for each limit: requests a second as the portal counted
them, beside what it allows, and how often it said 429. The sample portal keeps its own bucket by
its own clock. `python -m bench.limits ask KEY URL N` is one of the processes.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import httpx2 as httpx

from bench.report import Row, beside, program, tell
from ingestion.samples.portal import Limit, SamplePortal

PROCESSES = 4
WORKERS = 8  # of each process
SECONDS, QUICK_SECONDS = 30.0, 8.0  # that a saturated portal is asked for
LIMITS = (
    Limit(1.0, 1), Limit(5.0, 1), Limit(5.0, 5), Limit(10.0, 1), Limit(20.0, 5), Limit(50.0, 10),
    Limit(200.0, 40),
)  # fmt: skip
QUICK_LIMITS = (Limit(5.0, 1), Limit(50.0, 10))
SITE = "1001"


async def ask(key: str, url: str, requests: int) -> None:
    """Ask for `url` so many times, as fast as the gate of the portal `key` lets us."""
    from django.conf import settings

    from ingestion.core.gate import KEPT_SECONDS, Outcome
    from ingestion.core.lanes import Lanes
    from ingestion.dispatch.desk import Door
    from ingestion.dispatch.leases import portal_terms
    from ingestion.dispatch.shared_gate import DatabaseClock, SharedGate
    from sites.models import Portal

    lanes: Lanes[int] = Lanes(WORKERS)

    async def work(client: httpx.AsyncClient) -> None:
        while await lanes.take() is not None:
            await client.get(url)
            await lanes.tell(key, Outcome.GIVEN)
            lanes.done(key)

    kept = httpx.Limits(keepalive_expiry=KEPT_SECONDS)
    async with Door() as door, httpx.AsyncClient(trust_env=False, limits=kept) as client:
        terms = portal_terms(await door(Portal.objects.get, key=key))
        gate = SharedGate(door, DatabaseClock(), terms, settings.BREAKER)
        lanes.open(key, gate, WORKERS)
        async with asyncio.TaskGroup() as group:
            group.create_task(lanes.pace(lambda *_: None))
            for _ in range(WORKERS):
                group.create_task(work(client))
            for number in range(requests):
                await lanes.put(key, number)
            lanes.close()


@contextmanager
def portal_with(limit: Limit) -> Iterator[tuple[SamplePortal, str]]:
    """A portal of one small document, and where that is."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "files" / SITE / "doc.pdf"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"%PDF-1.7\n")
        with SamplePortal(Path(name), {SITE: limit}, faults=0) as portal:
            yield portal, f"{portal.base_url}/{SITE}/doc.pdf"


def ask_together(
    key: str, url: str, requests: int, *, environment: dict[str, str] | None = None
) -> None:
    """Share the requests out to several processes. Raises CalledProcessError if one fails."""
    share = str(requests // PROCESSES)
    command = [sys.executable, "-m", "bench.limits", "ask", key, url, share]
    asking = [subprocess.Popen(command, env=environment) for _ in range(PROCESSES)]
    for process in asking:
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command)


def measure(limit: Limit, seconds: float) -> Row:
    from sites.models import Portal

    key = f"rate-{limit.rate_per_second:g}-burst-{limit.burst}"
    rate, burst = limit.rate_per_second, limit.burst
    with portal_with(limit) as (portal, url):
        Portal.objects.create(key=key, base_url=url, rate_per_second=rate, burst=burst)
        requests = PROCESSES * max(4, round(rate * seconds / PROCESSES))
        ask_together(key, url, requests)
    times = [request.at for request in portal.requests]
    # Saturated: without the burst at the start, and the room after every first request.
    steady = times[len(times) // 3 :]
    seen = (len(steady) - 1) / (steady[-1] - steady[0])
    note = f"{portal.violations.total()} of {len(times)} refused"
    what = f"{PROCESSES} processes, {rate:g} requests/s, burst {burst}"
    return beside(what, "requests/s", [seen], "allowed", [rate], note=note)


def rows(asked: argparse.Namespace) -> Iterator[Row]:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    for limit in QUICK_LIMITS if asked.quick else LIMITS:
        yield measure(limit, QUICK_SECONDS if asked.quick else SECONDS)


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ |= {"SECRET_KEY": "bench", "Q_LOG_LEVEL": "ERROR", "LOG_LEVEL": "WARNING"}
        if sys.argv[1:2] == ["ask"]:
            django.setup()
            asyncio.run(ask(sys.argv[2], sys.argv[3], int(sys.argv[4])))
            return
        os.environ["DATA_DIR"] = data
        django.setup()
        tell(rows, program(__doc__))


if __name__ == "__main__":
    main()
