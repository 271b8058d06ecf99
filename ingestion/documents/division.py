"""Divides a file into the documents that it holds, and accounts for each of its pages.

The row of the file stays the record of the file, in the state DIVIDED. Each document in it becomes
a row of its own, which is queued and checked as if it had been sent alone. The state of the file,
the rows of its parts, the excluded pages and all ledger entries are written in one transaction, so
a file is either divided as a whole or not at all.

A digitally signed file is never divided: no part of it would have the signature.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext, ngettext

from audit.ledger.actors import Actor
from ingestion.core.file_parts import (
    AccountFault,
    Division,
    DocumentPart,
    FilePart,
    PageExclusion,
    PageUse,
)
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.documents.chunks import create_requeue_chunk
from ingestion.documents.transitions import EVENTS, WORKER_ACTOR, move_document
from ingestion.models import Document, ExcludedPage
from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from ingestion.search import writing

MIGRATION: Final = ("ingestion", "0033_post_divide_files")
DIVISION_KEY = "page_account"  # in the detail of the entry of a divided file
DECIDED_BY_RULES, DECIDED_BY_PERSON = "rules", "person"
SIGNED_FLAG = "digital-signature"  # of `Extraction.flags`
MAX_PERSON_CHARACTERS = 80  # of `Document.person`

_APPLIED: set[tuple[str, str]] = set()


class DivisionRefused(Exception):
    """The file was not divided. The message is a sentence for people."""


def is_enabled() -> bool:
    """Return whether files may be divided: whether the upgrade to this release is finished.

    Until then, processes of the release before may be running, which know no parts of files.
    """
    return is_applied(MIGRATION)


def is_applied(migration: tuple[str, str]) -> bool:
    """Return whether a migration was applied. One that was stays so, and is not looked up again."""
    if migration not in _APPLIED:
        _APPLIED.update(MigrationRecorder(connection).applied_migrations())
    return migration in _APPLIED


def explain_division_refusal(document: Document) -> str:
    """Return why a person cannot divide this file, as a sentence for people, or ""."""
    if not is_enabled():
        return gettext("Files can be divided only when the upgrade of SiteLedger is finished.")
    numbers = document.page_numbers
    if len(numbers) == 1:
        return gettext("The file has only one page.")
    if downloads.is_quarantined(document):
        return gettext("The file is in quarantine.")
    last = document.extractions.last()
    if last is None or not numbers:
        return gettext("The file has not been read yet.")
    if SIGNED_FLAG in last.flags:
        return gettext("The file is digitally signed. Its parts would lose the signature.")
    return ""


def describe_cut(cut: ProposedCut) -> dict[str, Any] | None:
    """Return a proposed cut as `Extraction.cut` stores it, or None if the file is one document."""
    if cut.is_one_document:
        return None
    proposed = propose_division(cut).as_json()
    for described, part in zip(proposed["parts"], cut.parts, strict=True):
        described |= {
            "type": part.type,
            "probability": round(part.probability, 4),
            "evidence": part.evidence,
        }
        if part.separator:
            described["is_declared"] = True
    return {**proposed, "is_certain": cut.is_certain, "reasons": list(cut.reasons)}


def propose_division(cut: ProposedCut) -> Division:
    """Return the division that a cut proposes.

    What a separator sheet announces is declared. The recognised types are not: the checks of each
    part have to recognise them again.
    """
    uses = [*((page, PageUse.SEPARATOR) for page in cut.separators)]
    uses += [(page, PageUse.BLANK) for page in cut.blanks]
    return Division(
        tuple(map(_declare_part, cut.parts)),
        tuple(PageExclusion(FilePart(page, page), use) for page, use in sorted(uses)),
    )


def _declare_part(part: PagePart) -> DocumentPart:
    pages = FilePart(part.first, part.last, part.region)
    if part.separator is None or part.separator.type not in TYPES:
        return DocumentPart(pages)
    return DocumentPart(pages, part.separator.type, part.separator.person[:MAX_PERSON_CHARACTERS])


def check_division(division: Division, pages: Iterable[int]) -> None:
    """Raise DivisionRefused unless every one of the pages is accounted for exactly once."""
    wanted = list(pages)
    if faults := division.find_faults(wanted):
        raise DivisionRefused(_describe_faults(faults))
    if not division.parts:
        raise DivisionRefused(gettext("At least one page has to belong to a document."))
    if len(division.parts) == 1 and not division.excluded:
        raise DivisionRefused(gettext("The file is one document. There is nothing to divide."))


def divide(
    document: Document,
    division: Division,
    *,
    page_count: int,
    by: Actor = WORKER_ACTOR,
    decided_by: str = DECIDED_BY_RULES,
    detail: Mapping[str, Any] | None = None,
    **entry: Any,
) -> list[Document]:
    """Move a file to DIVIDED, create its parts and queue them. Returns the parts.

    `document` may itself be a part; the pages are those of the file all the same. `page_count` is
    the number of pages of `document`. `detail` and `entry` are passed on to `move_document`.

    Call it inside `ledger()`, with the row locked, and wake a worker after the commit. Raises
    DivisionRefused if a page is not accounted for, and the errors of `move_document`.
    """
    part = document.file_part
    check_division(division, part.numbers if part else range(1, page_count + 1))
    parts = create_parts(document, division)
    account = describe_account(division, parts, decided_by)
    move_document(
        document,
        DocumentState.DIVIDED,
        by=by,
        detail={DIVISION_KEY: account, **(detail or {})},
        pages=page_count,
        **entry,
    )
    # The parts are read and indexed on their own.
    excluded = [each.page.first for each in division.excluded if not each.page.region]
    writing.delete_pages([document.pk], keep=excluded)
    for row in parts:
        record_part(document, row, by=by)
    return parts


def describe_account(
    division: Division, parts: Iterable[Document], decided_by: str
) -> dict[str, Any]:
    """Return the account of a file's pages as its entry records it."""
    recorded = division.as_json()
    for described, row in zip(recorded["parts"], parts, strict=True):
        described |= {"document": row.subject, "doc_id": row.doc_id}
    return {**recorded, "decided_by": decided_by}


