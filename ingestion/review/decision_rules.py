"""Defines the actions of QA: from which states, to which state, and the meaning of the signature.

The rules are data. `list_permitted_actions` applies them to a person and a document. The permitted
moves between states are defined in `core.states`, and decisions 14 to 16 say what has to be signed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import DocumentState
from ingestion.documents import division, downloads, redactions
from ingestion.intake import declarations
from ingestion.models import Action, Document
from ingestion.rules.codes import CODES, Disposition
from sites.models import User

REVIEW_PERMISSION = downloads.REVIEW_PERMISSION
OVERRIDE_PERMISSION = "ingestion.override_document"  # the second permission, of QA leads
_D = DocumentState


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Describes one action of QA on a document."""

    sources: frozenset[DocumentState]  # the states in which it is possible
    target: DocumentState | None  # None: the state stays the same
    event: str  # of the ledger entry
    label: str | Promise  # of the button
    meaning: str  # of the signature (21 CFR 11.50(a)(3))
    permission: str = REVIEW_PERMISSION
    effect: str | Promise = ""  # consequence for the document, shown on the form


_UNDECIDED = frozenset({_D.IN_REVIEW, _D.REJECTED})
_IN_REVIEW, _ON_FILE = frozenset({_D.IN_REVIEW}), frozenset({_D.ARCHIVED})

RULES: Mapping[Action, DecisionRule] = MappingProxyType(
    {
        Action.RETURN: DecisionRule(
            _UNDECIDED,
            _D.RETURNED,
            "document.returned",
            _("Return to site"),
            "I reviewed this document, and it has to be corrected by the site.",
            effect=_(
                "The coordinator reads your note exactly as you write it and sends a corrected "
                "file."
            ),
        ),
        Action.CONFIRM: DecisionRule(
            _UNDECIDED,
            _D.REJECTED,
            "document.rejection_confirmed",
            _("Confirm rejection"),
            "I reviewed this document, and I reject it.",
            effect=_("The document stays rejected. The site can send a corrected file."),
        ),
        Action.RELEASE: DecisionRule(
            _IN_REVIEW,
            _D.ARCHIVED,
            "document.released",
            _("Release and file"),
            "I reviewed this document, and I approve it for filing.",
        ),
        Action.UNSEAL: DecisionRule(
            _IN_REVIEW,
            _D.ARCHIVED,
            "document.unsealed",
            _("Release from quarantine and file"),
            "I reviewed this file; it does no harm, and I approve it for filing.",
            OVERRIDE_PERMISSION,
        ),
        Action.OVERRIDE: DecisionRule(
            _UNDECIDED,
            _D.ARCHIVED,
            "document.overridden",
            _("Override and file"),
            "I reviewed this document, and I approve it for filing in spite of what was found.",
            OVERRIDE_PERMISSION,
        ),
        Action.REDECLARE: DecisionRule(
            _UNDECIDED,
            _D.RECEIVED,
            "document.redeclared",
            _("Correct type or person"),
            "I reviewed this document, and I correct what it is or whose it is.",
            effect=_(
                "The checks run again on the same file. If they find a problem, the document "
                "returns to you. If they find none, it is filed."
            ),
        ),
        Action.DIVIDE: DecisionRule(
            _IN_REVIEW,
            _D.DIVIDED,
            "document.divided",
            _("Divide into documents"),
            "I reviewed this file, and I divide it into the documents that it holds.",
            effect=_(
                "Each document is checked and filed on its own. The file stays in the archive as "
                "it was received."
            ),
        ),
        Action.REDACT: DecisionRule(
            _IN_REVIEW | {_D.REJECTED} | _ON_FILE,
            None,
            "document.redacted",
            _("Redact participants' data"),
            "I reviewed this document, and I redact the data of participants in it.",
            effect=_(
                "A rendition is made in which the places are black. All others see this rendition. "
                "The original stays the record, for QA only."
            ),
        ),
        Action.SET_ASIDE: DecisionRule(
            _UNDECIDED,
            _D.WITHDRAWN,
            "document.set_aside",
            _("Set aside"),
            "I reviewed this file; it is no document of the site, and I set it aside.",
            effect=_(
                "The file is not filed, and the site has nothing to do. It stays in the archive "
                "with the message or the archive in which it came."
            ),
        ),
        Action.SUPERSEDE: DecisionRule(
            _ON_FILE,
            None,
            "document.superseded",
            _("Supersede document"),
            "I reviewed both versions, and the newer one takes the place of this one.",
        ),
        Action.WITHDRAW: DecisionRule(
            _ON_FILE,
            _D.WITHDRAWN,
            "document.withdrawn",
            _("Withdraw document"),
            "I reviewed this document; it was filed in error, and I withdraw it.",
        ),
        Action.REHOME: DecisionRule(
            _ON_FILE,
            _D.WITHDRAWN,
            "document.rehomed",
            _("Move to another site"),
            "I reviewed this document; it belongs to the other site, and I move it there.",
        ),
    }
)

