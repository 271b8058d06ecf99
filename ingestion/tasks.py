"""What django-q2 is asked to run. Each delegates at once."""

import asyncio
import signal

from ingestion.dispatch import drain, shift


def work_shift() -> None:
    """Work the chunks that are due. Ends the worker if SIGTERM came for it meanwhile.

    A CancelledError that left the task would kill the worker without a trace (it is no Exception).
    """
    try:
        shift.work_shift()
    except asyncio.CancelledError as error:
        if not drain.was_told_to_leave():
            raise RuntimeError("the shift was cancelled") from error
    if drain.was_told_to_leave():
        raise SystemExit(128 + signal.SIGTERM)  # as a shell would name it
