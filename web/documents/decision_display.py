"""What pages show of decisions: those that were made, and those that can be."""

from collections.abc import Collection
from dataclasses import dataclass

from ingestion.models import Action, Decision, Document
from ingestion.review import signature_payload
from ingestion.review.decision_rules import RULES, list_permitted_actions
from sites.models import User
from web.shell.wording import describe_declared


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """A button."""

    action: str
    label: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class SignedDecision:
    """A decision with its signature, and what of it has changed since."""

    decision: Decision
    changed: list[str]
    account: str  # what is on record about the signer's account

    @property
    def was(self) -> str:
        return describe_declared(self.decision.document_type, self.decision.doc_id)

    @property
    def becomes(self) -> str:
        return describe_declared(self.decision.new_document_type, self.decision.new_doc_id)


def list_choices(
    person: User, document: Document, among: Collection[Action] = ()
) -> list[DecisionChoice]:
    """The first one is what is usual."""
    allowed = [
        each for each in list_permitted_actions(person, document) if not among or each in among
    ]
    return [
        DecisionChoice(action, str(RULES[action].label), is_first=number == 0)
        for number, action in enumerate(allowed)
    ]


def list_signed_decisions(document: Document) -> list[SignedDecision]:
    made = document.qa_decisions.select_related("document__site", "other__site")
    return [_with_signature(decision) for decision in made]


def _with_signature(decision: Decision) -> SignedDecision:
    entry = signature_payload.find_entry(decision)
    return SignedDecision(
        decision,
        signature_payload.compare_with_entry(decision, entry),
        signature_payload.get_account_note(entry),
    )


def list_decisions_leading_to(document: Document) -> list[Decision]:
    """The decisions that lead here: an older version superseded, or moved from another site."""
    return list(document.decided_with.select_related("document__site"))
