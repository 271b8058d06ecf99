"""Carries out and records decisions of QA about documents.

A decision applies to the version of the document that the reviewer saw, so that it never overwrites
the decision of another reviewer. The decision's row, the ledger entry and
the signature are written in one transaction. `ingestion.documents.transitions` changes the state.
"""

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.electronic_signatures import ElectronicSignature
from audit.ledger.log import ledger
from ingestion.core.errors import StorageUnavailable
from ingestion.core.file_parts import Division, PageUse
from ingestion.core.renditions import RenderedFile
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.dispatch.filed_documents import FiledDocuments
from ingestion.documents import division, redactions, renditions, transitions
from ingestion.documents.division import DivisionRefused
from ingestion.documents.redactions import Redaction
from ingestion.intake import admission, declarations, registration
from ingestion.intake.declarations import Declaration
from ingestion.models import Action, Decision, Document, ReviewAssignment
from ingestion.review import signature_payload
from ingestion.review.decision_rules import (
    FILING_ACTIONS,
    OVERRIDE_PERMISSION,
    RULES,
    is_note_for_site,
    is_submitter,
    list_permitted_actions,
    must_be_signed,
)
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from sites.models import Site, User

MAX_TEXT_LENGTH = 2_000  # characters of a reason, or of a note to the site

_ALREADY_ON_FILE = gettext_lazy(
    "The same file is already on file for this site. Confirm the rejection or return the document."
)
_NOT_IN_ARCHIVE = gettext_lazy(
    "The file of this document is not in the archive. Contact your administrator."
)
_NOT_RENDERED = gettext_lazy(
    "The redacted copy could not be made, because of an error in SiteLedger. Nothing was changed. "
    "Try again. If it fails again, contact your administrator."
)

logger = logging.getLogger(__name__)


class DecisionRefused(Exception):
    """The decision was not made. The message is a sentence for the user."""


class DecisionConflict(DecisionRefused):
    """The document has changed since the reviewer opened it.

    `decision` is the decision that another reviewer made first, or None if the checks moved the
    document.
    """

    def __init__(self, decision: Decision | None) -> None:
        super().__init__(_("This document has changed since you opened it."))
        self.decision = decision


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInput:
    """Describes a decision as the reviewer entered it."""

    action: Action
    reason_code: str = ""
    reason: str = ""
    note: str = ""
    other: Document | None = None  # SUPERSEDE: the newer version
    site: Site | None = None  # REHOME: the site that the document belongs to
    declared: Declaration | None = None  # REDECLARE: the correct type and person
    division: Division | None = None  # DIVIDE: the documents in the file, and its other pages
    redaction: Redaction | None = None  # REDACT: the places to blacken


def get_version(document: Document) -> str:
    """Return a text that changes with every decision and with every change of state."""
    last = document.qa_decisions.order_by("pk").last()
    settled = document.settled_at.isoformat() if document.settled_at else ""
    return f"{document.state}/{settled}/{last.pk if last else 0}"


def find_successors(document: Document) -> list[Document]:
    """Return the documents that may supersede this one, the newest first.

    They are on file, of the same site and type, and were registered later.
    """
    same = Document.objects.on_file().filter(
        site=document.site, document_type=document.document_type, pk__gt=document.pk
    )
    return list(same.order_by("-pk"))


def decide(
    document: Document,
    given: DecisionInput,
    *,
    expected_version: str,
    user: User,
    by: ElectronicSignature,
) -> Decision:
    """Carry out and record a decision. `by.meaning` is empty if the decision is not signed.

    Raises DecisionRefused if the user may not make this decision or the document does not permit
    it, and DecisionConflict if `get_version(document)` is no longer `expected_version`.
    """
    if given.action is Action.REDECLARE:
        return _redeclare(document, given, expected_version, user, by)
    if given.action is Action.REDACT:
        return _redact(document, given, expected_version, user, by)
    other = given.other
    if given.action is Action.REHOME:
        # The document is registered at the right site first, under an idempotency key. If this
        # process dies before the commit below, the next attempt finds that registration.
        _check(document, given, user, by)
        other = _register_at_site(document, given.site, user, expected_version)
    try:
        with ledger():
            row = Document.lock(document.pk)
            _check_version(row, expected_version)
            _check(row, given, user, by)
            decision = _create_decision(row, given, other, user, by)
            if given.action is Action.DIVIDE and given.division:
                _divide(row, given.division, decision, by)
            else:
                _move_and_record(row, decision, by)
            row.review_requests.open().update(answered_at=by.at)
            ReviewAssignment.objects.filter(document=row).delete()
    except IntegrityError as error:
        # A constraint allows the same file once per site.
        raise DecisionRefused(_ALREADY_ON_FILE) from error
    return decision


