"""What a portal wants to see of us, by reference: the database never holds it.

For a portal with the key `site-1001` there may be `PORTAL_SECRET_SITE_1001` (what its secret header
says), `PORTAL_CA_SITE_1001` (PEM: the only authorities that we believe about it), and
`PORTAL_CERT_SITE_1001` (PEM: our client certificate and its key). In the environment the first is
the secret itself, the others are paths; in `PORTAL_SECRETS_DIR` each is a file of that name, as
Docker, Kubernetes and systemd mount them. Read when a shift first asks the portal, so that a
changed secret needs no restart.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

import httpx2 as httpx
from django.conf import settings

from ingestion.core.errors import Misconfigured


def reference(kind: str, key: str) -> str:
    return f"PORTAL_{kind}_{key.upper().replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Credentials:
    secret: str = field(default="", repr=False)
    ca: Path | None = None
    certificate: Path | None = None

    @classmethod
    def of(cls, key: str) -> Self:
        """Reads files. Raises Misconfigured."""
        try:
            return cls(_secret(key), _path("CA", key), _path("CERT", key))
        except (OSError, UnicodeDecodeError) as error:
            raise Misconfigured(f"the secret of portal {key} cannot be read: {error}") from error

    def tls(self) -> ssl.SSLContext:
        """For the portal itself: its own CA alone where it has one, and our certificate."""
        if not self.ca and not self.certificate:
            return _plain_trust()
        trust = _modern(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) if self.ca else _system_trust()
        with self._usable():
            if self.ca:
                trust.load_verify_locations(self.ca)
            if self.certificate:
                trust.load_cert_chain(self.certificate)
        return trust

    def tls_abroad(self) -> ssl.SSLContext:
        """For the hosts that the portal sends us to: they never see our certificate."""
        if not self.ca:
            return _plain_trust()
        trust = _system_trust()
        with self._usable():
            trust.load_verify_locations(self.ca)
        return trust

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # ssl.SSLError is one
            files = ", ".join(str(file) for file in (self.ca, self.certificate) if file)
            raise Misconfigured(f"{files} cannot be used for TLS: {error}") from error


def _secret(key: str) -> str:
    name = reference("SECRET", key)
    if name in settings.PORTAL_SECRETS:
        return str(settings.PORTAL_SECRETS[name]).strip()
    file = _file(name)
    return file.read_text("utf-8").strip() if file else ""


def _path(kind: str, key: str) -> Path | None:
    name = reference(kind, key)
    if name in settings.PORTAL_SECRETS:
        return Path(settings.PORTAL_SECRETS[name])
    return _file(name)


def _file(name: str) -> Path | None:
    folder = settings.PORTAL_SECRETS_DIR
    file = Path(folder) / name if folder else None
    return file if file and file.is_file() else None


@cache
def _plain_trust() -> ssl.SSLContext:
    """One for all portals without files of their own: reading the system's bundle takes a while."""
    return _system_trust()


def _system_trust() -> ssl.SSLContext:
    return _modern(httpx.create_ssl_context(trust_env=False))


def _modern(context: ssl.SSLContext) -> ssl.SSLContext:
    # Certificate and host name are checked by PROTOCOL_TLS_CLIENT; nothing here turns that off.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
