"""The bytes of a document, given out: who may have them, under which name, and the entry of it."""

from contextlib import ExitStack
from datetime import timedelta
from pathlib import PurePath
from typing import IO

from django.utils import timezone

from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.models import Document
from ingestion.reading.results import SUFFIXES
from ingestion.rules.codes import CODES
from ingestion.storage.archive import get_archive
from sites.models import User
from sites.roles import OPERATORS

DEFAULT_MEDIA_TYPE = "application/octet-stream"
DOWNLOADED = "document.downloaded"
VIEWED = "document.viewed"
CONTINUATION_WINDOW = timedelta(hours=1)
REVIEW_PERMISSION = "ingestion.review_document"  # the permission of QA
# States whose bytes anybody who sees the document may have.
_OPEN = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
# Their bytes are not filed; the site that sent them may look at what was wrong with them.
_SENT_BACK = (*STATES_NEEDING_SITE, DocumentState.WITHDRAWN)


def is_file_open(document: Document) -> bool:
    """Whether everybody who sees the document may have its bytes."""
    return bool(document.sha256) and document.state in _OPEN


def can_view_file(person: User, document: Document) -> bool:
    """Whether they may look at its pages and have its bytes. They see the document itself.

    What is in review or in quarantine is for QA alone (decision 16).
    """
    if is_file_open(document):
        return True
    if not document.sha256 or not DocumentState(document.state).is_settled:
        return False
    if document.state in _SENT_BACK and not is_quarantined(document):
        return True
    return person.is_staff and person.has_perm(REVIEW_PERMISSION)


def is_quarantined(document: Document) -> bool:
    """A finding says that its bytes may do harm. Filed by decision of QA, they are open."""
    return any(CODES[finding.code].quarantine for finding in document.findings.all())


def open_original(document: Document, person: User | None = None) -> IO[bytes]:
    """For this person, or for anybody. Raises FileNotFoundError, also for what is withheld."""
    if not (can_view_file(person, document) if person else is_file_open(document)):
        raise FileNotFoundError(f"the bytes of {document.subject} are withheld")
    return get_archive().open(document.sha256)


def get_filename(document: Document) -> str:
    return document.filename or f"{document.doc_id}.pdf"


def get_media_type(filename: str) -> str:
    """By its name, of the kinds that we take in; everything else is bytes without a meaning."""
    # A plain string: some WSGI servers take no subclass of it in a header.
    return str(SUFFIXES.get(PurePath(filename.lower()).suffix, DEFAULT_MEDIA_TYPE))


def record_view(document: Document, *, by: Actor) -> None:
    """Enter that its pages are looked at, before the first of them leaves; once an hour (R07)."""
    with ledger():
        row = Document.lock(document.pk)
        began = timezone.now() - CONTINUATION_WINDOW
        if not queries.has_entry(row.subject, VIEWED, by.name, since=began):
            row.record(VIEWED, by=by)


def must_give_reason(person: User) -> bool:
    """Whether the person says why they want an original: operations and administrators.

    Their work is the installation, and not what documents say (R23).
    """
    is_ours = person.is_superuser or OPERATORS in person.roles
    return person.is_staff and not person.is_auditor and is_ours


def record_download(
    document: Document,
    content: IO[bytes],
    *,
    by: Actor,
    part: str = "",
    goes_on: bool = False,
    reason: str = "",
) -> None:
    """Enter that `content` is given out, before the first byte of it leaves: no entry, no bytes.

    `reason`: what the person wants it for, where they had to say so (`must_give_reason`).

    A `part` that `goes_on` behind the beginning belongs to the download of these bytes by the same
    that began within the last hour, where there is one: that is on record already. Closes the
    content when it fails.
    """
    with ExitStack() as refused:
        refused.callback(content.close)
        with ledger():
            _enter_download(document, by, part, goes_on, reason)
        refused.pop_all()


def _enter_download(document: Document, by: Actor, part: str, goes_on: bool, reason: str) -> None:
    row = Document.lock(document.pk)
    began = timezone.now() - CONTINUATION_WINDOW
    if goes_on and queries.has_entry(row.subject, DOWNLOADED, by.name, since=began):
        return
    detail = {"range": part} | ({"reason": reason} if reason else {})
    row.record(DOWNLOADED, by=by, detail=detail)
