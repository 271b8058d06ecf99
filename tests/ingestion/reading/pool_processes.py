"""The processes of a pool, and whether any of them outlives it."""

import asyncio
import multiprocessing
from contextlib import asynccontextmanager
from pathlib import Path


def child_pids() -> set[int]:
    return {child.pid for child in multiprocessing.active_children() if child.pid}


def group_members(leaders: set[int]) -> list[int]:
    """Return the processes that run in these process groups, without zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        state, _, group = rest.split()[:3]
        if int(group) in leaders and state not in "ZX":
            found.append(int(name.split()[0]))
    return found


async def wait_until(condition):
    """Wait until the condition holds. Only the test's own timeout limits the wait."""
    while not (answer := condition()):  # noqa: ASYNC110 - other processes set no event here
        await asyncio.sleep(0.02)
    return answer


@asynccontextmanager
async def record_children():
    """Record every child process that exists at any time within the block."""
    leaders: set[int] = set()

    async def note():
        while True:
            leaders.update(child_pids())
            await asyncio.sleep(0.02)

    noting = asyncio.create_task(note())
    try:
        yield leaders
    finally:
        noting.cancel()
