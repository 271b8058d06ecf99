"""Forwards connections between hosts and portal, and can refuse or silence them."""

import socket
import struct
import threading
from contextlib import suppress
from enum import Enum

_ABORT = struct.pack("ii", 1, 0)  # SO_LINGER with a time of 0: close() sends a reset
BLOCK_BYTES = 1 << 16


class Mode(Enum):
    """Lists what the proxy does with connections."""

    OPEN = "open"
    REFUSED = "refused"  #: connections are reset
    SILENT = "silent"  #: data is read and not forwarded


class PortalProxy:
    """Forwards connections to `port` to `target`, both on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._mode = Mode.OPEN
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()  # guards _sockets
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, name="portal proxy", daemon=True).start()

    def set_mode(self, mode: Mode) -> None:
        """Set the mode. Existing connections end, also those that were silent."""
        before, self._mode = self._mode, mode
        if mode is Mode.REFUSED or before is Mode.SILENT:
            self._end_connections()

    def close(self) -> None:
        """End all connections, and accept no further ones."""
        self._listening.close()
        self._end_connections()

    def _accept(self) -> None:
        with suppress(OSError):  # the proxy was closed
            while True:
                client, _ = self._listening.accept()
                if self._mode is Mode.REFUSED:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                    client.close()
                    continue
                portal = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._sockets |= {client, portal}
                for pair in ((client, portal), (portal, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(BLOCK_BYTES):
                if self._mode is Mode.OPEN:
                    target.sendall(content)
        with self._lock:
            self._sockets -= {source}
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _end_connections(self) -> None:
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
