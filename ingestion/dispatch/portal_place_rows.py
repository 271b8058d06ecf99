"""Stores the claims of all shifts to the places of a portal, which are its concurrent requests.

A claim is changed under the lock of the portal's limits, so the places of all claims together are
never more than the portal has. A claim expires like a lease: every heartbeat renews the claims of a
worker, and those of a dead worker are removed with its leases, or after LEASE_SECONDS.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction

from ingestion.core.portal_places import PlaceClaim, decide_share, is_turn_over
from ingestion.dispatch.clock import read_database_time
from ingestion.models import PortalLimitState, PortalPlaces


def claim_places(portal: int, holder: str, held: int, wanted: int, maximum: int) -> int:
    """Store the claim of a shift, and return how many places it should use.

    `portal` is the primary key of the portal, and `holder` identifies the worker. `held` is the
    number of places that the shift uses or may use; the returned number may be smaller.
    """
    with transaction.atomic():
        PortalLimitState.objects.get_or_create(portal_id=portal)
        PortalLimitState.objects.select_for_update(of=("self",)).get(portal=portal)
        now = read_database_time()
        rows = {row.holder: row for row in PortalPlaces.objects.filter(portal=portal)}
        own = rows.pop(holder, None) or PortalPlaces(portal_id=portal, holder=holder, queued_at=now)
        others = [_to_claim(row) for row in rows.values() if row.expires_at > now]
        if len(others) < len(rows):
            PortalPlaces.objects.filter(portal=portal, expires_at__lte=now).delete()
        own.places, own.wanted = held, max(held, wanted)
        if is_turn_over(_to_claim(own), others, now.timestamp()):
            own.queued_at = own.granted_at = now
        share = decide_share(maximum, _to_claim(own), others)
        own.places = max(held, share)
        if not held and share:
            own.granted_at = now
        own.expires_at = now + timedelta(seconds=settings.LEASE_SECONDS)
        if own.wanted:
            own.save()
        elif own.pk:
            own.delete()
    return share


def renew_claims(holder: str) -> None:
    """Extend the claims of a worker to LEASE_SECONDS from now."""
    expires = read_database_time() + timedelta(seconds=settings.LEASE_SECONDS)
    PortalPlaces.objects.filter(holder=holder).update(expires_at=expires)


def drop_claims(holder: str) -> None:
    """Remove the claims of a worker that has ended."""
    PortalPlaces.objects.filter(holder=holder).delete()


def _to_claim(row: PortalPlaces) -> PlaceClaim:
    granted_at = row.granted_at.timestamp() if row.granted_at else 0.0
    return PlaceClaim(row.holder, row.places, row.wanted, row.queued_at.timestamp(), granted_at)
