"""Implements the sample portal's HTTP server: connections, responses and injected faults."""

import contextlib
import hashlib
import math
import re
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from samples.portal.fault_injection import FaultInjection, PortalFault
from samples.portal.limits import SiteLimit
from samples.portal.request_log import LoggedRequest, RequestLog

_PATH = re.compile(r"/(?P<site_id>[\w-]+)/[\w-][\w.@-]*\.pdf")
_SLOW_PARTS = 8  # parts in which a slow response is sent
_SLOW_PART_SECONDS = 0.15  # between two parts of a slow response
_IDLE_SECONDS = 30.0  # after which an idle connection is closed
_ABORT = struct.pack("ii", 1, 0)  # SO_LINGER with a time of 0: close() sends a reset


class SamplePortal:
    """Serves `directory`/files under /<site_id>/<doc_id>.pdf. Its log can be read after `stop`.

    `faults` is the share of documents that fail at first. `port` 0 selects a free port.
    """

    def __init__(
        self,
        directory: Path,
        limits: Mapping[str, SiteLimit],
        *,
        faults: float = 0.08,
        seed: int = 2026,
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = RequestLog(limits, FaultInjection(faults, seed), clock)
        self._server = _Server(("127.0.0.1", port), directory / "files", self._log)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="sample portal"
        )

    @property
    def base_url(self) -> str:
        """Return the address of the portal, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """Return all requests so far, in order."""
        return self._log.log

    @property
    def violations(self) -> Counter[str]:
        """Return the number of requests beyond the rate limit, by site."""
        return self._log.violations

    def start(self) -> None:
        """Start to answer requests, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server and return when all threads and connections have ended."""
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    """Keeps its connections, so that idle ones can be closed when the server stops."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], files: Path, log: RequestLog) -> None:
        self.files, self.log = files, log
        self.closing = threading.Event()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()  # guards _connections
        super().__init__(address, _RequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
            super().shutdown_request(request)

    def close_connections(self) -> None:
        """Shut down all connections. Call it when no new connections are accepted."""
        self.closing.set()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # closed before by the client or a reset
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have disconnected; report all other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "SamplePortal/1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        match = _PATH.fullmatch(path)
        file = self.server.files / path.lstrip("/")
        content = file.read_bytes() if match and file.is_file() else None
        site_id = match["site_id"] if match else ""
        digest = hashlib.sha256(content or b"").hexdigest()
        etag = f'"{digest}"'
        request, wait = self.server.log.admit(
            site_id,
            path,
            exists=content is not None,
            has_version=self.headers.get("If-None-Match") == etag,
        )
        status = HTTPStatus(request.status)
        self.send_response(status)
        if status is HTTPStatus.NOT_MODIFIED:
            self.send_header("ETag", etag)
            self.end_headers()
        elif content is None or status is not HTTPStatus.OK:
            body = f"{status.value} {status.phrase}\n".encode()
            if wait:
                # Whole seconds (RFC 9110, 10.2.3), rounded up: a retry then is admitted.
                self.send_header("Retry-After", str(math.ceil(wait)))
            self._end_headers("text/plain", len(body))
            self.wfile.write(body)
        else:
            self.send_header("ETag", etag)
            self._end_headers("application/pdf", len(content))
            self._send_content(content, request.fault)

    def _end_headers(self, media_type: str, length: int) -> None:
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send_content(self, content: bytes, fault: PortalFault | None) -> None:
        match fault:
            case PortalFault.SLOW:
                part = math.ceil(len(content) / _SLOW_PARTS)
                for start in range(0, len(content), part):
                    if self.server.closing.wait(_SLOW_PART_SECONDS):
                        return
                    self.wfile.write(content[start : start + part])
            case PortalFault.RESET | PortalFault.TRUNCATED:
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
                if fault is PortalFault.RESET:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                    self.connection.close()
            case _:
                self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing: the request log of the portal has more detail."""
