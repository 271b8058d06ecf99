"""Implements clamd's command INSTREAM as clamd(8) describes it, as a real server for tests."""

import socketserver
import threading
from contextlib import contextmanager

from tests.socket_servers import serving

# The harmless file that every scanner detects (eicar.org). It is written in two parts, so that no
# scanner detects this module.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + rb"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
FOUND = "Eicar-Test-Signature"


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self):
        command = b""
        while not command.endswith(b"\0"):
            command += self.rfile.read(1)
        assert command == b"zINSTREAM\0"
        self.server.asked += 1
        content = b""
        while length := int.from_bytes(self.rfile.read(4), "big"):
            content += self.rfile.read(length)
            if len(content) > self.server.longest:
                self.wfile.write(b"INSTREAM size limit exceeded. ERROR\0")
                return
        self.server.scanned.append(content)
        if self.server.answer is None:
            threading.Event().wait(self.server.silence)
            return
        found = f"{FOUND} FOUND" if EICAR in content else "OK"
        self.wfile.write(self.server.answer.format(found).encode() + b"\0")


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


@contextmanager
def clamd(socket_path=None, *, port=0, longest=25_000_000, answer="stream: {}", silence=0.0):
    """Yield a running server, whose `address` is a value for CLAMD.

    With `answer=None`, it closes the connection without an answer.
    """
    if socket_path:
        server = socketserver.ThreadingUnixStreamServer(str(socket_path), _Conversation)
        server.address = f"unix:{socket_path}"
    else:
        server = _Tcp(("127.0.0.1", port), _Conversation)
        server.address = "tcp://127.0.0.1:{1}".format(*server.server_address)
    server.daemon_threads = True
    server.longest, server.answer, server.silence = longest, answer, silence
    server.scanned, server.asked = [], 0
    with serving(server):
        yield server
