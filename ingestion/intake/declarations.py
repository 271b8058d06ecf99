"""Corrects what a document was declared as: its type, and the person that it belongs to.

A site does so until QA has decided, and QA does so as a decision. The change is recorded with its
reason. Then the checks run again on the same bytes, which are copied from the archive to the spool
as if they had just been uploaded.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.errors import StorageUnavailable
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.documents import transitions
from ingestion.documents.chunks import create_requeue_chunk
from ingestion.intake import corrections
from ingestion.models import MAX_DOC_ID_LENGTH, Action, Document
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.archive import get_archive
from ingestion.storage.spool import SpooledFile

REDECLARED = "document.redeclared"
_OPEN_STATES = (DocumentState.IN_REVIEW, DocumentState.REJECTED)


class RedeclarationRefused(Exception):
    """The declaration was not changed. The message is for people."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Describes what a document is declared as: the slug of its type, and the person if any."""

    document_type: str
    person: str = ""

    @classmethod
    def of(cls, document: Document) -> "Declaration":
        """Return the current declaration of a document."""
        return cls(document.document_type, document.declared_person)

    @property
    def doc_id(self) -> str:
        """Return the doc_id of an upload: the type, and the person if any."""
        kind = TYPES.get(self.document_type)
        if kind is None or not kind.per_person:
            return self.document_type
        name = unicodedata.normalize("NFC", self.person.casefold())
        person = re.sub(r"[^\w]+", "-", name).strip("-")
        return f"{self.document_type}.{person}"[:MAX_DOC_ID_LENGTH]

    @property
    def lacks_person(self) -> bool:
        """Return whether the type is per person, and the doc_id names nobody."""
        return lacks_person(self.document_type, self.doc_id)


def lacks_person(document_type: str, doc_id: str) -> bool:
    """Return whether the type is per person, and the doc_id of an upload names nobody."""
    kind = TYPES.get(document_type)
    return kind is not None and kind.per_person and doc_id == f"{document_type}."


def can_declare_person(document: Document) -> bool:
    """Return whether a person can be declared.

    A portal's document and a part of a file keep their doc_id.
    """
    return document.has_declared_doc_id


def explain_declaration_refusal(document: Document) -> str:
    """Return why the site cannot change type or person, as a sentence for people, or ""."""
    if refusal := explain_closed_to_site(document):
        return refusal
    return (
        corrections.explain_correction_refusal(document)
        if document.state == DocumentState.REJECTED
        else ""
    )


def explain_closed_to_site(document: Document) -> str:
    """Return the same as `explain_declaration_refusal`, without a query for newer documents.

    It is for lists of documents. `qa_decisions` may be prefetched.
    """
    if document.state not in _OPEN_STATES:
        status = gettext(DocumentState(document.state).word).lower()
        sentence = gettext(
            "You cannot change the type or the person of this document because it is {status}."
        )
        return sentence.format(status=status)
    if any(each.action != Action.REDECLARE for each in document.qa_decisions.all()):
        return gettext("QA has decided about this document. Upload a new file to replace it.")
    return explain_recheck_refusal(document)


def explain_recheck_refusal(document: Document) -> str:
    """Return why the file cannot be checked again, as a sentence for people, or ""."""
    if not document.sha256:
        return gettext("The checks cannot run again because this document has no file.")
    if document.code == "MALWARE_SUSPECTED":
        return gettext("The checks do not run again because the virus scanner found a threat.")
    return ""


def find_fault(document: Document, declared: Declaration) -> tuple[str, str]:
    """Return the invalid field of a new declaration and a sentence for people, or ("", "")."""
    kind = TYPES.get(declared.document_type)
    if kind is None:
        return "document_type", gettext("Select a document type.")
    if can_declare_person(document) and declared.lacks_person:
        sentence = gettext("Enter the name of the person whose {type} this is.")
        return "person", sentence.format(type=kind.name)
    before = (document.document_type, document.doc_id)
    if (declared.document_type, get_doc_id(document, declared)) == before:
        return "document_type", gettext("Change the type or the person. Neither has changed.")
    return "", ""


def correct_declaration(
    document: Document, declared: Declaration, reason: str, *, by: Actor
) -> None:
    """Change the type or the person of a site's document, and check it again.

    Raises RedeclarationRefused.
    """
    _check_redeclaration(document, declared)
    with respool_file(document) as spooled, ledger():
        row = Document.lock(document.pk)
        _check_redeclaration(row, declared)
        requeue_redeclared(row, declared, spooled, by=by, detail={"reason": reason.strip()})


def _check_redeclaration(document: Document, declared: Declaration) -> None:
    if refusal := explain_declaration_refusal(document) or find_fault(document, declared)[1]:
        raise RedeclarationRefused(refusal)


@contextmanager
def respool_file(document: Document) -> Iterator[SpooledFile]:
    """Copy the document's bytes from the archive to the spool. Removes them if the block raises.

    Raises RedeclarationRefused if they cannot be read, or differ from the received ones.
    """
    if refusal := explain_recheck_refusal(document):
        raise RedeclarationRefused(refusal)
    try:
        with get_archive().open(document.sha256) as content:
            spooled = spool.store_upload(File(content).chunks())
    except (OSError, StorageUnavailable) as error:
        message = gettext(
            "The file cannot be read at the moment. Nothing was changed. Try again later."
        )
        raise RedeclarationRefused(message) from error
    if spooled.sha256 != document.sha256:
        spool.drop_upload(spooled.key)
        message = gettext(
            "The stored file is damaged. Nothing was changed. Tell your administrator."
        )
        raise RedeclarationRefused(message)
    try:
        yield spooled
    except BaseException:
        spool.drop_upload(spooled.key)
        raise


def requeue_redeclared(  # noqa: PLR0913 - callers name each argument
    row: Document,
    declared: Declaration,
    spooled: SpooledFile,
    *,
    by: Actor,
    detail: Mapping[str, Any],
    reason_code: str = "",
    at: datetime | None = None,
) -> None:
    """Queue a document again with its new declaration, and close open review requests.

    Call it inside `ledger()`, with the row locked. `spooled` are its bytes from `respool_file`.
    """
    doc_id = get_doc_id(row, declared)
    changes = {
        "old_type": row.document_type,
        "old_name": row.doc_id,
        "new_type": declared.document_type,
        "new_name": doc_id,
    }
    transitions.move_document(
        row,
        DocumentState.RECEIVED,
        by=by,
        event=REDECLARED,
        detail={**changes, **detail},
        reason_code=reason_code,
        at=at,
        document_type=declared.document_type,
        doc_id=doc_id,
        is_redeclared=True,
        spooled=spooled.key,
        expected_sha256=spooled.sha256,
        chunk_id=create_requeue_chunk(row.batch, row.site).pk,
        attempts=0,
        fetch_tries=0,
        counted_tries=0,
        failing_since=None,
        settled_at=None,
    )
    row.review_requests.open().update(answered_at=timezone.now())
    transaction.on_commit(partial(wakeup.wake_worker, row.batch.reference))


def get_doc_id(document: Document, declared: Declaration) -> str:
    """Return the doc_id of the document after it is declared as this."""
    return declared.doc_id if can_declare_person(document) else document.doc_id