def _redeclare(
    document: Document,
    given: DecisionInput,
    expected_version: str,
    user: User,
    by: ElectronicSignature,
) -> Decision:
    """Correct the type or the person and run the checks again.

    The document stays assigned to its reviewer.
    """
    declared = given.declared or Declaration("")
    try:
        with declarations.respool_file(document) as spooled_file, ledger():
            row = Document.lock(document.pk)
            _check_version(row, expected_version)
            _check(row, given, user, by)
            if problem := declarations.find_fault(row, declared)[1]:
                raise DecisionRefused(problem)
            decision = _create_decision(row, given, None, user, by)
            declarations.requeue_redeclared(
                row,
                declared,
                spooled_file,
                by=by.signer,
                detail=_signed_detail(row, decision, by),
                reason_code=decision.reason_code,
                at=by.at,
            )
    except declarations.RedeclarationRefused as refused:
        raise DecisionRefused(str(refused)) from refused
    return decision


def _redact(
    document: Document,
    given: DecisionInput,
    expected_version: str,
    user: User,
    by: ElectronicSignature,
) -> Decision:
    """Render the pages with the places black, and record the redaction.

    The rendition is in the archive before the decision is recorded, so that nobody is shown less
    than the rendition, or more. The document keeps its state, its reviewer and its open requests.
    """
    _check_version(document, expected_version)
    _check(document, given, user, by)
    redaction = given.redaction or Redaction({})
    try:
        with redactions.render(document, redaction) as rendered:
            renditions.store_rendition(rendered)
            with ledger():
                row = Document.lock(document.pk)
                _check_version(row, expected_version)
                _check(row, given, user, by)
                decision = _create_decision(row, given, None, user, by, rendered)
                renditions.record_rendition(row, rendered, by=by.signer)
                redactions.remove_words(row, redaction)
                _move_and_record(row, decision, by)
    except (redactions.RedactionFailed, StorageUnavailable) as failure:
        logger.exception("%s could not be redacted", document.subject)
        raise DecisionRefused(str(_NOT_RENDERED)) from failure
    return decision


def _check_version(row: Document, expected_version: str) -> None:
    """Raise DecisionConflict if the document is not the version that the reviewer saw."""
    if get_version(row) != expected_version:
        raise DecisionConflict(row.qa_decisions.order_by("pk").last())


def _check(row: Document, given: DecisionInput, user: User, by: ElectronicSignature) -> None:
    """Raise DecisionRefused if the user or the document does not permit this decision."""
    action = given.action
    if is_submitter(user, row):
        raise DecisionRefused(
            _("You submitted this document. Another reviewer must decide about it.")
        )
    if action not in list_permitted_actions(user, row):
        status = _(DocumentState(row.state).word)
        raise DecisionRefused(
            _(
                "You cannot make this decision about this document. "
                "The status of the document is: %(status)s."
            )
            % {"status": status}
        )
    _check_texts(row, given)
    if action is Action.DIVIDE:
        _check_division(row, given.division)
    if action is Action.REDACT:
        _check_redaction(row, given.redaction, user)
    if must_be_signed(action) and not by.meaning:
        raise DecisionRefused(_("You must sign this decision."))
    if action in FILING_ACTIONS:
        _check_filing(row)
    if action is Action.SUPERSEDE and given.other not in find_successors(row):
        raise DecisionRefused(
            _("Select a newer document of the same site and type that is on file.")
        )


def _check_division(row: Document, given: Division | None) -> None:
    """Raise DecisionRefused unless each page is in one document, or excluded with its reason."""
    if given is None:
        raise DecisionRefused(_("Enter the documents of the file."))
    if any(page.use is PageUse.SET_ASIDE and not page.reason.strip() for page in given.excluded):
        raise DecisionRefused(_("Enter a reason for each page that you set aside."))
    try:
        division.check_division(given, row.page_numbers)
    except DivisionRefused as refused:
        raise DecisionRefused(str(refused)) from refused


def _check_redaction(row: Document, given: Redaction | None, user: User) -> None:
    """Raise DecisionRefused unless there is something to blacken, on the pages of the document.

    A person who shows again what was black before needs the second permission, as for filing a
    document from quarantine.
    """
    if given is None or not given.area_count:
        raise DecisionRefused(_("Mark at least one place to redact."))
    if not set(given.pages) <= set(row.page_numbers):
        raise DecisionRefused(_("You marked a place on a page that the document does not have."))
    before = redactions.list_decisions(row)
    uncovers = before and not given.covers(redactions.read_redaction(before[-1]))
    if uncovers and not user.has_perm(OVERRIDE_PERMISSION):
        raise DecisionRefused(
            _("Places that were redacted before must stay redacted. A QA lead can change them.")
        )


