"""The timeline of a document, from the ledger: what happened, when, and by whom."""

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
from ingestion.rules.finding_texts import reason
from sites.roles import label
from web.shell.event_labels import label_event as event_label
from web.shell.event_labels import name_people
from web.shell.state_display import STATE_DISPLAYS, StateDisplay, state_label
from web.shell.wording import describe_declared

# Labels of transitions into a state. Other states are named by their own label.
_TRANSITION_LABELS: Mapping[DocumentState, str | Promise] = MappingProxyType(
    {
        DocumentState.VALIDATING: gettext_lazy("Checking started"),
        DocumentState.IN_REVIEW: gettext_lazy("Sent to QA for review"),
    }
)
_SYSTEMS: Mapping[str, str | Promise] = MappingProxyType({"worker": gettext_lazy("by SiteLedger")})
# Decisions of people, which are named by their event instead of the new state.
_DECISION_EVENTS = frozenset(
    {"document.review_asked", corrections.REPLACED, *(rule.event for rule in RULES.values())}
)
_OTHER = StateDisplay("dash", "idle")  # an entry without a change of state, for example a view


@dataclass(frozen=True, slots=True)
class TimelineStep:
    what: str
    code: str
    at: datetime
    who: str
    display: StateDisplay


def build_timeline(subject: str) -> list[TimelineStep]:
    """Return the steps that the ledger records of the subject, oldest first."""
    entries = queries.timeline(subject)
    names = name_people({entry.actor for entry in entries})
    return [_build_step(entry, names) for entry in entries]


def _describe_event(entry: Recorded) -> str:
    """Return the label of the event; for a correction also the old and the new declaration."""
    detail = entry.detail or {}
    if entry.event != declarations.REDECLARED or "new_name" not in detail:
        return event_label(entry.event)
    was = describe_declared(detail["old_type"], detail["old_name"])
    becomes = describe_declared(detail["new_type"], detail["new_name"])
    corrected = _("{event}: {corrected}. It was sent as {declared}")
    return corrected.format(event=event_label(entry.event), corrected=becomes, declared=was)


def _build_step(entry: Recorded, names: Mapping[str, str]) -> TimelineStep:
    who = names.get(entry.actor) or str(_SYSTEMS.get(entry.role, "")) or label(entry.role)
    who = who or actors.without_process(entry.actor)
    if not entry.to_state:
        return TimelineStep(event_label(entry.event), entry.code, entry.occurred_at, who, _OTHER)
    state = DocumentState(entry.to_state)
    what = str(_TRANSITION_LABELS.get(state, "")) or state_label(state)
    if entry.event in _DECISION_EVENTS:
        return TimelineStep(
            _describe_event(entry), "", entry.occurred_at, who, STATE_DISPLAYS[state]
        )
    if state is DocumentState.RECEIVED and entry.from_state:
        what = _("Back in the queue")
    elif entry.code:
        what = f"{what}: {reason(entry.code)[0].lower()}{reason(entry.code)[1:]}"
    return TimelineStep(what, entry.code, entry.occurred_at, who, STATE_DISPLAYS[state])
