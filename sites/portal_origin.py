"""The origin of an address: scheme, host and port (RFC 6454). A portal's secret is bound to one."""

import httpx2 as httpx

DEFAULT_PORTS = {"https": 443, "http": 80}


def origin_of(address: str) -> str:
    """Return the origin, as in "https://portal.example:443"; "" for what is no address.

    The library that later connects parses the address, so that both agree about the host.
    """
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, ValueError):
        return ""
    host = url.raw_host.decode("ascii").lower()
    port = url.port or DEFAULT_PORTS.get(url.scheme, 0)
    return f"{url.scheme}://{host}:{port}" if host else ""
