"""Uploads files to the web server as a site's program, and repeats until they are accepted."""

import hashlib
import http.client
import json
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils import timezone

from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.log import ledger
from samples.documents import make_sample
from samples.people_and_sites import SITES
from sites.models import ApiToken, Site, TokenScope

SITE = SITES[0].site_id
KIND = "irb-approval"
ACCEPTED = {200, 202}
PAUSE_SECONDS = 0.5
GIVE_UP_SECONDS = 180.0
_BOUNDARY = "chaos-7f3a"


@dataclass(frozen=True, slots=True)
class KeyedUpload:
    """One file that is uploaded with one idempotency key."""

    content: bytes
    key: str

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the content in hex."""
        return hashlib.sha256(self.content).hexdigest()


class Sender:
    """Uploads new files, and repeats those whose response was lost."""

    def __init__(self, port: int, restart_ended: Callable[[], None]) -> None:
        """`restart_ended` is called during waits, because the web server has to be restarted."""
        self._port, self._restart_ended = port, restart_ended
        token = ApiToken(
            approved_at=timezone.now(),
            name="chaos",
            site=Site.objects.get(site_id=SITE),
            scopes=[TokenScope.SUBMIT],
        )
        self._secret = token.generate_secret()
        with ledger():
            token.save()
            by = Actor.software("chaos", OPERATIONS)
            token.record_at_revision("apitoken.created", by=by, detail={"object": str(token)})
        self._original = make_sample(KIND, today=datetime.now(UTC).date(), site=SITES[0])
        self.sent: list[KeyedUpload] = []

    def new(self) -> KeyedUpload:
        """Return a new file with a key of its own, which is not sent yet."""
        content = self._original + f"%upload {secrets.token_hex(8)}\n".encode()
        upload = KeyedUpload(content, secrets.token_hex(8))
        self.sent.append(upload)
        return upload

    def send(self, upload: KeyedUpload) -> None:
        """Upload until accepted. Repeat with the same key after 429, 5xx or no response."""
        until = time.monotonic() + GIVE_UP_SECONDS
        while True:
            status = 0  # without a response
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            with closing(connection), suppress(OSError, http.client.HTTPException):
                head = dict(self._head(upload))
                connection.request("POST", "/api/v1/packets", self._body(upload), head)
                status = connection.getresponse().status
            if status in ACCEPTED:
                return
            if time.monotonic() > until or (400 <= status < 500 and status != 429):
                raise RuntimeError(f"an upload was answered with {status}")
            self._restart_ended()
            time.sleep(PAUSE_SECONDS)

    def send_half(self, upload: KeyedUpload) -> socket.socket:
        """Return an open connection on which the first half of the upload has been sent."""
        body, head = self._body(upload), self._head(upload)
        lines = [f"{name}: {value}" for name, value in head.items()]
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        request = ["POST /api/v1/packets HTTP/1.1", f"Host: 127.0.0.1:{self._port}", *lines]
        length = f"Content-Length: {len(body)}"
        connection.sendall("\r\n".join([*request, length, "", ""]).encode())
        connection.sendall(body[: len(body) // 2])
        return connection

    def _head(self, upload: KeyedUpload) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self._secret}",
            "Idempotency-Key": upload.key,
            "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
        }

    def _body(self, upload: KeyedUpload) -> bytes:
        packet = json.dumps({"documents": [{"file": "x.pdf", "document_type": KIND}]})
        return (
            (
                f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="packet"\r\n'
                f"Content-Type: application/json\r\n\r\n{packet}\r\n"
                f"--{_BOUNDARY}\r\n"
                'Content-Disposition: form-data; name="files"; filename="x.pdf"\r\n'
                "Content-Type: application/pdf\r\n\r\n"
            ).encode()
            + upload.content
            + f"\r\n--{_BOUNDARY}--\r\n".encode()
        )
