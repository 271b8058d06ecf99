"""Provides the file of a document: permission, name, and the ledger entry.

Of a part of a file, only its own pages are provided. Of a file with active content, and of one that
was redacted, only QA gets the original. All others who may see the document get pictures of its
pages, also after QA filed it.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from pathlib import PurePath
from typing import IO, Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.file_parts import FilePart
from ingestion.core.renditions import RenditionKind
from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.documents import part_files, redactions, renditions
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
# States in which everyone who can see the document may have its file.
_OPEN = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
QUARANTINE_CODES = tuple(code for code, entry in CODES.items() if entry.quarantine)
LOCK_CODES = tuple(code for code, entry in CODES.items() if entry.locks_original)
# Findings for which only QA may see even the pages, until QA has decided.
_WITHHOLDING_CODES = tuple(code for code in QUARANTINE_CODES if code not in LOCK_CODES)
# States in which the original is not filed. Its site may view it, to see what was wrong.
_UNFILED = (*STATES_NEEDING_SITE, DocumentState.WITHDRAWN)


class FileAccess(IntEnum):
    """Says what a person may have of the file of a document."""

    NOTHING = 0
    INERT = 1  #: Pictures of the pages, in which redacted places are black.
    ORIGINAL = 2


class RenditionMissing(FileNotFoundError):
    """The person may have a rendition only, and it has not been made yet."""


def find_access(document: Document, person: User | None = None) -> FileAccess:
    """Return what this person or, without one, everyone who can see the document may have of it."""
    if not document.sha256 or not DocumentState(document.state).is_settled:
        return FileAccess.NOTHING
    if person and is_reviewer(person):
        return FileAccess.ORIGINAL
    if document.state == DocumentState.DIVIDED:
        parts = (find_access(part, person) for part in _find_decided_parts(document))
        access = min(parts, default=FileAccess.ORIGINAL)
    else:
        access = _find_access_by_state(document, person)
    if is_redacted(document) and not redactions.find_rendition(document):
        return FileAccess.NOTHING
    if not is_original_locked(document) and not is_redacted(document):
        return access
    # A container has the originals of its entries in it, and no pages to show instead.
    return FileAccess.NOTHING if _is_container(document) else min(access, FileAccess.INERT)


def is_redacted(document: Document) -> bool:
    """Return whether the original, or an entry of it, has places that only QA may see."""
    row = document.duplicate_of or document
    entries = row.parts.all() if row.state == DocumentState.DIVIDED else ()
    return redactions.is_redacted(document) or any(
        is_redacted(entry) for entry in entries if entry.is_entry
    )


def find_pictures(document: Document) -> DocumentRendition | None:
    """Return the rendition that those people get who may have pictures only, or None."""
    if is_redacted(document):
        return redactions.find_rendition(document)
    return renditions.find_inert_rendition(document)


def find_shown_rendition(document: Document, person: User) -> DocumentRendition | None:
    """Return the rendition whose pages this person views, or None for those of the original.

    Page images of an original do no harm, so only a redacted rendition takes their place.
    """
    if is_reviewer(person) or not is_redacted(document):
        return None
    return redactions.find_rendition(document)


def _find_access_by_state(document: Document, person: User | None) -> FileAccess:
    """Return what a person who is not of QA may have of a document that is not divided."""
    if document.state in _OPEN:
        return FileAccess.ORIGINAL
    if person is None or any(each.code in _WITHHOLDING_CODES for each in document.findings.all()):
        return FileAccess.NOTHING
    if document.state in _UNFILED:
        return FileAccess.ORIGINAL
    # The site sees what QA has to decide about. The pictures can do no harm.
    is_own = document.state == DocumentState.IN_REVIEW and not person.is_staff
    return FileAccess.INERT if is_own and _find_own_lock(document) else FileAccess.NOTHING


def find_lock(document: Document) -> Finding | None:
    """Return the finding for which only QA may have the original, or None.

    It counts for ever, also when QA files the document. Of a part, its file counts; of a file that
    was on file already, its twin; and of a divided file, each part and each entry, even one that
    was set aside.
    """
    file = renditions.get_file_row(document)
    return _find_lock_within(document) or (_find_own_lock(file) if file != document else None)


def is_original_locked(document: Document) -> bool:
    """Return whether only QA may have the original, because of active content in it."""
    return find_lock(document) is not None


def _find_lock_within(document: Document) -> Finding | None:
    """Return the lock of a document, of its twin, or of the documents in it."""
    if found := _find_own_lock(document):
        return found
    if document.state == DocumentState.DIVIDED:
        return next(filter(None, map(_find_lock_within, document.parts.all())), None)
    return _find_lock_within(document.duplicate_of) if document.duplicate_of else None


def _is_container(document: Document) -> bool:
    row = document.duplicate_of or document
    return row.state == DocumentState.DIVIDED and any(part.is_entry for part in row.parts.all())


def _find_own_lock(document: Document) -> Finding | None:
    locks = [each for each in document.findings.all() if each.code in LOCK_CODES]
    return locks[-1] if locks else None


def is_reviewer(person: User) -> bool:
    """Return whether a person is of QA, who may have every original."""
    return person.is_staff and person.has_perm(REVIEW_PERMISSION)


def is_file_open(document: Document) -> bool:
    """Return whether everyone who can see the document may have its file, or pictures of it.

    A divided file is open if all documents in it are.
    """
    return find_access(document) is not FileAccess.NOTHING


def _find_decided_parts(document: Document) -> list[Document]:
    """Return the documents in a divided file, without what QA set aside as no document."""
    parts = document.parts.all()
    return [part for part in parts if not (part.is_entry and part.state == DocumentState.WITHDRAWN)]


def can_view_file(person: User, document: Document) -> bool:
    """Return whether a person who can see the document may view pictures of its pages.

    `find_access` says whether they may have the original, too. A document in review or in
    quarantine is for QA only, except that its site sees the pictures of one that is in quarantine
    for its active content. A divided file may be viewed by those who may view all documents in it.
    """
    return find_access(document, person) is not FileAccess.NOTHING


def is_quarantined(document: Document) -> bool:
    """Return whether a finding says that the file may do harm.

    If QA files it all the same, it is open, except that its original may stay locked
    (`is_original_locked`).
    """
    return any(CODES[finding.code].quarantine for finding in document.findings.all())


def filter_viewable(
    documents: "QuerySet[Document]", person: User | None = None
) -> "QuerySet[Document]":
    """Return those of the documents whose pages this person or, without one, everyone may view.

    It is `can_view_file` or `is_file_open` as a condition of the database. A part that was divided
    itself counts as one that may not be viewed, except for QA.
    """
    if person and is_reviewer(person):
        settled = [state for state in DocumentState if state.is_settled]
        return documents.filter(state__in=settled).exclude(sha256="")
    locked: Any = Exists(Finding.objects.filter(document=OuterRef("pk"), code__in=LOCK_CODES))
    states: Any = Q(state__in=_OPEN)
    if person:
        own = Finding.objects.filter(document=OuterRef("pk"))
        unfiled = Q(state__in=_UNFILED)
        if not person.is_staff:
            unfiled |= Q(state=DocumentState.IN_REVIEW) & Q(locked)
        states |= unfiled & ~Exists(own.filter(code__in=_WITHHOLDING_CODES))
    viewable = states & ~Q(sha256="")
    withheld_parts = Document.objects.filter(part_of=OuterRef("pk")).exclude(
        pk__in=Document.objects.filter(viewable).filter(part_of=OuterRef("part_of")).values("pk")
    )
    has_lock = Q(findings__code__in=LOCK_CODES) | Q(duplicate_of__findings__code__in=LOCK_CODES)
    locked_entries = Document.objects.filter(has_lock, part_of=OuterRef("pk")).exclude(entry=0)
    divided = Q(state=DocumentState.DIVIDED) & ~Exists(withheld_parts) & ~Exists(locked_entries)
    return documents.filter(viewable | divided).exclude(redactions.make_withheld_condition())


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """The file that a person may download of a document: the original, or a rendition of it."""

    document: Document
    rendition: DocumentRendition | None = None  # None: the original

    @property
    def part(self) -> FilePart | None:
        """Return the pages that are cut out of the file, or None if it is offered whole."""
        own = self.rendition and (
            self.rendition.document_id == self.document.pk
            or self.rendition.kind == RenditionKind.REDACTED  # of exactly these pages
        )
        if own:
            return None
        return self.document.file_part

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the archived file, of which a part may be offered."""
        return self.rendition.sha256 if self.rendition else self.document.sha256

    @property
    def filename(self) -> str:
        """Return the name under which it is downloaded. It says if it is a rendition."""
        if self.rendition is None:
            return get_filename(self.document)
        name = get_filename(self.document) if self.part else self.rendition.document.filename
        stem = PurePath(name or self.document.doc_id).stem
        kind = "redacted" if self.rendition.kind == RenditionKind.REDACTED else "rendition"
        return f"{stem}, {kind}{SUFFIXES_BY_TYPE.get(self.rendition.media_type, '')}"

    @property
    def media_type(self) -> str:
        """Return the media type."""
        return self.rendition.media_type if self.rendition else get_media_type(self.filename)

    def open(self) -> IO[bytes]:
        """Open the file. Raises FileNotFoundError if it is missing."""
        if self.part is None:
            return get_archive().open(self.sha256)
        rendition = self.rendition.sha256 if self.rendition else ""
        return part_files.open_part(self.document, self.part, rendition)


