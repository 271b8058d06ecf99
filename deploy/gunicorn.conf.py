"""Configures gunicorn: `gunicorn --config deploy/gunicorn.conf.py --bind ADDRESS config.wsgi`.

gunicorn's variable WEB_CONCURRENCY is the number of processes. To restart the server, send SIGTERM
and start it again. Never send SIGHUP, because `DrainingWorker` closes the port of all processes.
"""

import errno
import os
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

from gunicorn.sock import TCPSocket
from gunicorn.workers.gthread import ThreadWorker


class DrainingWorker(ThreadWorker):
    """Closes its port when it is stopped, and then finishes its current requests.

    gunicorn's own worker keeps the port open until the last request is done, and accepts no new
    connection. nginx would send requests to a server that does not answer, for as long as an upload
    takes.
    """

    is_stopping = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.is_stopping = True
        super().handle_exit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if self.is_stopping:
            for listener in self.sockets:
                self._accept_waiting(listener)
                with suppress(OSError):  # another process of this server closed it first
                    listener.sock.shutdown(socket.SHUT_RDWR)

    def accept(self, listener: TCPSocket) -> None:
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno != errno.EINVAL:  # another process of this server closed the port
                raise

    def _accept_waiting(self, listener: TCPSocket) -> None:
        while select.select([listener], [], [], 0)[0]:
            before = self.nr_conns
            self.accept(listener)
            if self.nr_conns == before:  # another process of this server accepted it
                return


# Most requests wait for the database or for a slow client, so threads are sufficient.
worker_class = DrainingWorker
threads = int(os.environ.get("WEB_THREADS") or 8)  # the same default as in config/settings.py
# The time in which current uploads may still finish. The units and compose.yaml wait longer.
graceful_timeout = 60  # seconds
worker_tmp_dir = "/dev/shm"  # noqa: S108 - the heartbeat must not wait for a disk
control_socket_disable = True  # the socket would need a home folder
# gunicorn's own lines have the format of all others (docs/logs.md), and no addresses of clients.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
logconfig_dict = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.make_formatter",
            "style": os.environ.get("LOG_FORMAT") or ("text" if sys.stderr.isatty() else "json"),
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {"gunicorn.error": {"handlers": [], "level": "INFO", "propagate": True}},
}
