"""Admits requests under the rate limits and logs each one. This module contains no HTTP."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from samples.portal.fault_injection import FaultInjection, PortalFault
from samples.portal.limits import SiteLimit, TokenBucket


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """Describes one request to the portal, with its time and its outcome."""

    at: float  # seconds on the portal's clock, when the token was requested
    site_id: str  # "" if the address is not that of a document
    path: str
    status: int  # of the response
    fault: PortalFault | None = None


class RequestLog:
    """Admits and logs requests, from several threads. Sites without a limit are not limited."""

    def __init__(
        self,
        limits: Mapping[str, SiteLimit],
        fault_injection: FaultInjection,
        clock: Callable[[], float],
    ) -> None:
        self._fault_injection, self._clock = fault_injection, clock
        self._lock = threading.Lock()  # guards _buckets and _log
        self._buckets = {site_id: TokenBucket(limit) for site_id, limit in limits.items()}
        self._log: list[LoggedRequest] = []

    @property
    def log(self) -> tuple[LoggedRequest, ...]:
        """Return all requests so far, in the order in which they were admitted."""
        with self._lock:
            return tuple(self._log)

    @property
    def violations(self) -> Counter[str]:
        """Return the number of requests for each site that exceeded its limit."""
        return Counter(entry.site_id for entry in self.log if entry.status == 429)

    def admit(
        self, site_id: str, path: str, *, exists: bool, has_version: bool = False
    ) -> tuple[LoggedRequest, float]:
        """Return the logged request and, for status 429, the seconds to wait (else 0).

        `has_version`: the client already has this version of the document.
        """
        # One lock for buckets and log, so that the log has the same times as the buckets.
        with self._lock:
            now, bucket = self._clock(), self._buckets.get(site_id)
            wait = bucket.take(now) if bucket else 0.0
            fault = self._fault_injection.on(path) if exists and not wait else None
            if wait:
                status = HTTPStatus.TOO_MANY_REQUESTS
            elif not exists:
                status = HTTPStatus.NOT_FOUND
            elif fault is PortalFault.UNAVAILABLE:
                status = HTTPStatus.SERVICE_UNAVAILABLE
            else:
                status = HTTPStatus.NOT_MODIFIED if has_version else HTTPStatus.OK
            request = LoggedRequest(now, site_id, path, status, fault)
            self._log.append(request)
        return request, wait
