"""Is a site's portal ready to be asked? For an operator who sets it up, or wonders what is wrong.

Exit code 0: it is; 1: it is not, or there is no such site. It is asked once or twice, beside the
work that may be going on, and no document is fetched.
"""

import argparse
import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.dispatch.leases import portal_terms
from ingestion.portal.check import look
from sites.models import Site


class Command(BaseCommand):
    help = "Tests a portal's reachability, TLS, credentials and clock. Fetches no document."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("site", help="a site number, as 1001")

    def handle(self, *args: Any, site: str, **options: Any) -> None:
        found = Site.objects.select_related("portal").filter(site_id=site).first()
        if found is None:
            raise CommandError(f"there is no site '{site}'")
        terms = portal_terms(found.portal)
        self.stdout.write(f"Portal {terms.key} of site {site}, {terms.base_url}")
        remarks = asyncio.run(look(terms, settings.INGEST_LIMITS))
        for remark in remarks:
            self.stdout.write(f"{'ok ' if remark.is_good else 'BAD'}  {remark.sentence}")
        if not all(remark.is_good for remark in remarks):
            raise CommandError(f"the portal of site {site} is not ready")
