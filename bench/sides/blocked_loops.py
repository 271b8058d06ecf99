"""Detects callbacks that block an event loop for 50 ms, with asyncio's debug mode."""

import asyncio
import logging
import re
from collections.abc import Coroutine, Mapping

SLOW_SECONDS = 0.05


class SlowCallbacks(logging.Handler):
    """Keeps the longest time of each coroutine."""

    def __init__(self) -> None:
        super().__init__()
        self._longest: dict[str, float] = {}

    @property
    def longest(self) -> Mapping[str, float]:
        """Return the longest time of each blocking place, in seconds."""
        return self._longest

    async def watch(self, work: Coroutine[None, None, object]) -> None:
        """Run the work in asyncio's debug mode, and keep what blocks the loop."""
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        loop.slow_callback_duration = SLOW_SECONDS
        logger = logging.getLogger("asyncio")
        logger.setLevel(logging.WARNING)
        logger.addHandler(self)
        try:
            await work
        finally:
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if "took" not in record.msg or not isinstance(record.args, tuple):
            return
        what, seconds = str(record.args[0]), float(str(record.args[1]))
        match = re.search(r"coro=<(\S+).*?(?:running|done,? defined) at \S*?(\w+\.py:\d+)", what)
        name = " at ".join(match.groups()) if match else what[:80]
        self._longest[name] = max(seconds, self._longest.get(name, 0.0))
