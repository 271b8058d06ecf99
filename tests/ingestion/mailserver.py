"""A small SMTP server (RFC 5321) in a thread, which receives email or fails as a test requires."""

import socketserver
from email import message_from_bytes
from email.message import Message

from tests.socket_servers import serving


class MailServer(socketserver.ThreadingTCPServer):
    """Keeps received email in `messages`.

    It answers 550 to the addresses in `refused`, and 421 to each connection while `is_busy`.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.messages: list[Message] = []
        self.refused: set[str] = set()
        self.is_busy = False

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.say("421 busy" if self.server.is_busy else "220 ready")
        if self.server.is_busy:
            return
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            if verb == "RCPT" and any(name in line for name in self.server.refused):
                self.say("550 no such mailbox")
            elif verb == "DATA":
                self.say("354 send the message")
                self.server.messages.append(message_from_bytes(self.text()))
                self.say("250 accepted")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 OK")

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def text(self) -> bytes:
        lines = iter(self.rfile.readline, b".\r\n")
        return b"".join(line.removeprefix(b".") if line[:2] == b".." else line for line in lines)


def running():
    """Return a context manager that runs a MailServer."""
    return serving(MailServer())
