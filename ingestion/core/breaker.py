"""Whether a portal is asked at all: a circuit breaker, as a value. No clock, no lock, no row.

CLOSED      it is asked. So many failures within a window, and no answer between them: OPEN.
OPEN        nobody asks. After the cool-down the first one who wants to may, as a probe: HALF_OPEN.
HALF_OPEN   one probe is on its way; nobody else asks. It is answered: CLOSED. It fails: OPEN.

A probe whose sender died is given up for lost after another cool-down; then the next one may go.
Any answer closes it, also a refusal: the portal is there. Thresholds: domain.md, section 2.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class BreakerState(StrEnum):
    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerTerms:
    # More than the tries of one document, so that one that its portal cannot give never looks
    # like a portal that is down.
    failures: int = 5
    window_seconds: float = 180.0
    cooldown_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """Immutable: each method answers the breaker as it is afterwards. Times are seconds."""

    state: BreakerState = BreakerState.CLOSED
    failures: tuple[float, ...] = ()  # when, since the portal last answered; oldest first
    until: float = 0.0  # OPEN: a probe may go from then on. HALF_OPEN: the probe is lost then

    def failed(self, now: float, terms: BreakerTerms) -> "Breaker":
        """It could not be reached, fell silent, or said that it cannot serve."""
        if self.state is BreakerState.OPEN:
            return self  # a request that was on its way when it opened
        recent = tuple(at for at in self.failures if at > now - terms.window_seconds)
        recent = (*recent, now)[-terms.failures :]
        if self.state is BreakerState.HALF_OPEN or len(recent) >= terms.failures:
            return Breaker(BreakerState.OPEN, recent, now + terms.cooldown_seconds)
        return replace(self, failures=recent)

    def answered(self) -> "Breaker":
        return Breaker()

    def broke_off(self, now: float, terms: BreakerTerms) -> "Breaker":
        """Something came, and not all of it: no failure that counts, and no answer to a probe."""
        return self.failed(now, terms) if self.state is BreakerState.HALF_OPEN else self

    def ask(self, now: float, terms: BreakerTerms) -> tuple["Breaker", bool]:
        """May one more request go? When it was not CLOSED, a yes is for a probe."""
        if self.state is BreakerState.CLOSED:
            return self, True
        if now < self.until:
            return self, False
        probing = Breaker(BreakerState.HALF_OPEN, self.failures, now + terms.cooldown_seconds)
        return probing, True
