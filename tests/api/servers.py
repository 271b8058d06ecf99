"""Runs the real web server, gunicorn with threads, on the database of the tests."""

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
    """Start a web server, yield its address http://127.0.0.1:<port>, and stop it afterwards."""
    command = [
        sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", "127.0.0.1:0",
        "--worker-class", "gthread", "--threads", "8", "--log-level", "info",
    ]  # fmt: skip
    # The log goes to a file. A pipe that is not read would fill up and block all threads.
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
    output = log.read()
    assert process.poll() is None, output
    found = re.search(r"Listening at: (\S+)", output)
    return found and found[1]


class WireResponse:
    """A response as it was received over the network."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()


def send_request(address, method, path, *, body=None, hang_up=False, **headers):
    """Send one request on its own connection, without redirects and retries.

    With `hang_up`, close the connection after the body is sent, and return None.
    """
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body=body, headers=names)
        return None if hang_up else WireResponse(connection.getresponse())
    finally:
        connection.close()
