"""Serves a sample corpus over HTTP as a portal, with rate limits and injected faults.

Tests use `SamplePortal` as a context manager on a free port. `python -m samples.portal` runs it by
itself.
"""

from samples.portal.fault_injection import FaultInjection, PortalFault
from samples.portal.limits import SiteLimit, read_limits
from samples.portal.request_log import LoggedRequest
from samples.portal.server import SamplePortal

__all__ = [
    "FaultInjection",
    "LoggedRequest",
    "PortalFault",
    "SamplePortal",
    "SiteLimit",
    "read_limits",
]
