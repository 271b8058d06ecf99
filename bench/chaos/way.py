"""A proxy between the hosts and the portal. It can refuse connections, or answer nothing."""

import socket
import struct
import threading
from contextlib import suppress
from enum import Enum

_ABORT = struct.pack("ii", 1, 0)  # SO_LINGER with a time of 0: close() sends a reset
BLOCK = 1 << 16  # bytes


class Mode(Enum):
    OPEN = "open"
    REFUSED = "refused"  #: connections are reset
    SILENT = "silent"  #: data is read and not forwarded


class Way:
    """Forwards connections to `port` to `target`, both on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._mode = Mode.OPEN
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()  # guards _ends
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, name="way", daemon=True).start()

    def set(self, mode: Mode) -> None:
        """Set the mode. Existing connections end, also those that were silent."""
        before, self._mode = self._mode, mode
        if mode is Mode.REFUSED or before is Mode.SILENT:
            self._hang_up()

    def close(self) -> None:
        self._listening.close()
        self._hang_up()

    def _accept(self) -> None:
        with suppress(OSError):  # the connection was closed
            while True:
                near, _ = self._listening.accept()
                if self._mode is Mode.REFUSED:
                    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                    near.close()
                else:
                    self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        far = socket.create_connection(("127.0.0.1", self._target))
        with self._lock:
            self._ends |= {near, far}
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while content := one.recv(BLOCK):
                if self._mode is Mode.OPEN:
                    other.sendall(content)
        with self._lock:
            self._ends -= {one}
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def _hang_up(self) -> None:
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