def _check_texts(row: Document, given: DecisionInput) -> None:
    """Raise DecisionRefused unless exactly one text is given: a note for the site, or a reason."""
    if is_note_for_site(given.action, row.state):
        if not given.note.strip() or given.reason:
            raise DecisionRefused(_("Enter a note to the site, and no reason."))
    elif not given.reason.strip() or given.note:
        raise DecisionRefused(_("Enter a reason, and no note to the site."))


def _check_filing(row: Document) -> None:
    """Raise DecisionRefused if the file is not in the archive, or on file already."""
    if not get_archive().has(row.sha256):
        raise DecisionRefused(_NOT_IN_ARCHIVE)
    if FiledDocuments.find([row], {row.sha256}).find_twin(row):
        raise DecisionRefused(_ALREADY_ON_FILE)


def _register_at_site(
    document: Document, site: Site | None, user: User, expected_version: str
) -> Document:
    """Register the file as a new document of the site that it belongs to."""
    if site is None or site == document.site:
        raise DecisionRefused(_("Select the site that the document belongs to."))
    _check_version(document, expected_version)
    key = f"rehome:{document.pk}:{site.pk}:{expected_version}"
    try:
        with get_archive().open(document.sha256) as content:
            return registration.register_at_other_site(
                document, site, File(content), user=user, key=key
            )
    except FileNotFoundError as error:
        raise DecisionRefused(_NOT_IN_ARCHIVE) from error
    except admission.AtCapacity as error:
        raise DecisionRefused(
            _("The system is processing too many documents. Try again in a few minutes.")
        ) from error


def _create_decision(
    row: Document,
    given: DecisionInput,
    other: Document | None,
    user: User,
    by: ElectronicSignature,
    rendered: RenderedFile | None = None,
) -> Decision:
    target = RULES[given.action].target or DocumentState(row.state)
    decision: Decision = Decision.objects.create(
        document=row,
        action=given.action,
        from_state=row.state,
        to_state=target,
        judged=max((each.attempt for each in row.current_findings), default=0),
        reason_code=given.reason_code,
        reason=given.reason.strip(),
        note=given.note.strip(),
        other=other,
        document_type=row.document_type,
        doc_id=row.doc_id,
        new_document_type=given.declared.document_type if given.declared else "",
        new_doc_id=declarations.get_doc_id(row, given.declared) if given.declared else "",
        division=given.division.as_json() if given.division else None,
        redaction={"pages": given.redaction.as_json(), "rendition": rendered.sha256}
        if given.redaction and rendered
        else None,
        sha256=row.sha256,
        decided_by=user,
        printed_name=by.printed_name,
        role=by.signer.role,
        meaning=by.meaning,
        decided_at=by.at,
    )
    return decision


def _signed_detail(row: Document, decision: Decision, by: ElectronicSignature) -> dict[str, Any]:
    """Return the detail of the decision's entry: the facts, the signature and the row's key."""
    return {
        **by.sign(signature_payload.build_facts(decision), sha256=row.sha256),
        signature_payload.DECISION_KEY: decision.pk,
    }


def _divide(row: Document, divided: Division, decision: Decision, by: ElectronicSignature) -> None:
    """Divide the file, and queue the documents in it."""
    division.divide(
        row,
        divided,
        page_count=row.pages or 0,
        by=by.signer,
        decided_by=division.DECIDED_BY_PERSON,
        detail=_signed_detail(row, decision, by),
        reason_code=decision.reason_code,
        at=by.at,
    )
    transaction.on_commit(partial(wakeup.wake_worker, row.batch.reference))


def _move_and_record(row: Document, decision: Decision, by: ElectronicSignature) -> None:
    """Change the state and record the entry. Without a change of state, record the entry only."""
    rule = RULES[Action(decision.action)]
    entry: dict[str, Any] = {
        "detail": _signed_detail(row, decision, by),
        "by": by.signer,
        "reason_code": decision.reason_code,
    }
    if rule.target is None or rule.target == row.state:
        row.record(rule.event, **entry, occurred_at=by.at)
        return
    findings = [RuleFinding("QA_REJECTED", facts={"note": decision.note})] if decision.note else []
    transitions.move_document(
        row,
        rule.target,
        findings=findings,
        primary=findings[0] if findings else None,
        event=rule.event,
        at=by.at,
        **entry,
    )
