"""Defines the addresses of portals: their schemes, and the origin that a secret is bound to."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2 as httpx
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class PortalScheme:
    """Describes a scheme that the address of a portal may have."""

    default_port: int
    is_encrypted: bool = True


# To add a scheme, also extend `address_without_secrets`, and register a source of documents for it
# in `ingestion.sources.document_source`.
PORTAL_SCHEMES: Mapping[str, PortalScheme] = {
    "https": PortalScheme(443),
    "http": PortalScheme(80, is_encrypted=False),
}

# The validator of a portal's address. A change of the pattern needs a migration.
address_without_secrets = RegexValidator(
    r"^https?://[^\s/?#@]+([/?#]|$)",
    _(
        "Enter an address without a user name or password. Secrets belong in settings "
        "(PORTAL_SECRET_...)."
    ),
)


def parse_origin(address: str) -> str:
    """Return scheme, host and port (RFC 6454), as in "https://portal.example:443".

    Returns "" if `address` is not an address. The library that connects later also parses the
    address here, so both agree about the host.
    """
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, ValueError):
        return ""
    host = url.raw_host.decode("ascii").lower()
    scheme = PORTAL_SCHEMES.get(url.scheme)
    port = url.port or (scheme.default_port if scheme else 0)
    return f"{url.scheme}://{host}:{port}" if host else ""