FILING_ACTIONS = frozenset({Action.RELEASE, Action.UNSEAL, Action.OVERRIDE})
ACTIONS_NEEDING_FILE = FILING_ACTIONS | {Action.REDECLARE, Action.DIVIDE, Action.REDACT}
ACTIONS_ON_FILED = frozenset({Action.SUPERSEDE, Action.WITHDRAW, Action.REHOME, Action.REDACT})
# Decisions with a page of their own, on which more is entered than a reason.
ACTIONS_WITH_OWN_PAGE = frozenset({Action.DIVIDE, Action.REDACT})

# Reasons for returning or rejecting, for the ledger and for statistics. The site reads the note.
REASON_LABELS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "NOT_SIGNED": _("Not signed or not dated"),
        "WRONG_DOCUMENT": _("Not the declared document type"),
        "WRONG_PLACE_OR_PERSON": _("Belongs to another site, study or person"),
        "NOT_CURRENT": _("Out of date, or not the current version"),
        "INCOMPLETE": _("Pages or entries are missing"),
        "NOT_READABLE": _("Not readable"),
        "MAY_NOT_BE_KEPT": _("Contains data that may not be kept, such as names of subjects"),
        "OTHER": _("Other, as described in the note"),
    }
)


def is_note_for_site(action: Action, state: str) -> bool:
    """Return whether the text of a decision is a note to the site, and not an internal reason.

    A confirmed rejection keeps the findings that the site has read, so it needs no note.
    """
    return action is Action.RETURN or (action is Action.CONFIRM and state == _D.IN_REVIEW)


def must_be_signed(action: Action) -> bool:
    """Return whether an action needs a signature.

    A return to the site needs one only if REVIEW_SIGN_RETURNS is set.
    """
    return action is not Action.RETURN or bool(settings.REVIEW_SIGN_RETURNS)


def choose_filing_action(document: Document) -> Action:
    """Return the action with which QA can file the document. They need different permissions.

    A document with a wrong or unreadable name is never released: filing it overrides a finding.
    """
    if downloads.is_quarantined(document):
        return Action.UNSEAL
    codes = [CODES[each.code] for each in document.current_findings]
    is_rejected = any(code.disposition in {Disposition.REJECT, Disposition.HOLD} for code in codes)
    is_uncertain = document.state == _D.IN_REVIEW and not is_rejected
    needs_override = any(code.only_overridden for code in codes)
    return Action.RELEASE if is_uncertain and not needs_override else Action.OVERRIDE


def list_permitted_actions(person: User, document: Document) -> list[Action]:
    """Return the actions that this person may take on the document now, in the order of buttons."""
    if not person.is_staff or is_submitter(person, document):
        return []
    actions = [
        action
        for action, rule in RULES.items()
        if DocumentState(document.state) in rule.sources
        and person.has_perm(rule.permission)
        and (action not in FILING_ACTIONS or action is choose_filing_action(document))
        and (action is not Action.REDECLARE or not declarations.explain_recheck_refusal(document))
        and (action is not Action.DIVIDE or not division.explain_division_refusal(document))
        and (action is not Action.REDACT or _can_redact(document))
        and (action is not Action.SET_ASIDE or document.is_entry)
        and (action not in ACTIONS_NEEDING_FILE or document.sha256)
    ]
    if document.code == "MULTIPLE_DOCUMENTS":  # then to divide it is the usual decision
        actions.sort(key=lambda action: action is not Action.DIVIDE)
    if document.code == redactions.SUSPECTED and not redactions.is_redacted(document):
        actions.sort(key=lambda action: action is not Action.REDACT)
    if document.code == "ENTRY_IN_DOUBT":
        actions.sort(key=lambda action: action is not Action.SET_ASIDE)
    return actions


def _can_redact(document: Document) -> bool:
    """Return whether the upgrade is finished that brought redactions, and the file has pages."""
    return bool(document.page_numbers) and division.is_applied(redactions.MIGRATION)


def is_submitter(person: User, document: Document) -> bool:
    """Return whether the person submitted the document, and so must not decide about it (R23)."""
    return document.batch.submitted_by_id == person.pk
