"""Loads the credentials of portals. The database never stores them, only the key of the portal.

The credentials of a portal with the key `site-1001` are found under these names:

`PORTAL_SECRET_SITE_1001`
    The value of the portal's secret header.
`PORTAL_CA_SITE_1001`
    A PEM file with the only certificate authorities that are trusted for this portal.
`PORTAL_CERT_SITE_1001`
    A PEM file with the client certificate of SiteLedger, and its private key.

In the environment, the first is the secret itself and the others are paths. Each can also be a file
of that name in `PORTAL_SECRETS_DIR`, as Docker, Kubernetes and systemd mount secrets. They are read
when a shift first sends a request to the portal, so a changed secret needs no restart.

To add a kind of credential that is sent in a request header, write a function like
`read_secret_header` and add it to `HEADER_KINDS`.
"""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import httpx2 as httpx
from django.conf import settings

from ingestion.core.errors import Misconfigured
from ingestion.core.ports import PortalTerms


@dataclass(frozen=True, slots=True)
class HeaderCredential:
    """A credential that is sent in a header of each request to the portal's own origin."""

    header: str
    reference: str  # the name under which the secret is configured
    value: str = ""  # "" if it is not configured

    def __repr__(self) -> str:
        return f"HeaderCredential({self.header!r}, {self.reference!r})"


HeaderKind = Callable[[PortalTerms], HeaderCredential]


def read_secret_header(terms: PortalTerms) -> HeaderCredential:
    """Return the secret of a portal, for the header that its row names."""
    name = name_credential("SECRET", terms.key)
    if name in settings.PORTAL_SECRETS:
        value = str(settings.PORTAL_SECRETS[name])
    else:
        file = _mounted_file(name)
        value = file.read_text("utf-8") if file else ""
    return HeaderCredential(terms.secret_header, name, value.strip())


# Each function reads files. It may raise OSError and UnicodeDecodeError.
HEADER_KINDS: tuple[HeaderKind, ...] = (read_secret_header,)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Holds all credentials of one portal."""

    headers: tuple[HeaderCredential, ...] = ()
    ca: Path | None = None
    certificate: Path | None = None
    portal: str = ""  # its key

    @classmethod
    def of(cls, terms: PortalTerms) -> Self:
        """Read the credentials from the settings and the disk. Raises Misconfigured."""
        try:
            return cls(
                tuple(kind(terms) for kind in HEADER_KINDS),
                _path("CA", terms.key),
                _path("CERT", terms.key),
                terms.key,
            )
        except (OSError, UnicodeDecodeError) as error:
            message = f"the credentials of portal {terms.key} cannot be read: {error}"
            raise Misconfigured(message, portal=terms.key, problem=str(error)) from error

    @property
    def request_headers(self) -> dict[str, str]:
        """Return the headers to send to the portal's own origin, and to no other."""
        return {each.header: each.value for each in self.headers if each.value}

    def tls(self) -> ssl.SSLContext:
        """Return the TLS settings for the portal's own origin. Raises Misconfigured.

        They trust only the portal's own certificate authorities if there are any, and present the
        client certificate.
        """
        if not self.ca and not self.certificate:
            return get_default_tls()
        context = (
            _require_tls_1_2(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) if self.ca else _system_tls()
        )
        with self._report_unusable_files():
            if self.ca:
                context.load_verify_locations(self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate)
        return context

    def tls_for_other_hosts(self) -> ssl.SSLContext:
        """Return the TLS settings for hosts to which the portal redirects. Raises Misconfigured.

        These hosts never receive the client certificate.
        """
        if not self.ca:
            return get_default_tls()
        context = _system_tls()
        with self._report_unusable_files():
            context.load_verify_locations(self.ca)
        return context

    @contextmanager
    def _report_unusable_files(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # ssl.SSLError is a subclass.
            files = ", ".join(str(file) for file in (self.ca, self.certificate) if file)
            message = f"{files} cannot be used for TLS: {error}"
            raise Misconfigured(message, portal=self.portal, problem=message) from error


def name_credential(kind: str, key: str) -> str:
    """Return the name of a portal's credential, as in PORTAL_SECRET_SITE_1001."""
    return f"PORTAL_{kind}_{key.upper().replace('-', '_')}"


def _path(kind: str, key: str) -> Path | None:
    name = name_credential(kind, key)
    if name in settings.PORTAL_SECRETS:
        return Path(settings.PORTAL_SECRETS[name])
    return _mounted_file(name)


def _mounted_file(name: str) -> Path | None:
    folder = settings.PORTAL_SECRETS_DIR
    file = Path(folder) / name if folder else None
    return file if file and file.is_file() else None


@cache
def get_default_tls() -> ssl.SSLContext:
    """Return the settings that all portals without own files share: loading the bundle is slow."""
    return _system_tls()


def _system_tls() -> ssl.SSLContext:
    return _require_tls_1_2(httpx.create_ssl_context(trust_env=False))


def _require_tls_1_2(context: ssl.SSLContext) -> ssl.SSLContext:
    # PROTOCOL_TLS_CLIENT verifies certificate and host name. No code here disables that.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
