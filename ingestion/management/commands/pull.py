"""Asks the portal of a site again for all documents that it has served."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.intake.portal_pull import NothingToPull, PortalUnavailable, pull_site
from ingestion.intake.submission import Submission
from ingestion.management import waiting
from ingestion.models import PRIORITIES, BatchSource
from sites.models import Site


class Command(BaseCommand):
    help = (
        "Asks the portal of a site again for the documents that it has served. Unchanged documents "
        "end as already on file, changed ones are new versions."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("site", metavar="SITE")
        parser.add_argument("--priority", type=int, default=5, choices=PRIORITIES, metavar="1-10")
        waiting.add_key(parser)
        waiting.add_arguments(parser)

    def handle(self, *args: Any, site: str, **options: Any) -> None:
        found = Site.objects.select_related("portal").filter(site_id=site).first()
        if found is None:
            raise CommandError(f"there is no site {site!r}; load it with load_sites first")
        submission = Submission(
            BatchSource.PULL,
            Actor.software("pull", OPERATIONS),
            priority=options["priority"],
            idempotency_key=options["key"],
            asks_for=found.site_id,
        )
        try:
            batch = waiting.submit_or_fail(lambda: pull_site(found, submission))
        except (NothingToPull, PortalUnavailable) as error:
            raise CommandError(f"{error}; nothing was registered") from error
        waiting.report(batch, self, options)
