"""Selects the rows that a token can see.

All other rows are reported as not found (404), never as forbidden (403).
"""

from django.db.models import Exists, OuterRef, QuerySet

from ingestion.models import Batch, Document, Packet
from sites.models import ApiToken, Site


def list_visible_sites(token: ApiToken) -> "QuerySet[Site]":
    """Return the sites that the token can see."""
    rows = Site.objects.select_related("study", "portal__limit_state")
    return rows.filter(pk=token.site_id) if token.site_id else rows


def list_visible_documents(token: ApiToken) -> "QuerySet[Document]":
    """Return the documents that the token can see."""
    rows = Document.objects.select_related("site__study", "packet", "batch", "chunk")
    return rows.filter(site=token.site_id) if token.site_id else rows


def list_visible_batches(token: ApiToken) -> "QuerySet[Batch]":
    """Return the batches that the token can see.

    A site's token sees batches that contain only its own documents, because the counts of a shared
    batch would reveal information about other sites.
    """
    rows = Batch.objects.all()
    if token.site_id is None:
        return rows
    packets = Packet.objects.filter(batch=OuterRef("pk"))
    own, others = packets.filter(site=token.site_id), packets.exclude(site=token.site_id)
    return rows.filter(Exists(own), ~Exists(others))
