"""Ask a site's portal again for all that it gave us, without anybody sending a manifest.

What it still has is on file already, and costs one conditional request; what it has changed is a
new version, and what was rejected may have been mended there. What a portal holds that nobody named
is not found: portals have no listing to ask for (decision 26).
"""

import math
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from ingestion.core.states import UNSETTLED_STATES, DocumentState
from ingestion.intake.manifest import ManifestLine, explain_address_refusal
from ingestion.intake.registration import register_manifest
from ingestion.intake.submission import Submission, find_batch_by_key
from ingestion.models import Batch, Document, PortalLimitState
from sites.models import Site


class NothingToPull(Exception):
    """The site's portal gave nothing yet, or all of it is being asked for just now."""


class PortalUnavailable(Exception):
    """The site's portal does not answer. Nothing was registered."""

    def __init__(self, next_probe_at: datetime) -> None:
        super().__init__(
            f"the portal does not answer; it is tried next at {next_probe_at:%H:%M} UTC"
        )
        until = (next_probe_at - timezone.now()).total_seconds()
        self.seconds = max(1, math.ceil(until))


def pull_site(site: Site, submission: Submission) -> Batch:
    """A batch with a document for each that the site's portal gave. The same key, the same batch.

    Raises NothingToPull, PortalSilent, and what `register_manifest` raises.
    """
    if find_batch_by_key(submission.idempotency_key):
        return register_manifest([], submission)
    if limit_state := PortalLimitState.objects.down().filter(portal=site.portal_id).first():
        raise PortalUnavailable(limit_state.next_probe_at)
    lines = list(_given_before(site))
    # None are left, too, when the same pull was registered since we looked.
    if not lines and not find_batch_by_key(submission.idempotency_key):
        raise NothingToPull(
            f"the portal of site {site.site_id} gave nothing yet that is not being asked for "
            "already"
        )
    return register_manifest(lines, submission)


def _given_before(site: Site) -> Iterator[ManifestLine]:
    """The last that is known of each doc_id. No fingerprint: other bytes are what is hoped for."""
    given = Document.objects.filter(site=site).exclude(url="")
    wanted = given.exclude(state=DocumentState.CANCELLED)  # what stood before it still stands
    last = wanted.order_by().values("doc_id").annotate(last=Max("pk")).values("last")
    for document in given.filter(pk__in=last).exclude(state__in=UNSETTLED_STATES):
        if not explain_address_refusal(site.portal, document.url):
            yield ManifestLine(
                site_id=site.site_id,
                doc_id=document.doc_id,
                url=document.url,
                schema_version=document.schema_version,
                document_type=document.document_type,
                filename=document.filename,
            )
