"""Plans which fault occurs when, and its random decisions. All of it follows from the seed.

The seed does not determine what each process does at that moment, and the order in which the
machine runs processes. Repeat a failed seed several times: its faults come in the same order, at
the same share of the work.
"""

import random
from dataclasses import dataclass

# Kills with SIGKILL. `web` is killed during an upload. `all` kills a whole session at once.
KILLS = (
    "worker", "parser", "monitor", "pusher", "sentinel", "cluster", "all", "host", "web",
)  # fmt: skip
DISK = "disk full"
OTHER_FAULTS = (
    "freeze",
    DISK,
    "database",
    "portal refuses",
    "portal silent",
    "clock",
    "upload damaged",
    "download damaged",
)
KILLS_PER_OTHER_FAULT = 25  # each other fault occurs once for this many kills
MAX_SHARE = 0.95  # of the work, after which no more faults are injected


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """Describes a fault that is planned for a share of the work."""

    due: float  # share of settled documents at which it occurs
    kind: str
    seed: int  # for its random decisions: which process, how long, which byte


def draw(seed: int, kills: int) -> list[ScheduledFault]:
    """Return this many kills, each kind equally often, with the other faults between them."""
    rng = random.Random(seed)
    kinds = [kind for _ in range(kills // len(KILLS) + 1) for kind in rng.sample(KILLS, 9)][:kills]
    kinds += OTHER_FAULTS * max(1, kills // KILLS_PER_OTHER_FAULT)
    rng.shuffle(kinds)
    shares = sorted(rng.uniform(0.0, MAX_SHARE) for _ in kinds)
    return [
        ScheduledFault(share, kind, rng.getrandbits(32))
        for share, kind in zip(shares, kinds, strict=True)
    ]
