"""Records signed certifications of filed documents, and writes the packages of their copies (R29).

The rules are 21 CFR 11.10(b) and ICH E6(R3), "certified copy". The signature is a ledger entry,
`document.certified`. The package is made from that entry for each download and has the same bytes
each time. No package is stored, and the original is opened for reading only.
"""

import logging
from typing import IO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.electronic_signatures import ElectronicSignature
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.chain import BrokenChain
from audit.ledger.log import ledger, write_time
from audit.ledger.queries import Recorded
from ingestion.certified_copies import package
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.models import Document
from ingestion.storage import archive_verification
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import ArchiveFault
from sites.models import User

CERTIFIED = "document.certified"
# The meaning of the signature, 21 CFR 11.50(a)(3). It is signed, and therefore not translated.
MEANING = "I certify that this is an exact copy of the original."
_ACTOR = "system:certified_copy"

logger = logging.getLogger(__name__)


class CertificationRefused(Exception):
    """There is no certified copy. The message is a sentence for the user."""


class DocumentNotOnFile(CertificationRefused):
    """The document is not archived."""


class OriginalNotIntact(CertificationRefused):
    """The archive or the ledger differs from what was recorded. The finding is on record."""


_FAULT_TEXTS = {
    ArchiveFault.MISSING: gettext_lazy("The original is missing from the archive."),
    ArchiveFault.CHANGED: gettext_lazy(
        "The file in the archive is not the original because its SHA-256 checksum differs."
    ),
    ArchiveFault.UNREADABLE: gettext_lazy("The original cannot be read from the archive."),
}
_NEXT_STEP = gettext_lazy(
    "No copy is available until your administrator has investigated the problem."
)


def explain_certification_refusal(document: Document, person: User | None = None) -> str:
    """Return why this person cannot certify the document, in sentences for them, or "".

    Without a person, the original has to be one that everyone who sees the document may have. Of a
    file that was divided, the whole file is certified: it is the original that was sent.
    """
    if document.has_pages_of_a_file:
        return _("This document is a part of a file. You can certify the whole file: %(file)s.") % {
            "file": document.file_doc_id
        }
    is_withheld = downloads.find_access(document, person) is not downloads.FileAccess.ORIGINAL
    if is_withheld and (sentence := _explain_lock(document)):
        return sentence
    if document.state == DocumentState.DIVIDED and not downloads.is_file_open(document):
        return _("A document in this file is not settled, is in review, or is in quarantine.")
    if document.state in {DocumentState.ARCHIVED, DocumentState.DIVIDED}:
        return ""
    if document.state == DocumentState.DEDUPED:
        return _(
            "The same file was already on file. Request a copy of the document that it belongs to."
        )
    status = _(DocumentState(document.state).word)
    return _(
        "You can certify a document that is on file only. The status of this document is: "
        "%(status)s."
    ) % {"status": status}


def _explain_lock(document: Document) -> str:
    """Return why only QA may have the original, or ""."""
    if downloads.is_redacted(document):
        return _("The original has data of study participants. Ask QA for a certified copy.")
    if downloads.is_original_locked(document):
        return _("The original is under lock for its active content. Ask QA for a certified copy.")
    return ""


def certify(
    document: Document, *, reason: str, by: ElectronicSignature, person: User | None = None
) -> None:
    """Record a signed certification after comparing the archived file with its digest.

    `person` is the one who signs, and who may have an original that others may not have. Raises
    DocumentNotOnFile, or OriginalNotIntact if the file is missing or has changed.
    """
    if refusal := explain_certification_refusal(document, person):
        raise DocumentNotOnFile(refusal)
    _check_original(document)
    with ledger():
        row = Document.lock(document.pk)
        if refusal := explain_certification_refusal(row, person):
            raise DocumentNotOnFile(refusal)
        signed = {"reason": reason, "document": _describe(row)}
        detail = by.sign(signed, sha256=row.sha256)
        row.record(CERTIFIED, by=by.signer, detail=detail, occurred_at=by.at)


def find_certifications(document: Document, actor: str) -> list[Recorded]:
    """Return the certifications that this actor signed, newest first.

    Certifications with redacted detail are left out.
    """
    return [
        entry
        for entry in reversed(queries.list_entries(document.subject))
        if entry.event == CERTIFIED and entry.actor == actor and entry.detail
    ]


def write_package(
    target: IO[bytes], document: Document, certification: Recorded, person: User | None = None
) -> None:
    """Write the zip package of a signed certification to `target`.

    `person` is the one who receives it, as in `certify`. Raises DocumentNotOnFile, or
    OriginalNotIntact if the file or the document's entries differ from what was recorded. Raises
    OSError if the archive is in order but cannot be read just now.
    """
    if refusal := explain_certification_refusal(document, person):
        raise DocumentNotOnFile(refusal)
    try:
        with get_archive().open(document.sha256) as original:
            package.write_zip(target, original, certification)
    except (OSError, package.PackageMismatch):
        _check_original(document)
        raise  # The archive is in order, so the cause is another one.
    except BrokenChain as broken:
        logger.critical("The ledger's hash chain is broken: %s", broken)
        problem = _("Entry %(number)s of the document's audit trail has been changed.") % {
            "number": broken.found.seq
        }
        raise OriginalNotIntact(f"{problem} {_NEXT_STEP}") from broken


def record_package_download(document: Document, certification: Recorded, *, by: Actor) -> None:
    """Record that the package is downloaded. Call this before the first byte is sent."""
    with ledger():
        row = Document.lock(document.pk)
        detail = {"certified_by_entry": certification.seq}
        row.record(downloads.DOWNLOADED, by=by, detail=detail)


def _check_original(document: Document) -> None:
    """Raise OriginalNotIntact unless the archived file has the digest that was recorded."""
    fault = archive_verification.verify_stored_file(document.sha256, asked_by=_ACTOR)
    if fault:
        logger.critical("%s cannot be certified: its file is %s", document.subject, fault)
        raise OriginalNotIntact(f"{_FAULT_TEXTS[fault]} {_NEXT_STEP}")


def _describe(document: Document) -> dict[str, str | int]:
    """Return the facts that the certificate prints.

    They are stored in the entry because rows such as the site's name may change later.
    """
    site = document.site
    return {
        "file": downloads.get_filename(document),
        "size": document.size or 0,
        "pages": document.pages or 0,
        "type": document.type_name,
        "packet": document.packet.reference,
        "site_name": f"{site.name}, {site.country}",
        "study": site.study.protocol_number,
        "received": write_time(document.received_at),
        "filed": write_time(document.settled_at) if document.settled_at else "",
    }
