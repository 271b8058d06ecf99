"""What all workers share of a portal: its bucket and its breaker."""

from datetime import UTC, datetime
from typing import Self

from django.db import models
from django.db.models import Q

from ingestion.core.breaker import BreakerState
from sites.models import Portal


class PortalGateQuerySet(models.QuerySet["PortalGate"]):
    def shut(self) -> Self:
        """Their portals do not answer, and are not asked but for a probe now and then."""
        return self.exclude(breaker=BreakerState.CLOSED)


class PortalGate(models.Model):
    """Bucket and breaker of a portal, shared by all workers: one row each (docs/adr/0009).

    Written by `dispatch.gates` alone. Times are microseconds since 1970 by the database's clock:
    integers, so that a reservation is given back only to the very value that it left.
    """

    portal = models.OneToOneField(
        Portal, on_delete=models.CASCADE, primary_key=True, related_name="gate"
    )
    tat = models.BigIntegerField(default=0)  # theoretical arrival time of the next request
    given_at = models.BigIntegerField(default=0)  # when it last gave a document, roughly
    breaker = models.CharField(
        max_length=10,
        choices=[(state.value, state.value) for state in BreakerState],
        default=BreakerState.CLOSED,
    )
    failures = models.JSONField(default=list)  # when, since the portal last answered
    shut_until = models.BigIntegerField(default=0)  # the next probe may go then
    switches = models.PositiveIntegerField(default=0)  # the n of the breaker's last ledger entry

    objects = PortalGateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(breaker__in=[state.value for state in BreakerState]),
                name="breaker_state_is_one_of_the_table",
            ),
        ]

    def __str__(self) -> str:
        return f"gate of {self.portal}"

    @property
    def subject(self) -> str:
        """How the ledger names this portal's breaker."""
        return f"breaker:{self.portal_id}"

    def used(self, now: float) -> float:
        """Of what its portal may be asked at once; 1 and more is as fast as it may be asked."""
        spent = max(0.0, self.tat / 1e6 - now) * self.portal.rate_per_second
        return spent / self.portal.burst

    @property
    def next_probe_at(self) -> datetime:
        return datetime.fromtimestamp(self.shut_until / 1e6, UTC)
