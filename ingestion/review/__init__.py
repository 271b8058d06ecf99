"""What sites ask of QA, and what QA decides: the one door. `filing` moves the states.

A decision is made on a version of the document: what somebody else has decided meanwhile is never
overwritten. Row, entry and signature are written in one transaction.
"""

from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError

from audit.electronic_signatures import Signature
from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.dispatch import worker_steps
from ingestion.documents import transitions
from ingestion.documents.transitions import By
from ingestion.intake import declarations, registration
from ingestion.intake.declarations import Declared
from ingestion.models import Action, Decision, Desk, Document, ReviewRequest
from ingestion.review import signature_payload
from ingestion.review.decision_rules import (
    FILES,
    RULES,
    is_own,
    must_be_signed,
    open_to,
    tells_site,
)
from ingestion.rules.findings import Finding as Seen
from ingestion.storage.archive import archive
from sites.models import Site, User

MOST_WORDS = 2_000  # characters of a request, or of a note to the site


class NotAsked(Exception):
    """A review cannot be asked for; the message tells people why."""


class NotDecided(Exception):
    """Nothing was decided; the message tells people why."""


class Overtaken(NotDecided):
    """Somebody else was first. `decision` is theirs; None when the machine moved it on."""

    def __init__(self, decision: Decision | None) -> None:
        super().__init__("This document has been decided since you opened it.")
        self.decision = decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What somebody decides, as they filled it in."""

    action: Action
    reason_code: str = ""
    reason: str = ""
    note: str = ""
    other: Document | None = None  # the newer version
    site: Site | None = None  # the right one
    declared: Declared | None = None  # the right type and person


def refusal(document: Document) -> str:
    """Why QA is not asked to look at it again, in a sentence; "" where it is."""
    if asked := next((each for each in document.review_requests.all() if each.is_open), None):
        at = asked.asked_at.astimezone(UTC)
        return f"Review already asked for on {at.day} {at:%b %Y}."
    if document.state != DocumentState.REJECTED:
        word = DocumentState(document.state).word.lower()
        return f"Only a rejected document is looked at again, and this one is not: {word}."
    if document.code == "DOWNLOAD_FAILED":
        return "There is no file yet that QA could look at. Try to fetch it again, or upload it."
    return ""


def ask(document: Document, words: str, *, person: User) -> ReviewRequest:
    """A site asks QA to look again at what was rejected: it goes to review. Raises NotAsked."""
    with ledger():
        row = transitions.locked(document)
        if why := refusal(row):
            raise NotAsked(why)
        request: ReviewRequest = row.review_requests.create(asked_by=person, words=words.strip())
        transitions.move(
            row,
            DocumentState.IN_REVIEW,
            by=By(person.actor, person.role),
            event="document.review_asked",
            detail={"words": request.words},
            code=row.code,  # the findings stay those of the rejection
        )
    return request


def version(document: Document) -> str:
    """What a decision is made on: another one, or a move of the machine, makes it another."""
    last = document.qa_decisions.order_by("pk").last()
    settled = document.settled_at.isoformat() if document.settled_at else ""
    return f"{document.state}/{settled}/{last.pk if last else 0}"


def decide(
    document: Document, ruling: Ruling, *, made_on: str, person: User, by: Signature
) -> Decision:
    """Decide, on the version `made_on`. `by.meaning` is empty where nothing is signed.

    Raises NotDecided, and Overtaken when the document is no longer that version.
    """
    if ruling.action is Action.REDECLARE:
        return _redeclare(document, ruling, made_on, person, by)
    other = ruling.other
    if ruling.action is Action.REHOME:
        # Registered at the right site first, under a key: if we die behind it, whoever decides
        # again finds it there, and it is registered once.
        _refuse(document, ruling, person, by)
        other = _register_at(ruling.site, document, person, made_on)
    try:
        with ledger():
            row = transitions.locked(document)
            if version(row) != made_on:
                raise Overtaken(row.qa_decisions.order_by("pk").last())
            _refuse(row, ruling, person, by)
            decision = _keep(row, ruling, other, person, by)
            _enter(row, decision, by)
            row.review_requests.open().update(answered_at=by.at)
            Desk.objects.filter(document=row).delete()
    except IntegrityError as error:
        raise NotDecided(_ON_FILE) from error
    return decision


def _redeclare(
    document: Document, ruling: Ruling, made_on: str, person: User, by: Signature
) -> Decision:
    """Correct its type or person, and have the checks run again. It stays with its reviewer."""
    declared = ruling.declared or Declared("")
    try:
        with declarations.bytes_again(document) as kept, ledger():
            row = transitions.locked(document)
            if version(row) != made_on:
                raise Overtaken(row.qa_decisions.order_by("pk").last())
            _refuse(row, ruling, person, by)
            if wrong := declarations.fault(row, declared)[1]:
                raise NotDecided(wrong)
            decision = _keep(row, ruling, None, person, by)
            declarations.redeclare(
                row,
                declared,
                kept,
                by=By(by.actor, by.role),
                detail=_signed_detail(row, decision, by),
                reason_code=decision.reason_code,
                at=by.at,
            )
    except declarations.NotRedeclared as refused:
        raise NotDecided(str(refused)) from refused
    return decision


_ON_FILE = "The same file is on file for this site already. Confirm the rejection or return it."

_NO_BYTES = "Its bytes are not in the archive. Tell the people who run this system."


def _refuse(row: Document, ruling: Ruling, person: User, by: Signature) -> None:
    """Raises NotDecided for what this person may not do, or what cannot be."""
    action = ruling.action
    if is_own(person, row):
        raise NotDecided("You sent this document in. Somebody else has to decide about it.")
    if action not in open_to(person, row):
        word = DocumentState(row.state).word.lower()
        raise NotDecided(f"This cannot be decided, by you, of a document that is {word}.")
    told, kept = ("note", "reason") if tells_site(action, row.state) else ("reason", "note")
    if not getattr(ruling, told).strip() or getattr(ruling, kept):
        raise NotDecided(f"A {told} is needed, and no {kept}.")
    if must_be_signed(action) and not by.meaning:
        raise NotDecided("This decision has to be signed.")
    if action in FILES:
        _refuse_filing(row)
    if action is Action.SUPERSEDE and not _can_supersede(ruling.other, row):
        raise NotDecided("Choose a newer document of the same site and type that is on file.")


def _refuse_filing(row: Document) -> None:
    if not archive().has(row.sha256):
        raise NotDecided(_NO_BYTES)
    if worker_steps.OnFile.of([row], {row.sha256}).twin(row):
        raise NotDecided(_ON_FILE)


def successors(document: Document) -> list[Document]:
    """What may supersede it: the newest first."""
    same = Document.objects.on_file().filter(
        site=document.site, document_type=document.document_type, pk__gt=document.pk
    )
    return list(same.order_by("-pk"))


def _can_supersede(other: Document | None, row: Document) -> bool:
    return other is not None and other in successors(row)


def _register_at(site: Site | None, document: Document, person: User, made_on: str) -> Document:
    if site is None or site == document.site:
        raise NotDecided("Choose the site that the document belongs to.")
    if version(document) != made_on:
        raise Overtaken(document.qa_decisions.order_by("pk").last())
    key = f"rehome:{document.pk}:{site.pk}:{made_on}"
    try:
        with archive().open(document.sha256) as content:
            return registration.register_again(document, site, File(content), user=person, key=key)
    except FileNotFoundError as error:
        raise NotDecided(_NO_BYTES) from error
    except registration.AtCapacity as error:
        raise NotDecided("There is too much to do just now. Try again in a while.") from error


def _keep(
    row: Document, ruling: Ruling, other: Document | None, person: User, by: Signature
) -> Decision:
    target = RULES[ruling.action].target or DocumentState(row.state)
    decided: Decision = Decision.objects.create(
        document=row,
        action=ruling.action,
        from_state=row.state,
        to_state=target,
        judged=max((each.attempt for each in row.current_findings), default=0),
        reason_code=ruling.reason_code,
        reason=ruling.reason.strip(),
        note=ruling.note.strip(),
        other=other,
        document_type=row.document_type,
        doc_id=row.doc_id,
        new_document_type=ruling.declared.document_type if ruling.declared else "",
        new_doc_id=declarations.doc_id_of(row, ruling.declared) if ruling.declared else "",
        sha256=row.sha256,
        decided_by=person,
        printed_name=by.printed_name,
        role=by.role,
        meaning=by.meaning,
        decided_at=by.at,
    )
    return decided


def _signed_detail(row: Document, decision: Decision, by: Signature) -> dict[str, Any]:
    return {
        **by.over(signature_payload.facts(decision), sha256=row.sha256),
        signature_payload.DECISION: decision.pk,
    }


def _enter(row: Document, decision: Decision, by: Signature) -> None:
    """Move it and record the entry; where the state stays, the entry alone."""
    rule = RULES[Action(decision.action)]
    said: dict[str, Any] = {
        "detail": _signed_detail(row, decision, by),
        "by": By(by.actor, by.role),
        "reason_code": decision.reason_code,
        "at": by.at,
    }
    if rule.target is None or rule.target == row.state:
        transitions.enter_next(row, rule.event, **said)
        return
    told = [Seen("QA_REJECTED", facts={"note": decision.note})] if decision.note else []
    transitions.move(
        row,
        rule.target,
        findings=told,
        primary=told[0] if told else None,
        event=rule.event,
        **said,
    )
