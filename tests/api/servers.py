"""The interface under its real web server: gunicorn with threads, on the tests' own database."""

import http.client
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.ingestion.hosts import environment, eventually


@contextmanager
def web_server(settings, **changes):
    """Yields its address, http://127.0.0.1:<port>. Stopped on the way out."""
    command = [
        sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", "127.0.0.1:0",
        "--worker-class", "gthread", "--threads", "8", "--log-level", "info",
    ]  # fmt: skip
    # Into a file: a pipe that nobody reads is full one day, and then every thread waits to log.
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, env=environment(settings, **changes), stderr=log
        )
        try:
            yield eventually(lambda: _address(log, process))
        finally:
            process.terminate()
            process.wait(30)


def _address(log, process):
    log.seek(0)
    said = log.read()
    assert process.poll() is None, said
    found = re.search(r"Listening at: (\S+)", said)
    return found and found[1]


class Asked:
    """An answer as it came over the wire."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()


def ask(address, method, path, *, body=None, hang_up=False, **headers):
    """One request on a connection of its own; nothing follows redirects or repairs a thing.

    `hang_up`: gone when the body is sent, without waiting for an answer.
    """
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body=body, headers=names)
        return None if hang_up else Asked(connection.getresponse())
    finally:
        connection.close()
