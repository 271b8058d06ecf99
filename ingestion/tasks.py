"""What django-q2 is asked to run. Each delegates at once."""

import asyncio

from ingestion.dispatch import shift


def work_shift() -> None:
    """Work the chunks that are due.

    A CancelledError that left the task would kill the worker without a trace (it is no Exception).
    """
    try:
        shift.work_shift()
    except asyncio.CancelledError as error:
        raise RuntimeError("the shift was cancelled") from error
