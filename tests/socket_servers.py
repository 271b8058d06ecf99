"""Runs the servers of socketserver and http.server for tests."""

import threading
from contextlib import contextmanager


@contextmanager
def serving(server):
    """Serve in a thread until the end of the block. Yields the server, and then closes it."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
