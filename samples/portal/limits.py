"""Enforces the rate limit of each site in the sample portal."""

import json
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SiteLimit:
    """Describes the rate limit of one site, in requests per second, with its burst."""

    rate_per_second: float
    burst: int


def read_limits(sites: Path) -> dict[str, SiteLimit]:
    """Return the limits in a `sites.json`, by site."""
    return {
        entry["site_id"]: SiteLimit(entry["portal"]["rate_per_second"], entry["portal"]["burst"])
        for entry in json.loads(sites.read_text())
    }


class TokenBucket:
    """A token bucket of `burst` tokens that is full at first. Not safe for several threads."""

    def __init__(self, limit: SiteLimit) -> None:
        self._limit, self._tokens, self._updated_at = limit, float(limit.burst), -math.inf

    def take(self, now: float) -> float:
        """Take a token and return 0, or return the seconds until one is available."""
        gained = (now - self._updated_at) * self._limit.rate_per_second
        self._tokens = min(float(self._limit.burst), self._tokens + gained)
        self._updated_at = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / self._limit.rate_per_second
        self._tokens -= 1.0
        return 0.0
