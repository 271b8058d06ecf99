"""How the web is served: `gunicorn --config deploy/gunicorn.conf.py --bind ADDRESS config.wsgi`.

How many processes there are is gunicorn's own variable, WEB_CONCURRENCY.
SIGTERM and a new start, never SIGHUP: `Draining` takes the port from all processes of a server.
"""

import errno
import os
import select
import socket
from contextlib import suppress
from types import FrameType

from gunicorn.sock import TCPSocket
from gunicorn.workers.gthread import ThreadWorker


class Draining(ThreadWorker):
    """Gives its port up when it is told to stop, and then finishes what it has.

    gunicorn's own keeps the port open until the last request is done, and accepts nobody: nginx
    would hand people to a server that never answers, for as long as somebody's upload takes.
    """

    is_told = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.is_told = True
        super().handle_exit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if self.is_told:
            for listener in self.sockets:
                self._take_who_waits(listener)
                with suppress(OSError):  # another process of this server was quicker
                    listener.sock.shutdown(socket.SHUT_RDWR)

    def accept(self, listener: TCPSocket) -> None:
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno != errno.EINVAL:  # another process of this server gave the port up
                raise

    def _take_who_waits(self, listener: TCPSocket) -> None:
        while select.select([listener], [], [], 0)[0]:
            before = self.nr_conns
            self.accept(listener)
            if self.nr_conns == before:  # another process of this server was quicker
                return


# Threads: most requests wait for the database or for somebody's slow line.
worker_class = Draining
threads = int(os.environ.get("WEB_THREADS") or 8)  # as in config/settings.py
# So long may what is being uploaded still take to arrive; the units and compose.yaml wait longer.
graceful_timeout = 60  # seconds
worker_tmp_dir = "/dev/shm"  # noqa: S108 - its heartbeat must not wait for a disk
control_socket_disable = True  # it would want a home to lie in
