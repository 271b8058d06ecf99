"""Which processes a pool has, and whether any outlives it."""

import asyncio
import multiprocessing
from contextlib import asynccontextmanager
from pathlib import Path


def children() -> set[int]:
    return {child.pid for child in multiprocessing.active_children() if child.pid}


def groups(leaders: set[int]) -> list[int]:
    """The processes that run in these groups, zombies left out."""
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


async def until(condition):
    """Wait for what must happen; the test's own timeout is the only clock."""
    while not (answer := condition()):  # noqa: ASYNC110 - other processes set no event here
        await asyncio.sleep(0.02)
    return answer


@asynccontextmanager
async def noted():
    """Every child that there ever is within the block; one that dies is replaced."""
    leaders: set[int] = set()

    async def note():
        while True:
            leaders.update(children())
            await asyncio.sleep(0.02)

    noting = asyncio.create_task(note())
    try:
        yield leaders
    finally:
        noting.cancel()