def record_part(document: Document, row: Document, *, by: Actor) -> None:
    """Record the first entry of a part, which names the file and its pages."""
    pages = {"pages": [row.first_page, row.last_page]}
    region = {"region": row.region} if row.region else {}
    row.record_at_revision(
        EVENTS[DocumentState.RECEIVED],
        by=by,
        to_state=DocumentState.RECEIVED,
        detail={"part_of": document.subject, **pages, **region},
    )


def create_parts(document: Document, division: Division) -> list[Document]:
    """Insert the rows of the parts, in chunks of their own, and those of the excluded pages."""
    ExcludedPage.objects.bulk_create(
        ExcludedPage(
            document=document,
            page=each.page.first,
            region=each.page.region_text,
            use=each.use,
            reason=each.reason,
        )
        for each in division.excluded
    )
    parts = []
    for number, each in enumerate(division.parts):
        if number % settings.CHUNK_SIZE == 0:
            chunk = create_requeue_chunk(document.batch, document.site)
        parts.append(
            Document(
                batch_id=document.batch_id,
                packet_id=document.packet_id,
                chunk=chunk,
                site=document.site,
                doc_id=document.file_doc_id + each.pages.suffix,
                document_type=each.document_type,
                filename=document.filename,
                schema_version=document.schema_version,
                declared_language=document.declared_language,
                expected_sha256=document.sha256,
                sha256=document.sha256,
                size=document.size,
                part_of=document,
                correlation_id=document.correlation_id,
                first_page=each.pages.first,
                last_page=each.pages.last,
                region=each.pages.region_text,
                person=each.person,
            )
        )
    return Document.objects.bulk_create(parts)


def is_finished(document: Document) -> bool:
    """Return whether each page of a file belongs to a settled document or is excluded.

    That each page is accounted for is checked when a file is divided, so only the states of its
    parts can be open.
    """
    state = DocumentState(document.state)
    if state is not DocumentState.DIVIDED:
        return state.is_settled
    return all(is_finished(part) for part in document.parts.all())


def _describe_faults(faults: Iterable[AccountFault]) -> str:
    """Return sentences that name the pages which are missing or counted twice."""
    sentences = []
    missing = [str(each.page) for each in faults if each.is_missing]
    repeated = [str(each.page) for each in faults if not each.is_missing]
    if missing:
        sentence = ngettext(
            "Page {pages} belongs to no document and is not set aside.",
            "Pages {pages} belong to no document and are not set aside.",
            len(missing),
        )
        sentences.append(sentence.format(pages=", ".join(missing)))
    if repeated:
        sentence = ngettext(
            "Page {pages} belongs to more than one document, or is not in the file.",
            "Pages {pages} belong to more than one document, or are not in the file.",
            len(repeated),
        )
        sentences.append(sentence.format(pages=", ".join(repeated)))
    return " ".join(sentences)
