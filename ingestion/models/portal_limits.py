"""Defines what all workers share about a portal: its token bucket, its breaker, its places."""

from datetime import UTC, datetime
from typing import Self

from django.db import models
from django.db.models import Q

from audit.ledger.recorded_row import RecordedRow
from ingestion.core.breaker import BreakerState
from sites.models import Portal


class PortalLimitStateQuerySet(models.QuerySet["PortalLimitState"]):
    """Selects the portals that do not respond."""

    def down(self) -> Self:
        """Return the rows of portals whose breaker is not closed: only probes are sent to them."""
        return self.exclude(breaker=BreakerState.CLOSED)


class PortalLimitState(RecordedRow):
    """Stores the token bucket and the breaker of one portal for all workers (docs/adr/0009).

    Only `dispatch.portal_limit_rows` writes it. Times are microseconds since 1970 by the database's
    clock. They are integers and not floats, so that a reservation can be returned by comparing the
    value that it left.
    """

    portal = models.OneToOneField(
        Portal, on_delete=models.CASCADE, primary_key=True, related_name="limit_state"
    )
    tat = models.BigIntegerField(default=0)  # theoretical arrival time of the next request
    # The approximate time of the last document that was delivered.
    delivered_at = models.BigIntegerField(default=0, db_column="given_at")
    breaker = models.CharField(
        max_length=10,
        choices=[(state.value, state.value) for state in BreakerState],
        default=BreakerState.CLOSED,
    )
    failures = models.JSONField(default=list)  # times of failures since the last answer
    # The time from which the next probe may be sent.
    probe_at = models.BigIntegerField(default=0, db_column="shut_until")
    revision = models.PositiveIntegerField(default=0, editable=False, db_column="switches")

    objects = PortalLimitStateQuerySet.as_manager()

    class Meta:
        db_table = "ingestion_portalgate"  # so that the previous release runs beside this one
        constraints = [
            models.CheckConstraint(
                condition=Q(breaker__in=[state.value for state in BreakerState]),
                name="breaker_state_is_one_of_the_table",
            ),
        ]

    def __str__(self) -> str:
        return f"limits of {self.portal}"

    @property
    def subject(self) -> str:
        """Return how the ledger names this portal's breaker."""
        return f"breaker:{self.portal_id}"

    def used(self, now: float) -> float:
        """Return the used share of the burst. From 1 on, the portal is asked at its full rate.

        `now` is seconds since 1970.
        """
        spent = max(0.0, self.tat / 1e6 - now) * self.portal.rate_per_second
        return spent / self.portal.burst

    @property
    def next_probe_at(self) -> datetime:
        """Return the time of the next probe of a portal that does not respond."""
        return datetime.fromtimestamp(self.probe_at / 1e6, UTC)


class PortalPlaces(models.Model):
    """Stores how many concurrent requests one worker may send to a portal, until a time.

    Only `dispatch.portal_place_rows` writes it.
    """

    portal = models.ForeignKey(Portal, on_delete=models.CASCADE, related_name="places")
    holder = models.CharField(max_length=120)  # host:pid:start, as the owner of a lease
    places = models.PositiveIntegerField(default=0)
    wanted = models.PositiveIntegerField(default=0)  # at least `places`
    queued_at = models.DateTimeField()  # its place in the order of claims
    granted_at = models.DateTimeField(null=True)  # when its turn began: it received a place
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["portal", "holder"], name="a_worker_has_one_claim_to_a_portal"
            ),
        ]
        indexes = [models.Index(fields=["holder"], name="claims_of_a_worker")]

    def __str__(self) -> str:
        return f"{self.places} of {self.portal} for {self.holder}"
