"""Simulates a second machine by a network namespace with two links that can be cut.

It needs Linux, root and iproute2; otherwise the test is skipped. Servers on the loopback interface
of this machine are reached through a relay, which records who sent data and when.
"""

import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import pytest

LINKS = {"database": 1, "portal": 2}


class Network:
    """Represents the namespace. `before` precedes a command that has to run in it."""

    def __init__(self):
        # Several processes may test at once, each with names and addresses of its own.
        self._number = 64 + secrets.randbelow(128)
        self._name = f"sl{os.getpid()}"
        self.before = ("ip", "netns", "exec", self._name)

    def here(self, link):
        """Return the address of this machine in the namespace."""
        return f"10.{self._number}.{LINKS[link]}.1"

    def there(self, link):
        """Return the address of the namespace on this machine."""
        return f"10.{self._number}.{LINKS[link]}.2"

    def build(self):
        _ip("netns", "add", self._name)
        _ip("-n", self._name, "link", "set", "lo", "up")
        for link in LINKS:
            ours, theirs = self._end(link, "a"), self._end(link, "b")
            _ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", self._name)
            _ip("address", "add", f"{self.here(link)}/24", "dev", ours)
            _ip("-n", self._name, "address", "add", f"{self.there(link)}/24", "dev", theirs)
            _ip("link", "set", ours, "up")
            _ip("-n", self._name, "link", "set", theirs, "up")

    def cut(self, link):
        _ip("link", "set", self._end(link, "a"), "down")

    def restore(self, link):
        _ip("link", "set", self._end(link, "a"), "up")

    def destroy(self):
        for link in LINKS:
            subprocess.run(["ip", "link", "delete", self._end(link, "a")], stderr=-3, check=False)
        subprocess.run(["ip", "netns", "delete", self._name], stderr=-3, check=False)

    def _end(self, link, side):
        return f"{self._name}{link[0]}{side}"


@contextmanager
def network():
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root and iproute2 to create a network namespace")
    made = Network()
    try:
        try:
            made.build()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be created: {error.stderr.strip()}")
        yield made
    finally:
        made.destroy()


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Relay:
    """Forwards connections. `received` holds time and sender of everything that it received."""

    def __init__(self, address, port):
        self._target = ("127.0.0.1", int(port))
        self._listening = socket.create_server((address, 0))
        self.port = self._listening.getsockname()[1]
        self.received = []
        self._open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def last_received_at(self, sender):
        return max((at for at, source in list(self.received) if source == sender), default=0.0)

    def close(self):
        self._listening.close()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with suppress(OSError):  # raised when the listening socket is closed
            while True:
                near, (source, _) = self._listening.accept()
                far = socket.create_connection(self._target)
                self._open |= {near, far}
                for one, other, who in ((near, far, source), (far, near, "")):
                    threading.Thread(target=self._pass, args=(one, other, who), daemon=True).start()

    def _pass(self, one, other, who):
        with suppress(OSError):
            while content := one.recv(1 << 16):
                if who:
                    self.received.append((time.time(), who))
                other.sendall(content)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(address, port):
    made = Relay(address, port)
    try:
        yield made
    finally:
        made.close()
