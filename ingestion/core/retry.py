"""How long to wait before a portal is asked again. Pure; the waiting is done by the lanes."""

import random
from collections.abc import Callable

from ingestion.core.errors import TransientError
from ingestion.core.limits import Limits


def delay(
    error: TransientError,
    tries: int,
    limits: Limits,
    *,
    uniform: Callable[[float, float], float] = random.uniform,
) -> float | None:
    """Seconds to wait after the `tries`-th request failed; None when the budget is spent.

    Full jitter (exponential backoff and jitter, AWS architecture blog): the whole wait is drawn,
    so that many documents of one failing portal do not come back at once. A `Retry-After` is a
    lower bound that the portal set; the jitter is added to it.
    """
    if tries >= limits.fetch_tries:
        return None
    ceiling = min(limits.backoff_cap_seconds, limits.backoff_base_seconds * 2**tries)
    asked = min(error.retry_after or 0.0, limits.retry_after_cap_seconds)
    return asked + uniform(0.0, ceiling)
