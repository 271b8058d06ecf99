"""Downloads from a site's portal again all documents that it has served, without a manifest.

An unchanged document is on file already and costs one conditional request. A changed document is a
new version, and a rejected one may have been corrected at the portal. Documents that no manifest
has named are not found, because portals have no listing.
"""

import math
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from ingestion.core.states import UNSETTLED_STATES, DocumentState
from ingestion.documents.portal_sources import find_coming_probe
from ingestion.intake.manifest import explain_address_refusal
from ingestion.intake.registration import register_manifest
from ingestion.intake.submission import Submission, find_batch_by_key
from ingestion.intake.submission_schemas import DeclaredDetails, ManifestLine
from ingestion.models import Batch, Document, PortalLimitState
from sites.models import Site


class NothingToPull(Exception):
    """The portal of the site has served no document yet, or all of them are being fetched now."""


class PortalUnavailable(Exception):
    """The portal of the site does not answer, and nothing was registered.

    `seconds` is the time until its next probe. After that, the first document of a pull is the
    probe, so the pull is not refused.
    """

    def __init__(self, next_probe_at: datetime) -> None:
        super().__init__(
            f"the portal does not answer; it is tried next at {next_probe_at:%H:%M} UTC"
        )
        until = (next_probe_at - timezone.now()).total_seconds()
        self.seconds = max(1, math.ceil(until))


def pull_site(site: Site, submission: Submission) -> Batch:
    """Register a batch with each document that the portal of the site has served.

    The same idempotency key returns the same batch. Raises NothingToPull, PortalUnavailable, and
    what `register_manifest` raises.
    """
    if find_batch_by_key(submission.idempotency_key):
        return register_manifest([], submission)
    limit_state = PortalLimitState.objects.down().filter(portal=site.portal_id).first()
    if limit_state and (next_probe_at := find_coming_probe(limit_state)):
        raise PortalUnavailable(next_probe_at)
    served = Document.objects.filter(site=site).exclude(url="")
    # If the last document of a doc_id was cancelled, the one before it counts.
    counted = served.exclude(state=DocumentState.CANCELLED)
    last = counted.order_by().values("doc_id").annotate(last=Max("pk")).values("last")
    lines = [
        # The line announces no SHA-256, because a new version is wanted.
        ManifestLine(
            site_id=site.site_id,
            doc_id=document.doc_id,
            url=document.url,
            schema_version=document.schema_version,
            document_type=document.document_type,
            filename=document.filename,
            person=document.person,
            # The new version of a document is not the one that was declared.
            details=DeclaredDetails(document.person_role, document.declared_language),
        )
        for document in served.filter(pk__in=last).exclude(state__in=UNSETTLED_STATES)
        if not explain_address_refusal(site.portal, document.url)
    ]
    # There are also no lines if the same pull was registered since the first query.
    if not lines and not find_batch_by_key(submission.idempotency_key):
        raise NothingToPull(
            f"the portal of site {site.site_id} has served no documents that are not being fetched "
            "already"
        )
    return register_manifest(lines, submission)
