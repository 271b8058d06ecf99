"""Describes QA decisions for pages: the recorded ones, and those that a person can make."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from ingestion.models import Action, Decision, Document
from ingestion.review import decisions, signature_payload
from ingestion.review.decision_rules import (
    ACTIONS_WITH_OWN_PAGE,
    RULES,
    list_permitted_actions,
)
from sites.models import User
from web.shell.wording import describe_declared


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """A button for one decision."""

    action: str
    label: str
    is_first: bool
    address: str  # of the page on which it is made
    is_dialog: bool  # whether the form may be shown in a dialog


@dataclass(frozen=True, slots=True)
class SignedDecision:
    """A decision with its signature, and the fields that changed after it was signed."""

    decision: Decision
    changed: list[str]
    account: str  # the note in the ledger about the signer's account

    @property
    def declared_before(self) -> str:
        """Return the declaration before the decision, in words."""
        return self._describe(self.decision.document_type, self.decision.doc_id)

    @property
    def declared_after(self) -> str:
        """Return the declaration after the decision, in words."""
        return self._describe(self.decision.new_document_type, self.decision.new_doc_id)

    def _describe(self, document_type: str, doc_id: str) -> str:
        names_person = self.decision.document.has_declared_doc_id
        return describe_declared(document_type, doc_id, names_person=names_person)


def list_choices(
    person: User, document: Document, among: Collection[Action] = ()
) -> list[DecisionChoice]:
    """Return the decisions that a person can make about a document, the usual one first.

    With `among`, the choices are limited to these actions.
    """
    actions = [
        action
        for action in list_permitted_actions(person, document)
        if not among or action in among
    ]
    return [
        DecisionChoice(
            action,
            str(RULES[action].label),
            is_first=position == 0,
            address=_find_address(document, action),
            is_dialog=action not in ACTIONS_WITH_OWN_PAGE,
        )
        for position, action in enumerate(actions)
    ]


def _find_address(document: Document, action: Action) -> str:
    """Return the address of the page of a decision, about the version that the person sees."""
    query = {"made_on": decisions.get_version(document)}
    if action in ACTIONS_WITH_OWN_PAGE:
        return f"{reverse(f'review_{action}', args=[document.pk])}?{urlencode(query)}"
    query = {"action": str(action)} | query
    return f"{reverse('review_sign', args=[document.pk])}?{urlencode(query)}"


def list_signed_decisions(document: Document) -> list[SignedDecision]:
    """Return the decisions about a document, each compared with its entry in the ledger."""
    signed = []
    for decision in document.qa_decisions.select_related("document__site", "other__site"):
        entry = signature_payload.find_entry(decision)
        changed = signature_payload.compare_with_entry(decision, entry)
        account = signature_payload.get_account_note(entry)
        signed.append(SignedDecision(decision, changed, account))
    return signed


def list_decisions_leading_to(document: Document) -> list[Decision]:
    """Return the decisions about other documents that name this one.

    It superseded the other document, or the other one was moved here from another site.
    """
    return list(document.decided_with.select_related("document__site"))
