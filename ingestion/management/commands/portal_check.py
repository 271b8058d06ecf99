"""Checks whether the portal of a site and its mirrors are ready.

It sends one or two requests to each, in slots of the rate limit that the workers use, and fetches
no document. It also asks a portal whose breaker is open. Exit code 0: all are ready; 1: one is not
ready, or there is no such site.
"""

import argparse
import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.core.limiter import RequestRate
from ingestion.core.ports import PortalTerms
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.work_items import get_portal_terms
from ingestion.documents.portal_sources import list_sources
from ingestion.sources.http.check import check_portal
from sites.models import Site

LEAD_SECONDS = 0.25  # for reading certificates and secrets before the first request
LONG_WAIT_SECONDS = 2.0  # a message announces a longer wait


class Command(BaseCommand):
    help = "Tests a portal's reachability, TLS, credentials and clock. Fetches no document."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("site", help="a site number, for example 1001")

    def handle(self, *args: Any, site: str, **options: Any) -> None:
        found = Site.objects.select_related("portal").filter(site_id=site).first()
        if found is None:
            raise CommandError(f"there is no site '{site}'")
        not_ready = []
        for source in list_sources(found.portal):
            name = f"mirror {source.key}" if source.mirror_of_id else "portal"
            if not self._check(site, get_portal_terms(source)):
                not_ready.append(f"the {name} of site {site} is not ready")
        if not_ready:
            raise CommandError("; ".join(not_ready))

    def _check(self, site: str, terms: PortalTerms) -> bool:
        """Print the remarks about a portal or a mirror, and return whether all are good."""
        kind = "Mirror" if terms.is_mirror else "Portal"
        self.stdout.write(f"{kind} {terms.key} of site {site}, {terms.base_url}")
        remarks = asyncio.run(
            check_portal(terms, settings.INGEST_LIMITS, waits=self._reserve_waits(terms))
        )
        for remark in remarks:
            self.stdout.write(f"{'ok ' if remark.is_good else 'BAD'}  {remark.sentence}")
        return all(remark.is_good for remark in remarks)

    def _reserve_waits(self, terms: PortalTerms) -> tuple[float, float]:
        """Reserve the slots of two requests, and return the seconds until each.

        The second request is rarely needed.
        """
        rate = RequestRate.of(terms.rate_per_second, terms.burst)
        reserved = portal_limit_rows.reserve_tokens(terms.portal, rate, 2, lead=LEAD_SECONDS)
        if reserved is None:
            self.stdout.write("The portal's breaker is open, so workers do not ask it now.")
            return 0.0, 1 / terms.rate_per_second
        at = reserved.now + LEAD_SECONDS
        first, second = (start - reserved.now for start in rate.start_times(reserved.tat, at, 2))
        if first > LONG_WAIT_SECONDS:
            self.stdout.write(f"The portal is in use: the next request may start in {first:.0f} s.")
        return first, second
