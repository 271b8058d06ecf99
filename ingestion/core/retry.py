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
    is_patient: bool = False,
    uniform: Callable[[float, float], float] = random.uniform,
) -> float | None:
    """Seconds to wait after the `tries`-th request failed; None when the budget is spent.

    Full jitter (exponential backoff and jitter, AWS architecture blog): the whole wait is drawn,
    so that many documents of one failing portal do not come back at once. A `Retry-After` is a
    lower bound that the portal set; the jitter is added to it. With `is_patient` there is no
    budget, because the fault is the portal's; the waits beyond it grow further.
    """
    is_spent = tries >= limits.fetch_tries
    if is_spent and not is_patient:
        return None
    cap = limits.patient_cap_seconds if is_spent else limits.backoff_cap_seconds
    ceiling = min(cap, limits.backoff_base_seconds * 2 ** min(tries, 32))
    asked = min(error.retry_after or 0.0, limits.retry_after_cap_seconds)
    return asked + uniform(0.0, ceiling)
