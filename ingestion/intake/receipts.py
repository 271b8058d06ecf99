"""A packet's receipt: what was received, as a PDF that shows it by fingerprints.

Made from the rows each time, and the same while nothing has moved.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from django.conf import settings
from reportlab.lib.pagesizes import A4

from audit.files.pdf_layout import PdfDocument, heading, title
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.models import Document, Packet
from ingestion.rules.finding_texts import reason

DOWNLOADED = "packet.receipt_downloaded"
_CHECKS = {
    "Windows": "certutil -hashfile FILE SHA256",
    "macOS": "shasum -a 256 FILE",
    "Linux": "sha256sum FILE",
    "What it shows": "Where your file gives the SHA-256 of this receipt, it is the very file that "
    "we received: not a byte of it differs.",
}


def render_receipt(packet: Packet) -> bytes:
    """`packet` comes with its site, study, batch and who submitted it."""
    sheet = PdfDocument(
        A4,
        title=f"Receipt of {packet.reference}",
        author=f"SiteLedger {settings.SOFTWARE_VERSION}",
        footer=f"Receipt of {packet.reference}, site {packet.site.site_id}",
    )
    target = BytesIO()
    sheet.write(target, _story(sheet, packet))
    return target.getvalue()


def record_download(packet: Packet, *, by: Actor) -> None:
    """On record before the first byte leaves (R07)."""
    with ledger():
        record(
            DOWNLOADED,
            subject=packet.subject,
            by=by,
            site=packet.site.site_id,
            correlation_id=packet.batch.reference,
        )


def _story(sheet: PdfDocument, packet: Packet) -> Iterator[Any]:
    documents = list(packet.documents.select_related("duplicate_of", "corrects").order_by("pk"))
    yield title(f"Receipt of {packet.reference}")
    yield sheet.facts(_facts(packet, documents))
    for number, document in enumerate(documents, start=1):
        yield heading(f"{number}. {document.type_name}")
        yield sheet.facts(_document(document))
    yield heading("How to compare a file of yours")
    yield sheet.facts(_CHECKS)


def _facts(packet: Packet, documents: list[Document]) -> dict[str, str]:
    sender = packet.batch.submitted_by
    moments = [document.settled_at or document.received_at for document in documents]
    return {
        "Packet": packet.reference,
        "Site": str(packet.site),
        "Study": packet.site.study.protocol_number,
        "Received": _utc(packet.created_at),
        "Sent by": f"{sender} ({sender.get_username()})" if sender else packet.batch.submitted_as,
        "By way of": packet.batch.get_source_display(),
        "Documents": str(len(documents)),
        "As it stood": _utc(max(moments, default=packet.created_at)),
    }


def _document(document: Document) -> dict[str, str]:
    sha256 = document.sha256 or document.expected_sha256
    facts = {
        "File": downloads.get_filename(document),
        "Size": f"{document.size:,} bytes" if document.size is not None else "not received yet",
        "SHA-256": sha256 or "not received yet",
        "Received": _utc(document.received_at),
        "State": _state(document),
        "Correlation id": str(document.correlation_id),
    }
    if old := document.corrects:
        facts["Corrects"] = f"{downloads.get_filename(old)}, received {_utc(old.received_at)}"
    return facts


def _state(document: Document) -> str:
    said = DocumentState(document.state).word
    if document.code and document.state != DocumentState.DEDUPED:
        said += f": {reason(document.code)}"
    if (twin := document.duplicate_of) and document.state == DocumentState.DEDUPED:
        said += f", as {twin.doc_id}"
    return f"{said}, {_utc(document.settled_at)}" if document.settled_at else said


def _utc(moment: datetime) -> str:
    at = moment.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S} UTC"
