"""Decides which pages of a document are indexed for the search, and indexes documents again.

Workers index what they read in the transaction that records it. Documents of earlier releases, and
documents that QA filed in spite of a quarantine, are indexed here: a text layer is read from the
archive again, and the words of scanned pages are those that were kept, so OCR does not run again.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from audit.outbox import Delivery, DeliveryPolicy, MessageKind
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.models import Document, ExcludedPage, Extraction, Finding, IndexedPage
from ingestion.reading.provenance import Provenance, describe_provenance
from ingestion.search import indexes, writing
from ingestion.search.writing import ReadPage

logger = logging.getLogger(__name__)

DOCUMENTS_PER_STEP = 50  # that are read together


def list_read_pages(read: Provenance) -> list[ReadPage]:
    """Return the pages of a reading as they are indexed."""
    pages = []
    for described in read.pages:
        number, width, height = (described[name] for name in ("number", "width", "height"))
        packed = read.page_words.get(number)  # type: ignore[call-overload] # numbers are int
        if packed is not None:
            pages.append(ReadPage(number, packed, width, height))  # type: ignore[arg-type]
    return pages


def select_searchable(document: Document, pages: Sequence[ReadPage]) -> list[ReadPage]:
    """Return those pages of a document that may be found by their words.

    Of a divided file, these are the pages that belong to no part of it. A document in quarantine
    has none until QA files it, and a repetition has none, as its twin on file is found.
    """
    state = DocumentState(document.state)
    if state is DocumentState.DIVIDED:
        excluded = set(document.excluded_pages.filter(region="").values_list("page", flat=True))
        return [page for page in pages if page.number in excluded]
    if state in {DocumentState.DEDUPED, DocumentState.CANCELLED} or not state.is_settled:
        return []
    if state is not DocumentState.ARCHIVED and downloads.is_quarantined(document):
        return []
    return list(pages)


def find_unindexed() -> "QuerySet[Document]":
    """Return documents that were read and have no page in the index, the newest first."""
    settled = [state for state in DocumentState if state.is_settled]
    hidden = (DocumentState.DEDUPED, DocumentState.CANCELLED)
    own = {"document": OuterRef("pk")}
    quarantined = Finding.objects.filter(**own, code__in=downloads.QUARANTINE_CODES)
    excluded = ExcludedPage.objects.filter(**own, region="")
    return (
        Document.objects.filter(Exists(Extraction.objects.filter(**own)), state__in=settled)
        .exclude(Exists(IndexedPage.objects.filter(**own)))
        .exclude(state__in=hidden)
        .exclude(~Q(state=DocumentState.ARCHIVED), Exists(quarantined))
        .exclude(~Exists(excluded), state=DocumentState.DIVIDED)
        .order_by("-pk")
    )


def index_documents(
    documents: Sequence[Document], *, progress: Callable[[int], object] = lambda _done: None
) -> int:
    """Read documents of the archive again, and index them. Returns how many were indexed.

    A document that is moved meanwhile is left to the worker that moves it, and a document whose
    file is missing or cannot be read any more is left out. Raises ReadingFault.
    """
    from ingestion.documents.kept_readings import read_kept  # noqa: PLC0415 - large libraries

    indexed = 0
    for at in range(0, len(documents), DOCUMENTS_PER_STEP):
        some = documents[at : at + DOCUMENTS_PER_STEP]
        readings = read_kept(some, whole_pages=True)
        for document in some:
            reading = readings.get(document.pk)
            if reading is None:
                logger.warning("%s could not be read, and is not indexed", document.subject)
                continue
            with transaction.atomic():
                row = Document.lock(document.pk)
                if row.revision != document.revision:
                    continue
                pages = list_read_pages(describe_provenance(reading))
                writing.replace_pages([(row, select_searchable(row, pages))])
                indexed += 1
        progress(min(at + DOCUMENTS_PER_STEP, len(documents)))
    return indexed


def _deliver(delivery: Delivery) -> None:
    documents = Document.objects.filter(pk=delivery.payload["document"])
    index_documents([row for row in documents if not row.indexed_pages.exists()])


KIND = MessageKind(
    writing.REBUILD_KIND,
    _deliver,
    DeliveryPolicy(initial_wait=timedelta(minutes=1), max_wait=timedelta(hours=6), max_attempts=12),
    lease=timedelta(minutes=10),
)


@register(Tags.database)
def check_trigrams(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Run the system check ingestion.W090: the extension pg_trgm of PostgreSQL is missing."""
    if not databases or connection.vendor != "postgresql":
        return []
    if "ingestion_indexedword" not in connection.introspection.table_names():
        return []  # the migrations have not run yet
    if indexes.has_trigrams():
        return []
    return [
        Warning(
            "The search forgives only one wrong letter in a word, because the index of trigrams is "
            "missing.",
            hint="Install the extension pg_trgm (PostgreSQL's contrib package), let a superuser or "
            "the owner of the database run CREATE EXTENSION pg_trgm, and then run manage.py "
            "index_pages with DATABASE_OWNER_URL.",
            id="ingestion.W090",
        )
    ]
