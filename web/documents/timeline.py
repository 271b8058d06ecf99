"""Builds the timeline of a document from the ledger: what happened, when, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.ledger import actors, queries
from audit.ledger.queries import Recorded
from ingestion.core.states import DocumentState
from ingestion.intake import corrections, declarations
from ingestion.review.decision_rules import RULES
from ingestion.rules.finding_texts import get_short_text
from sites.roles import get_role_label
from web.shell.event_labels import label_event, name_people
from web.shell.state_display import STATE_DISPLAYS, StateDisplay, get_state_label
from web.shell.wording import describe_declared

# Labels of transitions into a state. Other states are named by their own label.
_TRANSITION_LABELS: Mapping[DocumentState, str | Promise] = MappingProxyType(
    {
        DocumentState.VALIDATING: gettext_lazy("Checking started"),
        DocumentState.IN_REVIEW: gettext_lazy("Sent to QA for review"),
    }
)
_SYSTEM_NAMES: Mapping[str, str | Promise] = MappingProxyType(
    {"worker": gettext_lazy("by SiteLedger")}
)
# Decisions of people, which are named by their event instead of the new state.
_DECISION_EVENTS = frozenset(
    {"document.review_asked", corrections.REPLACED, *(rule.event for rule in RULES.values())}
)
_WITHOUT_STATE = StateDisplay("dash", "idle")  # for entries such as a view


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One entry of the ledger, in words."""

    label: str
    code: str
    at: datetime
    person: str  # who did it, "by SiteLedger" for workers, or the role
    display: StateDisplay


def build_timeline(subject: str) -> list[TimelineStep]:
    """Return the steps that the ledger records of the subject, oldest first."""
    entries = queries.list_entries(subject)
    names = name_people({entry.actor for entry in entries})
    return [_build_step(entry, names) for entry in entries]


def _describe_event(entry: Recorded) -> str:
    """Return the label of the event; for a correction also the old and the new declaration."""
    detail = entry.detail or {}
    if entry.event != declarations.REDECLARED or "new_name" not in detail:
        return label_event(entry.event)
    sentence = _("{event}: {corrected}. It was sent as {declared}")
    # A portal's document and a part of a file keep their doc_id, which names nobody.
    names_person = detail["new_name"] != detail["old_name"]
    new, old = (
        describe_declared(detail[f"{age}_type"], detail[f"{age}_name"], names_person=names_person)
        for age in ("new", "old")
    )
    return sentence.format(event=label_event(entry.event), corrected=new, declared=old)


def _build_step(entry: Recorded, names: Mapping[str, str]) -> TimelineStep:
    person = (
        names.get(entry.actor)
        or str(_SYSTEM_NAMES.get(entry.role, ""))
        or get_role_label(entry.role)
        or actors.drop_process(entry.actor)
    )
    if not entry.to_state:
        step_label, code, display = label_event(entry.event), entry.code, _WITHOUT_STATE
    elif entry.event in _DECISION_EVENTS:
        step_label, code = _describe_event(entry), ""
        display = STATE_DISPLAYS[DocumentState(entry.to_state)]
    else:
        state = DocumentState(entry.to_state)
        step_label, code = str(_TRANSITION_LABELS.get(state) or get_state_label(state)), entry.code
        display = STATE_DISPLAYS[state]
        if state is DocumentState.RECEIVED and entry.from_state:
            step_label = _("Back in the queue")
        elif code:
            code_label = get_short_text(code)
            step_label = f"{step_label}: {code_label[0].lower()}{code_label[1:]}"
    return TimelineStep(step_label, code, entry.occurred_at, person, display)
