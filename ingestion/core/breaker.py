"""Defines the circuit breaker that decides whether a portal may be asked, as an immutable value.

CLOSED      Requests may go. After `failures` failures within the window, with no answer between
            them, the breaker becomes OPEN.
OPEN        No request may go. After the cooldown, one request may go as a probe: HALF_OPEN.
HALF_OPEN   The probe is under way, and no other request may go. An answer makes the breaker CLOSED,
            a failure makes it OPEN.

A probe that reports nothing counts as lost after another cooldown; then the next probe may go.
Every answer closes the breaker, also a refusal, because it shows that the portal works.
The thresholds are those of domain.md, section 2. The module reads no clock and takes no lock.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class BreakerState(StrEnum):
    """Lists the states of a circuit breaker. HALF_OPEN lets single probes through."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    """Limits the failures within a window after which a portal is left alone.

    Times are in seconds.
    """

    # More than the tries of one document, so that a single document that its portal cannot serve
    # does not make the portal look as if it were down.
    failures: int = 5
    window_seconds: float = 180.0
    cooldown_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """Holds the state of one circuit breaker. Each method returns the breaker that follows.

    All times are seconds of one clock, which the caller chooses.
    """

    state: BreakerState = BreakerState.CLOSED
    failures: tuple[float, ...] = ()  # times since the portal's last answer, oldest first
    until: float = 0.0  # OPEN: a probe may go from this time. HALF_OPEN: the probe is lost then.

    def after_failure(self, now: float, settings: BreakerSettings) -> "Breaker":
        """Return the breaker after a request that got no connection, no answer or a 5xx status."""
        if self.state is BreakerState.OPEN:
            return self  # The request was already under way when the breaker opened.
        recent = tuple(at for at in self.failures if at > now - settings.window_seconds)
        recent = (*recent, now)[-settings.failures :]
        if self.state is BreakerState.HALF_OPEN or len(recent) >= settings.failures:
            return Breaker(BreakerState.OPEN, recent, now + settings.cooldown_seconds)
        return replace(self, failures=recent)

    def after_answer(self) -> "Breaker":
        """Return the breaker after a complete answer of the portal."""
        return Breaker()

    def after_interruption(self, now: float, settings: BreakerSettings) -> "Breaker":
        """Return the breaker after an incomplete answer.

        It counts as a failure only for a probe: a probe needs a complete answer.
        """
        return self.after_failure(now, settings) if self.state is BreakerState.HALF_OPEN else self

    def request_permission(self, now: float, settings: BreakerSettings) -> tuple["Breaker", bool]:
        """Return the breaker that follows, and whether one more request may go.

        If the breaker was not CLOSED, a permitted request is the probe.
        """
        if self.state is BreakerState.CLOSED:
            return self, True
        if now < self.until:
            return self, False
        probing = Breaker(BreakerState.HALF_OPEN, self.failures, now + settings.cooldown_seconds)
        return probing, True
