"""A portal that serves a sample corpus over real HTTP, with limits and with bad weather.

Each site has its own token bucket, which the portal itself enforces: beyond it the answer is 429
with `Retry-After` in whole seconds (RFC 9110, 10.2.3). `python -m ingestion.samples.portal DIR`
runs it by itself; tests use `SamplePortal` as a context manager on a free port.
"""

import argparse
import json
import math
import re
import signal
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ingestion.samples.weather import Trouble, Weather

_PATH = re.compile(r"/(?P<site_id>[\w-]+)/(?P<doc_id>[\w-][\w.@-]*)\.pdf")
_DRIPS = 8  # parts in which a slow answer comes
_DRIP_SECONDS = 0.15
_IDLE_SECONDS = 30.0  # a kept connection is closed after this much silence
_ABORT = struct.pack("ii", 1, 0)  # SO_LINGER with no time to linger: close() sends a reset


@dataclass(frozen=True, slots=True)
class Limit:
    rate_per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Request:
    at: float  # seconds on time.monotonic, when the bucket was asked
    site_id: str
    path: str
    status: int  # that was sent
    trouble: Trouble | None = None


def limits_of(sites: Path) -> dict[str, Limit]:
    """The limits that a `sites.json` promises, by site."""
    return {
        entry["site_id"]: Limit(entry["portal"]["rate_per_second"], entry["portal"]["burst"])
        for entry in json.loads(sites.read_text())
    }


class Bucket:
    """`burst` tokens, refilled at the rate. Not for more than one thread at a time."""

    def __init__(self, limit: Limit) -> None:
        self._limit, self._tokens, self._seen = limit, float(limit.burst), -math.inf

    def take(self, now: float) -> float:
        """Zero when a token was spent; else seconds until there will be one."""
        gained = (now - self._seen) * self._limit.rate_per_second
        self._tokens = min(float(self._limit.burst), self._tokens + gained)
        self._seen = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / self._limit.rate_per_second
        self._tokens -= 1.0
        return 0.0


class SamplePortal:
    """Serves `directory`/files. A site without a limit is served without one.

    `faults` is the share of documents that have trouble at first. The log outlives the portal.
    """

    def __init__(
        self,
        directory: Path,
        limits: Mapping[str, Limit],
        *,
        faults: float = 0.08,
        seed: int = 2026,
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.files = directory / "files"
        self.weather = Weather(faults, seed)
        self.closing = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()  # guards _buckets and _requests
        self._buckets = {site_id: Bucket(limit) for site_id, limit in limits.items()}
        self._requests: list[Request] = []
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="sample portal"
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """All that were answered so far, in the order in which the buckets were asked."""
        with self._lock:
            return tuple(self._requests)

    @property
    def violations(self) -> Counter[str]:
        """How often each site was asked beyond its limit."""
        return Counter(entry.site_id for entry in self.requests if entry.status == 429)

    def admit(self, site_id: str, path: str, found: bool) -> tuple[Request, float]:
        """Take a token, decide the answer and log it. With 429: seconds until the next token."""
        # One lock over bucket and log, so that the log's times are those that the buckets saw.
        with self._lock:
            now, bucket = self._clock(), self._buckets.get(site_id)
            wait = bucket.take(now) if bucket else 0.0
            trouble = self.weather.on(path) if found and not wait else None
            status = _status(found=found, throttled=wait > 0.0, trouble=trouble)
            request = Request(now, site_id, path, status, trouble)
            self._requests.append(request)
        return request, wait

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when no thread and no connection is left."""
        self.closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _status(*, found: bool, throttled: bool, trouble: Trouble | None) -> int:
    if throttled:
        return HTTPStatus.TOO_MANY_REQUESTS
    if not found:
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.SERVICE_UNAVAILABLE if trouble is Trouble.UNAVAILABLE else HTTPStatus.OK


class _Server(ThreadingHTTPServer):
    """Keeps its connections, to close them at the end: a kept-alive one waits for its client."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], portal: SamplePortal) -> None:
        self.portal = portal
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()  # guards _connections
        super().__init__(address, _Answer)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is its own affair; anything else is a fault of the portal."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "SamplePortal/1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        portal = self.server.portal
        path = self.path.partition("?")[0]
        match = _PATH.fullmatch(path)
        file = portal.files / path.lstrip("/") if match else None
        content = file.read_bytes() if file and file.is_file() else None
        site_id = match["site_id"] if match else ""
        request, wait = portal.admit(site_id, path, content is not None)
        if request.status != HTTPStatus.OK or content is None:
            self._refuse(request.status, wait)
        else:
            self._serve(content, request.trouble)

    def _refuse(self, status: int, wait: float) -> None:
        body = f"{status} {HTTPStatus(status).phrase}\n".encode()
        self.send_response(status)
        if wait:
            self.send_header("Retry-After", str(math.ceil(wait)))
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _serve(self, content: bytes, trouble: Trouble | None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/pdf")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if trouble is Trouble.SLOW:
            self._drip(content)
        elif trouble in {Trouble.RESET, Trouble.TRUNCATED}:
            self._break_off(content, reset=trouble is Trouble.RESET)
        else:
            self.wfile.write(content)

    def _drip(self, content: bytes) -> None:
        part = math.ceil(len(content) / _DRIPS)
        for start in range(0, len(content), part):
            if self.server.portal.closing.wait(_DRIP_SECONDS):
                self.close_connection = True
                return
            self.wfile.write(content[start : start + part])

    def _break_off(self, content: bytes, *, reset: bool) -> None:
        self.wfile.write(content[: len(content) // 2])
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: the portal's own log says more."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ingestion.samples.portal",
        description="Serve a sample corpus until SIGINT or SIGTERM.",
    )
    parser.add_argument("directory", type=Path, help="what `python -m ingestion.samples` wrote")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--faults", type=float, default=0.08, help="share of documents in trouble")
    parser.add_argument("--seed", type=int, default=2026)
    return parser.parse_args()


def main() -> None:
    asked = _arguments()
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    limits = limits_of(asked.directory / "sites.json")
    portal = SamplePortal(
        asked.directory, limits, faults=asked.faults, seed=asked.seed, port=asked.port
    )
    with portal:
        sys.stdout.write(f"{portal.base_url}\n")
        sys.stdout.flush()
        done.wait()


if __name__ == "__main__":
    main()
