"""Certified copies: a document on file, unchanged, with its trail and a signed certificate (R29).

21 CFR 11.10(b); ICH E6(R3), "certified copy". The signature is an entry, `document.certified`. The
package is made from that entry each time that somebody fetches it, and is the same each time:
nothing is kept of it, and the original is only ever read.
"""

import logging
from typing import IO

from audit.electronic_signatures import Signature
from audit.ledger import queries
from audit.ledger.chain import BrokenChain
from audit.ledger.log import ledger, written
from audit.ledger.queries import Recorded
from ingestion.certified_copies import package
from ingestion.core.states import DocumentState
from ingestion.documents import downloads, transitions
from ingestion.documents.transitions import By
from ingestion.models import Document
from ingestion.storage import archive_verification
from ingestion.storage.archive import archive
from ingestion.storage.archive_verification import Fault

CERTIFIED = "document.certified"
MEANING = "I certify that this is an exact copy of the original."  # 21 CFR 11.50(a)(3)
_OURS = "system:certified_copy"

logger = logging.getLogger(__name__)


class NotCertified(Exception):
    """There is no certified copy; the message tells people why."""


class NotOnFile(NotCertified):
    """It is not archived."""


class NotIntact(NotCertified):
    """What we keep is not what was filed: our fault, which is on record by now."""


_FAULTS = {
    Fault.MISSING: "The original is not in the archive, where it was filed.",
    Fault.CHANGED: "What lies in the archive is not the original: its SHA-256 is another.",
    Fault.UNREADABLE: "The original cannot be read from the archive.",
}
_WHAT_NOW = "No copy is given out until the people who run this system have looked into it."


def refusal(document: Document) -> str:
    """Why there is no certified copy of it, in sentences; "" where there is one."""
    if document.state == DocumentState.ARCHIVED:
        return ""
    if document.state == DocumentState.DEDUPED:
        return "These bytes were on file already: ask for a copy of the document that has them."
    word = DocumentState(document.state).word
    return f"Only what is on file can be certified, and this document is not: {word}."


def certify(document: Document, *, reason: str, by: Signature) -> None:
    """Sign, once the archive's bytes are found to be those that were filed. Raises NotCertified."""
    if why := refusal(document):
        raise NotOnFile(why)
    _examine(document)
    with ledger():
        row = transitions.locked(document)
        if why := refusal(row):
            raise NotOnFile(why)
        signed = {"reason": reason, "document": _facts(row)}
        detail = by.over(signed, sha256=row.sha256)
        transitions.enter_next(row, CERTIFIED, detail=detail, by=By(by.actor, by.role), at=by.at)


def signed_by(document: Document, actor: str) -> list[Recorded]:
    """Those that this person signed, newest first. Without those whose detail was taken out."""
    found = queries.timeline(document.subject)
    return [
        entry
        for entry in reversed(found)
        if entry.event == CERTIFIED and entry.actor == actor and entry.detail
    ]


def write(target: IO[bytes], document: Document, certified: Recorded) -> None:
    """The package of a copy that was signed: a zip file. Raises NotCertified."""
    if why := refusal(document):
        raise NotOnFile(why)
    try:
        with archive().open(document.sha256) as original:
            package.write(target, original, certified)
    except (OSError, package.NotTheSame):
        _examine(document)
        raise  # the archive is in order: it is something else
    except BrokenChain as broken:
        logger.critical("the ledger does not hold: %s", broken)
        found = f"Entry {broken.found.seq} of its audit trail is not what was entered."
        raise NotIntact(f"{found} {_WHAT_NOW}") from broken


def record_download(document: Document, certified: Recorded, *, by: By) -> None:
    """On record before the first byte leaves: no entry, no bytes."""
    with ledger():
        row = transitions.locked(document)
        detail = {"certified_by_entry": certified.seq}
        transitions.enter_next(row, downloads.DOWNLOADED, detail=detail, by=by)


def _examine(document: Document) -> None:
    fault = archive_verification.examine(document.sha256, asked_by=_OURS)
    if fault:
        logger.critical("%s cannot be certified: its file is %s", document.subject, fault)
        raise NotIntact(f"{_FAULTS[fault]} {_WHAT_NOW}")


def _facts(document: Document) -> dict[str, str | int]:
    """What is known of it now: names of sites are changed later, and a certificate is not."""
    site = document.site
    return {
        "file": downloads.name_of(document),
        "size": document.size or 0,
        "pages": document.pages or 0,
        "type": document.type_name,
        "packet": document.packet.reference,
        "site_name": f"{site.name}, {site.country}",
        "study": site.study.protocol_number,
        "received": written(document.received_at),
        "filed": written(document.settled_at) if document.settled_at else "",
    }
