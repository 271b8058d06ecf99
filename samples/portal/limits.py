"""How often a site's portal may be asked, counted by the portal itself."""

import json
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limit:
    rate_per_second: float
    burst: int


def limits_of(sites: Path) -> dict[str, Limit]:
    """What a `sites.json` promises, by site."""
    return {
        entry["site_id"]: Limit(entry["portal"]["rate_per_second"], entry["portal"]["burst"])
        for entry in json.loads(sites.read_text())
    }


class Bucket:
    """`burst` tokens, refilled at the rate. Full at first. For one thread at a time."""

    def __init__(self, limit: Limit) -> None:
        self._limit, self._tokens, self._seen = limit, float(limit.burst), -math.inf

    def take(self, now: float) -> float:
        """Zero when a token was spent; else seconds until there will be one."""
        gained = (now - self._seen) * self._limit.rate_per_second
        self._tokens = min(float(self._limit.burst), self._tokens + gained)
        self._seen = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / self._limit.rate_per_second
        self._tokens -= 1.0
        return 0.0
