"""Which fault occurs when, and its random decisions: all of it follows from the seed.

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
HARMS = (
    "freeze",
    DISK,
    "database",
    "portal refuses",
    "portal silent",
    "clock",
    "upload damaged",
    "download damaged",
)
KILLS_PER_HARM = 25  # each other fault occurs once for this many kills
LAST = 0.95  # share of the work after which no more faults are injected


@dataclass(frozen=True, slots=True)
class Harm:
    due: float  # share of settled documents at which it occurs
    kind: str
    seed: int  # for its random decisions: which process, how long, which byte


def draw(seed: int, kills: int) -> list[Harm]:
    """Return this many kills, each kind equally often, with the other faults between them."""
    dice = random.Random(seed)
    kinds = [kind for _ in range(kills // len(KILLS) + 1) for kind in dice.sample(KILLS, 9)][:kills]
    kinds += HARMS * max(1, kills // KILLS_PER_HARM)
    dice.shuffle(kinds)
    shares = sorted(dice.uniform(0.0, LAST) for _ in kinds)
    return [
        Harm(share, kind, dice.getrandbits(32)) for share, kind in zip(shares, kinds, strict=True)
    ]
