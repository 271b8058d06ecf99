"""Creates the core's work items from the rows of a chunk."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from django.conf import settings

from ingestion.core.ports import FiledVersion, PortalTerms, WorkItem
from ingestion.documents import portal_sources, renditions
from ingestion.documents.portal_sources import make_mirror_address
from ingestion.models import Chunk, Document, ValidityOverride
from ingestion.rules.checks.validity_terms import TermsOverride
from sites.models import Portal


def list_work_items(chunk: Chunk, now: datetime) -> tuple[WorkItem, ...]:
    """Return the documents of the chunk that are due.

    Suspects come last, because they may kill the worker.
    """
    # The latest versions on file that the chunk's portal served, by doc_id and address.
    doc_ids = chunk.documents.waiting().exclude(url="").values("doc_id")
    on_file = Document.objects.on_file().with_etag().filter(site=chunk.site_id, doc_id__in=doc_ids)
    rows = on_file.order_by("pk").values_list("doc_id", "url", "etag", "sha256")
    filed = {(doc_id, url): FiledVersion(etag, sha256) for doc_id, url, etag, sha256 in rows}
    overrides = ValidityOverride.objects.of_study(chunk.site.study_id)
    due = (
        chunk.documents.due(now).select_related("site__study", "packet").order_by("attempts", "pk")
    )
    portal = chunk.site.portal
    source = portal_sources.choose_source(portal, now)
    items = (
        _make_item(each, chunk, now, filed.get((each.doc_id, each.url)), overrides) for each in due
    )
    if source == portal:
        return tuple(items)
    return tuple(_ask_mirror(item, portal, source) for item in items)


def _ask_mirror(item: WorkItem, portal: Portal, mirror: Portal) -> WorkItem:
    """Return the item with the address of its document at a mirror.

    It stays as it is if the mirror does not have it. The version on file is not compared, because
    its ETag is one of the portal.
    """
    if item.terms is None or not (url := make_mirror_address(item.url, portal, mirror)):
        return item
    return replace(item, url=url, terms=get_portal_terms(mirror), filed=None)


def _make_item(
    document: Document,
    chunk: Chunk,
    now: datetime,
    filed: FiledVersion | None,
    overrides: Mapping[str, TermsOverride],
) -> WorkItem:
    if filed and document.expected_sha256 not in {"", filed.sha256}:
        filed = None  # The manifest announces another version.
    deadline = None  # in the monotonic seconds of this process
    if document.failing_since is not None:
        elapsed = (now - document.failing_since).total_seconds()
        deadline = time.monotonic() + settings.INGEST_LIMITS.retry.deadline_seconds - elapsed
    return WorkItem(
        document=document.pk,
        chunk=chunk.pk,
        batch=chunk.batch.reference,
        packet=document.packet.reference,
        correlation_id=str(document.correlation_id),
        attempt=document.attempts + 1,
        received_ns=round(document.received_at.timestamp() * 1e9),
        site_id=document.site.site_id,
        doc_id=document.doc_id,
        url=document.url,
        terms=(
            None if document.spooled or document.is_part else get_portal_terms(chunk.site.portal)
        ),
        spooled=document.spooled,
        rendition=_find_rendition(document),
        is_doubtful=document.is_doubtful and not document.is_redeclared,
        part=document.file_part,
        expected_sha256=document.expected_sha256,
        declared_type=document.document_type,
        person=document.declared_person,
        filename=document.filename,
        schema_version=document.schema_version,
        language=document.declared_language,
        version=document.declared_version,
        site_name=document.site.name,
        site_country=document.site.country,
        protocol_number=document.site.study.protocol_number,
        protocol_version=document.site.study.protocol_version,
        activated_on=document.site.activated_on,
        investigator=document.site.investigator,
        investigator_licence=document.site.investigator_licence,
        overrides=overrides,
        size=document.size or 0,
        tries=document.fetch_tries,
        counted_tries=document.counted_tries,
        # The attempt of a document is taken back when the document leaves a shift unharmed.
        is_suspect=document.attempts > 0,
        deadline=deadline,
        filed=filed,
    )


def _find_rendition(document: Document) -> str:
    """Return the SHA-256 of the rendition from which a file was read before, or ""."""
    if document.is_part or document.is_redeclared or document.attempts:
        rendition = renditions.find_read_rendition(document)
        return rendition.sha256 if rendition else ""
    return ""  # It has just been received.


def get_portal_terms(portal: Portal) -> PortalTerms:
    """Return the terms of the portal: how it may be asked, as its row says."""
    return PortalTerms(
        key=portal.key,
        portal=portal.pk,
        base_url=portal.base_url,
        rate_per_second=portal.rate_per_second,
        burst=portal.burst,
        max_in_flight=portal.max_in_flight,
        timeout_seconds=portal.timeout_seconds,
        allow_http=portal.allow_http,
        allow_private_hosts=portal.allow_private_hosts,
        allowed_hosts=tuple(portal.allowed_hosts.split()),
        secret_header=portal.secret_header,
        approved_origin=portal.approved_origin,
        is_mirror=portal.mirror_of_id is not None,
    )
