"""Which harm comes when, and what it decides for itself: all of it follows from the seed.

What does not: which process is doing what at that moment, and which of them the machine runs first.
So a seed that broke something is run again a few times; its harms come in the same order, at the
same shares of the work.
"""

import random
from dataclasses import dataclass

# With SIGKILL. `web` dies in the middle of an upload; `all` is a whole session at once.
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
KILLS_PER_HARM = 25  # each other harm comes once for so many kills
LAST = 0.95  # of the work: then what is left has to come to rest


@dataclass(frozen=True, slots=True)
class Harm:
    due: float  # share of the documents that are settled by then
    kind: str
    seed: int  # of what it decides for itself: which process, how long, which byte


def draw(seed: int, kills: int) -> list[Harm]:
    """So many kills, each kind as often as every other, and the other harms between them."""
    dice = random.Random(seed)
    kinds = [kind for _ in range(kills // len(KILLS) + 1) for kind in dice.sample(KILLS, 9)][:kills]
    kinds += HARMS * max(1, kills // KILLS_PER_HARM)
    dice.shuffle(kinds)
    shares = sorted(dice.uniform(0.0, LAST) for _ in kinds)
    return [
        Harm(share, kind, dice.getrandbits(32)) for share, kind in zip(shares, kinds, strict=True)
    ]
