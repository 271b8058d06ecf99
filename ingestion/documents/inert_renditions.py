"""Makes inert renditions: pictures of the pages of files whose originals stay under lock.

A worker that finds active content in a file writes a message of the outbox, in the transaction of
its decision. A background job delivers the messages: it renders the pages in a parser process and
stores the rendition. A failure is ours. It is logged and tried again, and it changes neither the
decision about the file nor what people may see of it. A document of an earlier release gets its
message when its page is opened for the first time.
"""

import asyncio
import logging
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from audit import background_jobs, outbox
from audit.background_jobs import AuditJob
from audit.files import durable
from audit.ledger.log import ledger
from audit.outbox import (
    Delivery,
    DeliveryFailed,
    DeliveryPolicy,
    MessageKind,
    NothingToDeliver,
    OutboxMessage,
)
from ingestion.core.errors import ReadingFault
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.documents import renditions
from ingestion.models import Document, DocumentRendition
from ingestion.reading.results import MediaType
from ingestion.storage import archive

JOB_KIND = "inert_renditions"
MAX_NAMED_PAGES = 5
MAX_NAMED_ERRORS = 10
UNDISPLAYED = "; pages not displayed: "  # after the tool of a rendition that lacks pages

logger = logging.getLogger(__name__)


def request_rendition(document: Document) -> None:
    """Have the inert rendition of the document's file made, unless it exists or is being made."""
    file = renditions.get_file_row(document)
    if renditions.find_rendition(file, RenditionKind.INERT):
        return
    open_messages = OutboxMessage.objects.filter(kind=KIND.name, key=file.subject)
    if open_messages.exclude(state=OutboxMessage.State.DEAD).exists():
        return
    outbox.post(KIND.name, {"document": file.pk}, key=file.subject)
    background_jobs.schedule_job(JOB_KIND, {})


def queue_due_renditions() -> None:
    """Start a job for renditions that failed, when their wait is over."""
    if OutboxMessage.objects.filter(kind=KIND.name).exclude(state=OutboxMessage.State.DEAD):
        background_jobs.schedule_job(JOB_KIND, {})


def run_rendition_job(job: AuditJob) -> Mapping[str, Any]:
    """Make the renditions that are due, one after the other. It is a background job."""
    result = outbox.deliver_due(KIND.name)
    return {"made": result.delivered, "errors": result.errors[:MAX_NAMED_ERRORS]}


def render_as_pictures(
    document: Document, kind: RenditionKind, target: Path, **options: Any
) -> RenderedFile:
    """Write pictures of the pages of a document to `target`, and return them as a rendition.

    `options` are those of `page_pictures.render_pictures`. The pages are those that were read: of
    the original, or of its rendition as PDF. Raises DeliveryFailed, and FileNotFoundError if the
    archive lacks the file.
    """
    from ingestion.reading.page_pictures import (  # noqa: PLC0415 - loads libraries
        PicturesFailed,
        render_pictures,
    )

    # The archive may be a bucket, so its bytes are copied to a file of this machine.
    with tempfile.NamedTemporaryFile(prefix="siteledger-original-") as local:
        archive.copy_to(renditions.get_read_sha256(document), Path(local.name))
        try:
            rendered = asyncio.run(
                render_pictures(Path(local.name), target, settings.READING_LIMITS, **options)
            )
        except ReadingFault as fault:
            raise DeliveryFailed(f"the reader failed: {fault}") from fault
    if isinstance(rendered, PicturesFailed):
        raise DeliveryFailed(f"{document.subject} was not rendered: {rendered.reason}")
    tool = rendered.tool
    if rendered.undisplayed:
        numbers = list(map(str, rendered.undisplayed[:MAX_NAMED_PAGES]))
        numbers += ["..."] * (len(rendered.undisplayed) > MAX_NAMED_PAGES)
        tool += UNDISPLAYED + ", ".join(numbers)
    return RenderedFile(kind, target, *durable.hash_file(target), str(MediaType.PDF), tool)


def find_undisplayed(rendition: DocumentRendition) -> str:
    """Return the numbers of the pages that a rendition cannot show, such as "3, 4", or ""."""
    return rendition.tool.partition(UNDISPLAYED)[2]


def _deliver(delivery: Delivery) -> None:
    """Make the rendition of one message, and store it."""
    document = Document.objects.filter(pk=delivery.payload["document"]).first()
    if document is None or renditions.find_rendition(document, RenditionKind.INERT):
        raise NothingToDeliver
    with tempfile.TemporaryDirectory(prefix="siteledger-inert-") as folder:
        rendered = render_as_pictures(document, RenditionKind.INERT, Path(folder) / "inert.pdf")
        renditions.store_rendition(rendered)
    with ledger():
        row = Document.lock(document.pk)
        renditions.record_rendition(row, rendered)
        delivery.complete()


KIND = MessageKind(
    "inert_rendition",
    _deliver,
    DeliveryPolicy(initial_wait=timedelta(minutes=1), max_wait=timedelta(hours=6), max_attempts=10),
    # Longer than `page_pictures.MAX_SECONDS`, after which a file is given up for now.
    lease=timedelta(minutes=45),
    is_delivered_each_minute=False,  # `run_rendition_job` does
)
