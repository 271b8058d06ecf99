"""Receives alarms: a real webhook and a real mail server, each in a thread on this machine."""

import json
import socketserver
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.socket_servers import serving


@dataclass
class Received:
    port: int = 0
    status: int = 204  # what the webhook answers
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Any] = field(default_factory=list)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(each["alarm"], each["event"]) for each in self.messages]


@contextmanager
def webhook():
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):  # the library's name
            received.headers.append(self.headers)
            received.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(received.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        received.port = server.server_port
        yield received


@contextmanager
def mail_server():
    """Speaks as much of RFC 5321 as it takes to be given a letter."""
    received = Received()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline():
                verb = line[:4].upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    received.bodies.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
                if verb == b"QUIT":
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with serving(server):
        received.port = server.server_address[1]
        yield received
