"""Tests of the request to the webhook of an installation."""

import socket
import threading

from ingestion.webhook import call_webhook


def test_a_response_whose_body_never_ends_is_a_success():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        is_over = threading.Event()

        def respond():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                is_over.wait()

        thread = threading.Thread(target=respond)
        thread.start()
        try:
            call_webhook(url, {"id": 1})
        finally:
            is_over.set()
            thread.join()
