"""Notifies waiting clusters at once, through the database, that a wakeup was sent.

Without a notification, a cluster finds a wakeup when it polls next (`Q_CLUSTER["poll"]`). So a lost
notification delays work by one poll at most, and every failure here is only written to the log.

On PostgreSQL, NOTIFY reaches all clusters, after the transaction was committed. SQLite has no such
command. Its processes run on one machine, so each cluster reads from a named pipe in a folder
beside the database file, and a sender writes one byte into each pipe. Pipes need no port, and their
paths may be longer than those of sockets.
"""

import errno
import logging
import os
import select
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction

logger = logging.getLogger(__name__)

CHANNEL = "siteledger_wakeup"  # of NOTIFY and LISTEN
FOLDER_SUFFIX = "-wakeups"  # of the folder of pipes, after the name of the database file
MAX_BYTES_PER_READ = 4096
RETRY_SECONDS = 10.0  # after a listener failed, before it is opened again


class WakeupListener(Protocol):
    """Defines how an idle cluster waits."""

    def wait(self, seconds: float) -> bool:
        """Wait until a notification arrives, or for `seconds`. Returns whether one arrived.

        One that arrived since the last call ends the wait at once. Raises DatabaseError or OSError
        if the listener does not work.
        """
        ...


class ChannelListener:
    """Listens on the connection with which the cluster polls its queue on PostgreSQL."""

    def __init__(self) -> None:
        self._listening: Any = None  # the psycopg connection that executed LISTEN

    def wait(self, seconds: float) -> bool:
        """Wait for a notification. Django replaces the connection from time to time."""
        connection = connections[DEFAULT_DB_ALIAS]
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._listening = connection.connection
            return True  # The cluster polls for a wakeup that was sent before it listened.
        return any(self._listening.notifies(timeout=seconds, stop_after=1))


class PipeListener:
    """Listens on a named pipe of its own beside the database file of SQLite."""

    def __init__(self) -> None:
        folder = _get_folder()
        folder.mkdir(exist_ok=True)
        pipe = folder / f"{uuid.uuid4()}"
        new = pipe.with_suffix(".new")
        os.mkfifo(new)
        # Opened for both directions, so that it neither blocks nor ends with its last writer
        # (fifo(7)). It gets its name afterwards: senders remove a pipe that has no reader.
        self._file = os.open(new, os.O_RDWR | os.O_NONBLOCK)
        new.rename(pipe)

    def wait(self, seconds: float) -> bool:
        """Wait for a byte, and read all that have arrived."""
        if not select.select([self._file], [], [], seconds)[0]:
            return False
        os.read(self._file, MAX_BYTES_PER_READ)
        return True


class ClusterListener:
    """Waits by the listener of the database, or sleeps while that does not work.

    It opens the listener in the process that waits first, because a connection must not be shared
    with a forked process.
    """

    def __init__(self) -> None:
        self._listener: WakeupListener | None = None
        self._open_at = 0.0  # monotonic seconds

    def wait(self, seconds: float) -> bool:
        """Wait for a notification as the listener does. Never raises an error."""
        try:
            if self._listener is None and settings.WAKEUP_NOTIFICATIONS:
                self._listener = self._open()
            if self._listener is not None:
                return self._listener.wait(seconds)
        except Exception:  # of the database's driver, or of the file system
            logger.exception("no wakeup is notified for a while; the cluster polls its queue")
            self._listener, self._open_at = None, time.monotonic() + RETRY_SECONDS
        time.sleep(seconds)
        return False

    def _open(self) -> WakeupListener | None:
        if time.monotonic() < self._open_at:
            return None
        return ChannelListener() if _is_postgresql() else PipeListener()


def notify_clusters() -> None:
    """Notify all clusters when the current transaction has been committed."""
    if settings.WAKEUP_NOTIFICATIONS:
        transaction.on_commit(_notify_now, using=DEFAULT_DB_ALIAS, robust=True)


def _notify_now() -> None:
    try:
        if _is_postgresql():
            with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                cursor.execute(f"NOTIFY {CHANNEL}")
        else:
            _write_to_pipes()
    except Exception:  # as above
        logger.exception("the clusters were not notified; they find the wakeup when they poll")


def _write_to_pipes() -> None:
    with suppress(FileNotFoundError):  # No cluster has run yet.
        for pipe in _get_folder().iterdir():
            if not pipe.suffix:  # Otherwise it is being created.
                _write_to_pipe(pipe)


def _write_to_pipe(pipe: Path) -> None:
    """Write one byte into the pipe, or remove it if its cluster has ended."""
    try:
        file = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # It has no reader.
            pipe.unlink(missing_ok=True)
        elif error.errno != errno.ENOENT:  # Another sender has removed it.
            raise
        return
    try:
        os.write(file, b"1")
    except (BlockingIOError, BrokenPipeError):
        pass  # It is full of notifications, or its cluster has just ended.
    finally:
        os.close(file)


def _get_folder() -> Path:
    name = Path(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])
    return name.with_name(name.name + FOLDER_SUFFIX)


def _is_postgresql() -> bool:
    return connections[DEFAULT_DB_ALIAS].vendor == "postgresql"
