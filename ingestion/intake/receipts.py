"""Makes receipts of packets: PDFs that name each received file with its size and SHA-256.

A receipt is created from the rows when it is requested. It is the same until a document changes.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from reportlab.lib.pagesizes import A4

from audit.files.pdf_layout import PdfDocument, make_heading, make_title
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.models import Document, Packet
from ingestion.rules.finding_texts import get_short_text

DOWNLOADED = "packet.receipt_downloaded"
_COMMANDS = {
    "Windows": "certutil -hashfile FILE SHA256",
    "macOS": "shasum -a 256 FILE",
    "Linux": "sha256sum FILE",
}


def render_receipt(packet: Packet) -> bytes:
    """Return the receipt of a packet as PDF.

    Select the packet with its site, study, batch and submitter.
    """
    sheet = PdfDocument(
        A4,
        title=_title(packet),
        author=f"SiteLedger {settings.SOFTWARE_VERSION}",
        footer=_("Receipt of {packet}, site {site}").format(
            packet=packet.reference, site=packet.site.site_id
        ),
    )
    target = BytesIO()
    sheet.write(target, _list_parts(sheet, packet))
    return target.getvalue()


def record_receipt_download(packet: Packet, *, by: Actor) -> None:
    """Record the download of a receipt, before its first byte is sent (R07)."""
    with ledger():
        record(
            DOWNLOADED,
            subject=packet.subject,
            by=by,
            site=packet.site.site_id,
            logged={"packet": packet.reference, **packet.batch.log_facts()},
            **packet.batch.entry_facts(),
        )


def _list_parts(sheet: PdfDocument, packet: Packet) -> Iterator[Any]:
    """Yield the parts of the PDF from top to bottom."""
    documents = list(
        packet.documents.select_related("duplicate_of", "corrects", "part_of").order_by("pk")
    )
    yield make_title(_title(packet))
    yield sheet.facts(_packet_facts(packet, documents))
    for number, document in enumerate(documents, start=1):
        yield make_heading(f"{number}. {document.type_name}")
        yield sheet.facts(_document_facts(document))
    yield make_heading(_("How to compare your copy of a file"))
    result = _(
        "If the command shows the SHA-256 checksum of this receipt, your copy is identical with "
        "the file that we received."
    )
    yield sheet.facts({**_COMMANDS, _("Result"): result})


def _title(packet: Packet) -> str:
    return _("Receipt of {packet}").format(packet=packet.reference)


def _packet_facts(packet: Packet, documents: list[Document]) -> dict[str, str]:
    sender = packet.batch.submitted_by
    moments = [document.settled_at or document.received_at for document in documents]
    return {
        _("Packet"): packet.reference,
        _("Site"): str(packet.site),
        _("Study"): packet.site.study.protocol_number,
        _("Received"): _format_time(packet.created_at),
        _("Sent by"): f"{sender} ({sender.get_username()})"
        if sender
        else packet.batch.submitted_as,
        _("Sent through"): packet.batch.get_source_display(),
        _("Documents"): str(sum(document.state != DocumentState.DIVIDED for document in documents)),
        _("Status on"): _format_time(max(moments, default=packet.created_at)),
    }


def _document_facts(document: Document) -> dict[str, str]:
    sha256 = document.sha256 or document.expected_sha256
    facts = {
        _("File"): downloads.get_filename(document),
        _("Size"): _("{n} bytes").format(n=f"{document.size:,}")
        if document.size is not None
        else _("not received yet"),
        "SHA-256": sha256 or _("not received yet"),
        _("Received"): _format_time(document.received_at),
        _("Status"): _describe_status(document),
        _("Correlation ID"): str(document.correlation_id),
    }
    if document.is_part and (whole := document.part_of):
        facts[_("Part of")] = whole.filename or whole.doc_id
    if old := document.corrects:
        facts[_("Replaces")] = _("{file}, received {time}").format(
            file=downloads.get_filename(old), time=_format_time(old.received_at)
        )
    return facts


def _describe_status(document: Document) -> str:
    """Return the status of a document with its reason, for example "Rejected: Not signed"."""
    status = _(DocumentState(document.state).word)
    if document.code and document.state != DocumentState.DEDUPED:
        status += f": {get_short_text(document.code)}"
    if (original := document.duplicate_of) and document.state == DocumentState.DEDUPED:
        status = _("{status}, as {document}").format(status=status, document=original.doc_id)
    return f"{status}, {_format_time(document.settled_at)}" if document.settled_at else status


def _format_time(moment: datetime) -> str:
    at = moment.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S} UTC"
