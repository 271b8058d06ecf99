"""Real HTTP and HTTPS servers on this machine, with answers that a test defines."""

import socket
import ssl
import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.socket_servers import serving


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.partition("?")[0]
        with self.server.lock:
            self.server.seen.append((self.command, path, self.headers))
            answers = self.server.answers[path]
            answer = answers.pop(0) if len(answers) > 1 else answers[0] if answers else missing
        answer(self)

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    """Gives the answers of `on(path, first, second, ...)` in turn, and repeats the last one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.seen = defaultdict(list), []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.scheme, self.tls = "http", None

    def on(self, path, *answers):
        self.answers[path] = list(answers)

    def url(self, path="/", host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.server_port}{path}"

    def headers(self, path):
        return [headers for _, asked, headers in self.seen if asked == path]

    def handle_error(self, request, client_address):
        """Ignore clients that close the connection: many tests do."""

    def finish_request(self, request, client_address):
        if self.tls:  # in the thread of the connection: a client may not finish the handshake
            request = self.tls.wrap_socket(request, server_side=True)
        try:
            super().finish_request(request, client_address)
        finally:
            request.close()


@contextmanager
def serve(tls=None):
    server = Server()
    if tls:
        server.scheme, server.tls = "https", tls
    with serving(server):
        try:
            yield server
        finally:
            server.closing.set()


def give(body=b"", status=200, length=None, **headers):
    """Return an answer with this body. `length` announces another length."""

    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)
        handler.close_connection = length is not None

    return answer


missing = give(b"", 404)


def redirect(location, status=302, **headers):
    return give(b"", status, Location=location, **headers)


def chunked(*pieces, every=0.0):
    """Return a chunked answer: a piece every `every` seconds, until the test ends."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if handler.server.closing.wait(every):
                return
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def unending(body):
    """Return an answer without length or chunks: the body ends with the connection."""

    def answer(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


def close_without_response(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def silent(handler):
    handler.server.closing.wait(10)


def ranged(body, etag='"v1"', **headers):
    """Return an answer as nginx gives it: a range if If-Range matches, else the whole file.

    A range beyond the end is answered with 416.
    """

    def answer(handler):
        wanted = handler.headers.get("Range")
        is_current = handler.headers.get("If-Range") in {None, etag}
        if not wanted or not is_current:
            return give(body, ETag=etag, **headers)(handler)
        start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(body):
            return give(b"", 416, Content_Range=f"bytes */{len(body)}")(handler)
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return give(body[start:], 206, ETag=etag, Content_Range=span, **headers)(handler)

    return answer


def server_tls(certificate, *, clients=None, newest=None):
    """Return the TLS settings of a server. `clients` is the CA of required client certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    if newest:
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = newest
        context.set_ciphers("ALL:@SECLEVEL=0")
    return context
