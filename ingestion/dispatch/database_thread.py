"""Defines the thread in which a shift uses the database.

The asyncio core never calls the ORM. All database work of a shift runs in one thread, whose
connection is opened and closed with the thread. The thread closes it itself, because django-q2
closes connections of its own thread only, and a connection that the server dropped would stay
broken for the life of the worker.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connections

P = ParamSpec("P")
R = TypeVar("R")


class DatabaseThread:
    """Runs functions in the one thread of a shift that has a database connection.

    It is an asynchronous context manager. This layer exists because the ORM blocks, and a blocked
    event loop would delay requests beyond their slots.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    async def __aenter__(self) -> Self:
        await self(close_old_connections)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self(connections.close_all)
        self._thread.shutdown()

    async def __call__(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `work` in the thread after all earlier calls, and return its result.

        Raises what `work` raises. If the connection failed, raises OperationalError, and the next
        call opens another connection.
        """

        def run() -> R:
            try:
                return work(*args, **kwargs)
            except (OperationalError, InterfaceError) as error:
                close_old_connections()
                raise OperationalError(*error.args) from error

        # The context of the caller, so that lines of the log name what it has in hand.
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._thread, context.run, run)
