"""How long to wait before a portal is asked again. Pure; the waiting is done by lanes and rows."""

import random
from collections.abc import Callable

from ingestion.core.errors import TransientError
from ingestion.core.limits import Limits


def delay(
    error: TransientError,
    tries: int,
    limits: Limits,
    *,
    counted: int | None,
    uniform: Callable[[float, float], float] = random.uniform,
) -> float | None:
    """Seconds to wait after the `tries`-th request failed; None when the budget is spent.

    `counted` are those of them that count against the document, this one included. None: this one
    is its portal's fault, and there is no budget; the waits beyond it grow further.

    Full jitter (exponential backoff and jitter, AWS architecture blog): the whole wait is drawn,
    so that many documents of one failing portal do not come back at once. A `Retry-After` is a
    lower bound that the portal set; the jitter is added to it.
    """
    if counted is not None and counted >= limits.fetch_tries:
        return None
    is_long = counted is None and tries >= limits.fetch_tries
    cap = limits.patient_cap_seconds if is_long else limits.backoff_cap_seconds
    ceiling = min(cap, limits.backoff_base_seconds * 2 ** min(tries, 32))
    asked = min(error.retry_after or 0.0, limits.retry_after_cap_seconds)
    return asked + uniform(0.0, ceiling)
