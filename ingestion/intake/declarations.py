"""What a document was sent as, corrected after the checks: its type, and the person it belongs to.

A site does this while QA has not decided, and QA as a decision. The change is an entry with its
reason, and the checks run again on the same bytes in the usual way: the bytes are copied from the
archive into the spool, as if they had just been uploaded.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
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
from ingestion.documents import batches, transitions
from ingestion.intake import corrections
from ingestion.intake.submission import create_requeue_chunk
from ingestion.models import Action, Document
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.archive import get_archive
from ingestion.storage.spool import SpooledFile

REDECLARED = "document.redeclared"
_OPEN = (DocumentState.IN_REVIEW, DocumentState.REJECTED)


class RedeclarationRefused(Exception):
    """Nothing was changed; the message tells people why."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A type's slug, and the person where the type is per person."""

    document_type: str
    person: str = ""

    @classmethod
    def of(cls, document: Document) -> "Declaration":
        """As the document stands. The person is in the doc_id of an upload (decision 12)."""
        kind = TYPES.get(document.document_type)
        declared, _, slug = document.doc_id.partition(".")
        is_said = kind is not None and kind.per_person and declared == kind.slug
        person = slug.replace("-", " ").title() if is_said else ""
        return cls(document.document_type, person)

    @property
    def doc_id(self) -> str:
        """The doc_id of an upload (decision 12): the type, and the person if it is per person."""
        kind = TYPES.get(self.document_type)
        if kind is None or not kind.per_person:
            return self.document_type
        name = unicodedata.normalize("NFC", self.person.casefold())
        person = re.sub(r"[^\w]+", "-", name).strip("-")
        return f"{self.document_type}.{person}"[:120]

    @property
    def lacks_person(self) -> bool:
        kind = TYPES.get(self.document_type)
        return bool(kind and kind.per_person and self.doc_id == f"{self.document_type}.")


def can_declare_person(document: Document) -> bool:
    """Return whether a person can be declared: a portal's document keeps its doc_id."""
    return not document.url


def explain_refusal(document: Document) -> str:
    """Return why its site cannot change its type or person, in a sentence; "" where it can."""
    if why := explain_closed_to_site(document):
        return why
    return corrections.explain_refusal(document) if document.state == DocumentState.REJECTED else ""


def explain_closed_to_site(document: Document) -> str:
    """Return the same without a query for what was sent in its place, for lists of documents.

    `qa_decisions` may be prefetched.
    """
    if document.state not in _OPEN:
        status = gettext(DocumentState(document.state).word).lower()
        sentence = gettext(
            "You cannot change the type or the person of this document because it is {status}."
        )
        return sentence.format(status=status)
    if any(each.action != Action.REDECLARE for each in document.qa_decisions.all()):
        return gettext("QA has decided about this document. Upload a new file to replace it.")
    return explain_recheck_refusal(document)


def explain_recheck_refusal(document: Document) -> str:
    """Return why the checks cannot run again on its bytes, in a sentence; "" where they can."""
    if not document.sha256:
        return gettext("The checks cannot run again because this document has no file.")
    if document.code == "MALWARE_SUSPECTED":
        return gettext("The checks do not run again because the virus scanner found a threat.")
    return ""


def find_fault(document: Document, declared: Declaration) -> tuple[str, str]:
    """Return the field that is wrong in what is declared now, and a sentence; or ("", "")."""
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
    """A site corrects the type or the person of its document. Raises NotRedeclared."""
    _refuse(document, declared)
    with respool_file(document) as kept, ledger():
        row = Document.lock(document.pk)
        _refuse(row, declared)
        requeue_redeclared(row, declared, kept, by=by, detail={"reason": reason.strip()})


def _refuse(document: Document, declared: Declaration) -> None:
    if why := explain_refusal(document) or find_fault(document, declared)[1]:
        raise RedeclarationRefused(why)


@contextmanager
def respool_file(document: Document) -> Iterator[SpooledFile]:
    """Copy the document's bytes into the spool; they are dropped again if the block raises.

    Raises NotRedeclared when they cannot be read, or are not those that were received.
    """
    if why := explain_recheck_refusal(document):
        raise RedeclarationRefused(why)
    try:
        with get_archive().open(document.sha256) as content:
            kept = spool.store_upload(File(content).chunks())
    except (OSError, StorageUnavailable) as error:
        message = gettext(
            "The file cannot be read at the moment. Nothing was changed. Try again later."
        )
        raise RedeclarationRefused(message) from error
    if kept.sha256 != document.sha256:
        spool.drop_upload(kept.key)
        message = gettext(
            "The stored file is damaged. Nothing was changed. Tell your administrator."
        )
        raise RedeclarationRefused(message)
    try:
        yield kept
    except BaseException:
        spool.drop_upload(kept.key)
        raise


def requeue_redeclared(  # noqa: PLR0913 - what its entry says; callers name each
    row: Document,
    declared: Declaration,
    kept: SpooledFile,
    *,
    by: Actor,
    detail: Mapping[str, Any],
    reason_code: str = "",
    at: datetime | None = None,
) -> None:
    """Put the locked row back into the queue under its new type and person. Inside ledger().

    `kept`: its bytes, from `bytes_again`. What its site asked of QA is answered by it.
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
        spooled=kept.key,
        expected_sha256=kept.sha256,
        chunk_id=create_requeue_chunk(row.batch, row.site).pk,
        attempts=0,
        fetch_tries=0,
        counted_tries=0,
        failing_since=None,
        settled_at=None,
    )
    row.review_requests.open().update(answered_at=timezone.now())
    batches.restart_polls({row.batch_id})
    transaction.on_commit(wakeup.wake_worker)


def get_doc_id(document: Document, declared: Declaration) -> str:
    """Return the doc_id that this document has as what is declared now."""
    return declared.doc_id if can_declare_person(document) else document.doc_id
