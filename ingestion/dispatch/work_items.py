"""What a shift has to do in a chunk, as the core takes it: plain items, made from rows."""

import time
from collections.abc import Mapping
from datetime import datetime

from django.conf import settings

from ingestion.core.ports import Filed, PortalTerms, WorkItem
from ingestion.models import Chunk, Document, ValidityOverride
from ingestion.rules.checks.validity_terms import Override
from sites.models import Portal


def to_do(chunk: Chunk, now: datetime) -> tuple[WorkItem, ...]:
    """Suspects last: they may kill the worker before it comes to the others."""
    filed = _filed(chunk)
    overrides = ValidityOverride.objects.of_study(chunk.site.study_id)
    due = chunk.documents.due(now).select_related("site__study").order_by("attempts", "pk")
    return tuple(
        _item(each, chunk, now, filed.get((each.doc_id, each.url)), overrides) for each in due
    )


def _filed(chunk: Chunk) -> dict[tuple[str, str], Filed]:
    """The versions on file that the chunk's portal gave, by doc_id and address: the last ones."""
    doc_ids = chunk.documents.waiting().exclude(url="").values("doc_id")
    on_file = Document.objects.on_file().with_etag().filter(site=chunk.site_id, doc_id__in=doc_ids)
    rows = on_file.order_by("pk").values_list("doc_id", "url", "etag", "sha256")
    return {(doc_id, url): Filed(etag, sha256) for doc_id, url, etag, sha256 in rows}


def _item(
    document: Document,
    chunk: Chunk,
    now: datetime,
    filed: Filed | None,
    overrides: Mapping[str, Override],
) -> WorkItem:
    if filed and document.expected_sha256 not in {"", filed.sha256}:
        filed = None  # the manifest announces another version
    return WorkItem(
        document=document.pk,
        chunk=chunk.pk,
        batch=chunk.batch.reference,
        site_id=document.site.site_id,
        doc_id=document.doc_id,
        url=document.url,
        terms=None if document.spooled else portal_terms(chunk.site.portal),
        spooled=document.spooled,
        expected_sha256=document.expected_sha256,
        declared_type=document.document_type,
        filename=document.filename,
        schema_version=document.schema_version,
        site_name=document.site.name,
        protocol_number=document.site.study.protocol_number,
        protocol_version=document.site.study.protocol_version,
        activated_on=document.site.activated_on,
        overrides=overrides,
        size=document.size or 0,
        tries=document.fetch_tries,
        counted_tries=document.counted_tries,
        is_suspect=document.attempts > 0,  # whoever was let go in good order was not charged
        deadline=_deadline(document, now),
        filed=filed,
    )


def _deadline(document: Document, now: datetime) -> float | None:
    """In this process's monotonic seconds."""
    if document.failing_since is None:
        return None
    gone = (now - document.failing_since).total_seconds()
    return time.monotonic() + settings.INGEST_LIMITS.deadline_seconds - gone


def portal_terms(portal: Portal) -> PortalTerms:
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
    )
