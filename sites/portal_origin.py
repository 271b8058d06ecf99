"""Defines the addresses of portals: their schemes, and the origin that a secret is bound to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2 as httpx
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class PortalScheme:
    """Describes a scheme that the address of a portal may have."""

    default_port: int
    is_encrypted: bool = True


# To add a scheme, also register a source of documents in `ingestion.sources.document_source`.
PORTAL_SCHEMES: Mapping[str, PortalScheme] = {
    "https": PortalScheme(443),
    "http": PortalScheme(80, is_encrypted=False),
}

_HOST_WITHOUT_USER = re.compile(r"[a-z]+://[^\s/?#@]+([/?#]|$)", re.IGNORECASE)


def validate_portal_address(address: str) -> None:
    """Check the address of a portal: its scheme, and that it contains no secret.

    Raises ValidationError.
    """
    scheme = address.partition(":")[0].lower()
    if scheme not in PORTAL_SCHEMES or not parse_origin(address):
        raise ValidationError(_("Enter a whole address that begins with https://."))
    if not _HOST_WITHOUT_USER.match(address):
        raise ValidationError(
            _(
                "Enter an address without a user name or password. Secrets belong in settings "
                "(PORTAL_SECRET_...)."
            )
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
