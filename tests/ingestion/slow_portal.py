"""Defines a portal that counts its concurrent requests, on a real socket."""

import asyncio
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class CountingPortal:
    """Answers each request after some seconds, and counts how many it had at once."""

    def __init__(self, seconds: float) -> None:
        self.requests = self.most_at_once = self._now = 0
        lock = threading.Lock()
        portal = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with lock:
                    portal.requests += 1
                    portal._now += 1
                    portal.most_at_once = max(portal.most_at_once, portal._now)
                time.sleep(seconds)
                with lock:
                    portal._now -= 1
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> "CountingPortal":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    async def request(self) -> None:
        """Send one request, and wait for its answer."""
        reader, writer = await asyncio.open_connection(*self._server.server_address)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await reader.read()
        writer.close()