def choose_file(
    document: Document, person: User | None = None, rendition: DocumentRendition | None = None
) -> OfferedFile:
    """Return what this person or, without one, everyone may download of a document.

    `rendition` is the one that was asked for. Raises FileNotFoundError if the person may not have
    it, and RenditionMissing if they may have an inert rendition that has not been made yet.
    """
    access = find_access(document, person)
    pictures = find_pictures(document) if access is FileAccess.INERT else None
    if access is FileAccess.INERT and rendition is None:
        rendition = pictures
        if rendition is None:
            raise RenditionMissing(f"{document.subject} has no inert rendition yet")
    is_allowed = access is FileAccess.ORIGINAL or (
        pictures is not None and rendition is not None and rendition.pk == pictures.pk
    )
    if not is_allowed:
        raise FileNotFoundError(f"the bytes of {document.subject} are withheld")
    return OfferedFile(document, rendition)


def find_named_rendition(document: Document, **names: Any) -> DocumentRendition | None:
    """Return the rendition with these columns that people may ask for, or None.

    These are the renditions of the document, and the pictures of its pages, which may belong to
    another row. `choose_file` decides whether a person may have it.
    """
    pictures = [find_pictures(document), renditions.find_inert_rendition(document)]
    for each in [*document.renditions.all(), *filter(None, pictures)]:
        if all(getattr(each, name) == value for name, value in names.items()):
            return each
    return None


def open_original(document: Document, person: User | None = None) -> IO[bytes]:
    """Open the original, or the pages of a part, for this person or, without one, for everyone.

    Raises FileNotFoundError if it is missing, or if the person may not have it.
    """
    if find_access(document, person) is not FileAccess.ORIGINAL:
        raise FileNotFoundError(f"the original of {document.subject} is withheld")
    return OfferedFile(document).open()


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


def get_rendition_filename(rendition: DocumentRendition) -> str:
    """Return the name under which a rendition is downloaded. It says that it is a rendition."""
    return OfferedFile(rendition.document, rendition).filename


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
