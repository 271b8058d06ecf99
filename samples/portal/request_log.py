"""Admission: each request spends a token, gets its answer, and is written down. No HTTP here."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from samples.portal.fault_injection import Trouble, Weather
from samples.portal.limits import Bucket, Limit


@dataclass(frozen=True, slots=True)
class Request:
    at: float  # seconds on the portal's clock, when the bucket was asked
    site_id: str  # "" for an address that is not a document's
    path: str
    status: int  # that was answered
    trouble: Trouble | None = None


class Desk:
    """Safe to ask from many threads. A site without a limit is served without one."""

    def __init__(
        self, limits: Mapping[str, Limit], weather: Weather, clock: Callable[[], float]
    ) -> None:
        self._weather, self._clock = weather, clock
        self._lock = threading.Lock()  # guards _buckets and _log
        self._buckets = {site_id: Bucket(limit) for site_id, limit in limits.items()}
        self._log: list[Request] = []

    @property
    def log(self) -> tuple[Request, ...]:
        """All requests so far, in the order in which the buckets were asked."""
        with self._lock:
            return tuple(self._log)

    @property
    def violations(self) -> Counter[str]:
        """How often each site was asked beyond its limit."""
        return Counter(entry.site_id for entry in self.log if entry.status == 429)

    def admit(
        self, site_id: str, path: str, *, found: bool, held: bool = False
    ) -> tuple[Request, float]:
        """The answer to give; with a 429 the seconds until the site's next token, else zero.

        `held`: whoever asks has the document already, as it is.
        """
        # One lock over buckets and log, so that the log's times are those that the buckets saw.
        with self._lock:
            now, bucket = self._clock(), self._buckets.get(site_id)
            wait = bucket.take(now) if bucket else 0.0
            trouble = self._weather.on(path) if found and not wait else None
            status = _status(found=found, throttled=wait > 0.0, trouble=trouble)
            if held and status is HTTPStatus.OK:
                status = HTTPStatus.NOT_MODIFIED
            request = Request(now, site_id, path, status, trouble)
            self._log.append(request)
        return request, wait


def _status(*, found: bool, throttled: bool, trouble: Trouble | None) -> HTTPStatus:
    if throttled:
        return HTTPStatus.TOO_MANY_REQUESTS
    if not found:
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.SERVICE_UNAVAILABLE if trouble is Trouble.UNAVAILABLE else HTTPStatus.OK
