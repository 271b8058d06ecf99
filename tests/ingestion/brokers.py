"""Starts a Redis server for one test, on a free port and in a temporary folder."""

import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

MISSING = "redis-server is not installed: sudo apt-get install redis-server"


@contextmanager
def redis_server():
    """Yield the address of a running server. Skips the test if Redis is not installed."""
    program = shutil.which("redis-server") or pytest.skip(MISSING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="siteledger-redis-") as folder:
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with (Path(folder) / "log").open("wb") as log:
            server = subprocess.Popen([program, *arguments], stdout=log)
        try:
            _wait_for_answer(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait(120)


def _wait_for_answer(port):
    until = time.monotonic() + 120  # ends a hang
    with redis.Redis(port=port) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                assert time.monotonic() < until, "redis-server did not start"
                time.sleep(0.05)
            else:
                return
