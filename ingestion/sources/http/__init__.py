"""The downloader: httpx2 behind the core's fetch port. Nothing that a portal sends is trusted.

hosts        which addresses a portal may name: scheme, host, port
sockets      connections as the pool wants them, in plain asyncio
guard        which IP addresses its names may stand for, checked where the socket is opened
credentials  secrets, CA bundles and client certificates, by reference
lines        the clients of one portal: TLS, limits, headers
hops         redirects, each one checked, without credentials once we have left the portal
answers      what an answer means: statuses, Retry-After, sign-in pages, the portal's clock
digests      what an answer says that its bytes hash to
part         bytes on the disk, hashed and counted; what is kept for a resume
pace         a portal that is too slow is as good as silent
client       all of these in a row: one document's fetch
sources      uploads from the spool, everything else from a portal
check        one portal asked for nothing, for `manage.py portal_check`
"""

from ingestion.sources.http.client import HttpPortals
from ingestion.sources.http.responses import retry_after
from ingestion.sources.sources import FolderOf, Sources

__all__ = ["FolderOf", "HttpPortals", "Sources", "retry_after"]
