"""Provides the original of a document: permission, name, and the ledger entry.

Of a part of a file, only its own pages are provided.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import PurePath
from typing import IO, Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.documents import part_files
from ingestion.models import Document, DocumentRendition, Finding
from ingestion.reading.results import SUFFIXES, MediaType
from ingestion.rules.codes import CODES
from ingestion.storage.archive import get_archive
from sites.models import User
from sites.roles import OPERATORS

DEFAULT_MEDIA_TYPE = "application/octet-stream"
DOWNLOADED = "document.downloaded"
VIEWED = "document.viewed"
CONTINUATION_WINDOW = timedelta(hours=1)  # in which one entry stands for repeated views or parts
REVIEW_PERMISSION = "ingestion.review_document"  # the permission of QA
# The first suffix of each media type.
SUFFIXES_BY_TYPE: Mapping[str, str] = {str(SUFFIXES[each]): each for each in reversed([*SUFFIXES])}
# States in which everyone who can see the document may have its original.
_OPEN = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
QUARANTINE_CODES = tuple(code for code, entry in CODES.items() if entry.quarantine)
# States in which the original is not filed. Its site may view it, to see what was wrong.
_UNFILED = (*STATES_NEEDING_SITE, DocumentState.WITHDRAWN)


def is_file_open(document: Document) -> bool:
    """Return whether everyone who can see the document may have its original.

    A divided file is open if all documents in it are.
    """
    if document.state == DocumentState.DIVIDED:
        return all(map(is_file_open, _find_decided_parts(document)))
    return bool(document.sha256) and document.state in _OPEN


def _find_decided_parts(document: Document) -> list[Document]:
    """Return the documents in a divided file, without what QA set aside as no document."""
    parts = document.parts.all()
    return [part for part in parts if not (part.is_entry and part.state == DocumentState.WITHDRAWN)]


def can_view_file(person: User, document: Document) -> bool:
    """Return whether a person who can see the document may view its pages and download it.

    A document in review or in quarantine is for QA only. A divided file may be viewed
    by those who may view all documents in it.
    """
    if is_file_open(document):
        return True
    if not document.sha256 or not DocumentState(document.state).is_settled:
        return False
    if document.state == DocumentState.DIVIDED and all(
        can_view_file(person, part) for part in _find_decided_parts(document)
    ):
        return True
    if document.state in _UNFILED and not is_quarantined(document):
        return True
    return person.is_staff and person.has_perm(REVIEW_PERMISSION)


def is_quarantined(document: Document) -> bool:
    """Return whether a finding says that the file may do harm.

    If QA files it all the same, it is open.
    """
    return any(CODES[finding.code].quarantine for finding in document.findings.all())


def filter_viewable(
    documents: "QuerySet[Document]", person: User | None = None
) -> "QuerySet[Document]":
    """Return those of the documents whose pages this person or, without one, everyone may view.

    It is `can_view_file` or `is_file_open` as a condition of the database. A part that was divided
    itself counts as one that may not be viewed, except for QA.
    """
    if person and person.is_staff and person.has_perm(REVIEW_PERMISSION):
        settled = [state for state in DocumentState if state.is_settled]
        return documents.filter(state__in=settled).exclude(sha256="")
    states: Any = Q(state__in=_OPEN)
    if person:
        quarantined = Finding.objects.filter(document=OuterRef("pk"), code__in=QUARANTINE_CODES)
        states |= Q(state__in=_UNFILED) & ~Exists(quarantined)
    viewable = states & ~Q(sha256="")
    withheld_parts = Document.objects.filter(part_of=OuterRef("pk")).exclude(
        pk__in=Document.objects.filter(viewable).filter(part_of=OuterRef("part_of")).values("pk")
    )
    return documents.filter(viewable | Q(state=DocumentState.DIVIDED) & ~Exists(withheld_parts))


def open_original(document: Document, person: User | None = None) -> IO[bytes]:
    """Open the original, or the pages of a part, for this person or, without one, for everyone.

    Raises FileNotFoundError if it is missing, or if the person may not have it.
    """
    if not (can_view_file(person, document) if person else is_file_open(document)):
        raise FileNotFoundError(f"the bytes of {document.subject} are withheld")
    part = document.file_part
    return part_files.open_part(document, part) if part else get_archive().open(document.sha256)


def get_filename(document: Document) -> str:
    """Return the name under which the original or a part of it is downloaded."""
    name = document.filename or f"{document.file_doc_id}.pdf"
    part = document.file_part
    if part is None:
        return name
    path = PurePath(name)
    pages = f"page {part.first}" if part.first == part.last else f"pages {part.first}-{part.last}"
    kind = SUFFIXES.get(path.suffix.lower(), MediaType.PDF)
    # The pages of these files are cut out as another type (`part_files`, `reading.cut_file`).
    suffix = ".pdf" if kind.is_office else ".tiff" if kind is MediaType.HEIC else path.suffix
    return f"{path.stem}, {pages}{suffix}"


def open_rendition(rendition: DocumentRendition, person: User | None = None) -> IO[bytes]:
    """Open a rendition of a document for this person or, without one, for everyone.

    Raises FileNotFoundError if it is missing, or if the person may not have it.
    """
    document = rendition.document
    if not (can_view_file(person, document) if person else is_file_open(document)):
        raise FileNotFoundError(f"the bytes of {rendition.document.subject} are withheld")
    return get_archive().open(rendition.sha256)


def get_rendition_filename(rendition: DocumentRendition) -> str:
    """Return the name under which a rendition is downloaded. It says that it is a rendition."""
    stem = PurePath(rendition.document.filename or rendition.document.doc_id).stem
    suffix = SUFFIXES_BY_TYPE.get(rendition.media_type, "")
    return f"{stem}, rendition{suffix}"


def get_media_type(filename: str) -> str:
    """Return the media type for a file name, or the one for unknown bytes."""
    # The type of a header has to be `str` itself, because some WSGI servers refuse subclasses.
    return str(SUFFIXES.get(PurePath(filename.lower()).suffix, DEFAULT_MEDIA_TYPE))


def record_view(document: Document, *, by: Actor) -> None:
    """Record that a person views the pages, before the first page is sent; once an hour (R07)."""
    with ledger():
        row = Document.lock(document.pk)
        began = timezone.now() - CONTINUATION_WINDOW
        if not queries.has_entry(row.subject, VIEWED, by.name, since=began):
            row.record(VIEWED, by=by)


def must_give_reason(person: User) -> bool:
    """Return whether the person has to give a reason for downloading an original.

    This applies to operations and administrators, whose work is the installation and not the
    content of documents (R23).
    """
    is_ours = person.is_superuser or OPERATORS in person.roles
    return person.is_staff and not person.is_auditor and is_ours


def record_download(  # noqa: PLR0913 - callers name each argument
    document: Document,
    content: IO[bytes],
    *,
    by: Actor,
    part: str = "",
    is_continuation: bool = False,
    reason: str = "",
    rendition: DocumentRendition | None = None,
) -> None:
    """Record the download of an original, before its first byte is sent.

    `part` is the requested range of bytes. A continuation that follows a download by the same actor
    within CONTINUATION_WINDOW is not recorded again. `reason` is the person's reason, if they had
    to give one (`must_give_reason`). `rendition` is what is downloaded in the place of the
    original. If recording fails, `content` is closed and nothing is sent.
    """
    with ExitStack() as on_failure:
        on_failure.callback(content.close)
        with ledger():
            row = Document.lock(document.pk)
            began = timezone.now() - CONTINUATION_WINDOW
            is_recorded = is_continuation and queries.has_entry(
                row.subject, DOWNLOADED, by.name, since=began
            )
            if not is_recorded:
                detail = {"range": part} | ({"reason": reason} if reason else {})
                if rendition:
                    detail["rendition"] = rendition.sha256
                row.record(DOWNLOADED, by=by, detail=detail)
        on_failure.pop_all()
