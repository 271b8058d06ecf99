"""Is a site's portal ready to be asked? For an operator who sets it up, or wonders what is wrong.

Exit code 0: it is; 1: it is not, or there is no such site. It is asked once or twice, in slots of
the bucket that the workers use, and no document is fetched. A portal whose breaker is open is asked
all the same: whoever wonders what is wrong wants to know.
"""

import argparse
import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.core.limiter import RequestRate
from ingestion.core.ports import PortalTerms
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.work_items import portal_terms_of
from ingestion.sources.http.check import look
from sites.models import Site

LEAD_SECONDS = 0.25  # in which certificates and secrets are read
LONG_SECONDS = 2.0  # a wait that is worth a word


class Command(BaseCommand):
    help = "Tests a portal's reachability, TLS, credentials and clock. Fetches no document."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("site", help="a site number, as 1001")

    def handle(self, *args: Any, site: str, **options: Any) -> None:
        found = Site.objects.select_related("portal").filter(site_id=site).first()
        if found is None:
            raise CommandError(f"there is no site '{site}'")
        terms = portal_terms_of(found.portal)
        self.stdout.write(f"Portal {terms.key} of site {site}, {terms.base_url}")
        remarks = asyncio.run(look(terms, settings.INGEST_LIMITS, waits=self._waits(terms)))
        for remark in remarks:
            self.stdout.write(f"{'ok ' if remark.is_good else 'BAD'}  {remark.sentence}")
        if not all(remark.is_good for remark in remarks):
            raise CommandError(f"the portal of site {site} is not ready")

    def _waits(self, terms: PortalTerms) -> tuple[float, float]:
        """Seconds until each of two requests may go. The second one is seldom needed, and lost."""
        pace = RequestRate.of(terms.rate_per_second, terms.burst)
        reserved = portal_limit_rows.reserve_tokens(terms.portal, pace, 2, lead=LEAD_SECONDS)
        if reserved is None:
            self.stdout.write("Its breaker is open: workers do not ask it just now. We do.")
            return 0.0, 1 / terms.rate_per_second
        at = reserved.now + LEAD_SECONDS
        first, second = (go - reserved.now for go in pace.start_times(reserved.tat, at, 2))
        if first > LONG_SECONDS:
            self.stdout.write(f"It is busy: its next slot is in {first:.0f} s.")
        return first, second
