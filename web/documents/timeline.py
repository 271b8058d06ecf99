"""A document's way in plain words, from the ledger: what happened, when, and by whom."""

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
from web.shell.event_labels import event as event_label
from web.shell.event_labels import people
from web.shell.state_display import LOOKS, Look, state_label
from web.shell.wording import said_as

# Said as events; a state that has none of its own is said by its word.
_SAID: Mapping[DocumentState, str | Promise] = MappingProxyType(
    {
        DocumentState.VALIDATING: gettext_lazy("Checking started"),
        DocumentState.IN_REVIEW: gettext_lazy("Sent to QA for review"),
    }
)
_SYSTEMS: Mapping[str, str | Promise] = MappingProxyType({"worker": gettext_lazy("by SiteLedger")})
# What a person decided says more than the state it came to.
_BY_PEOPLE = frozenset(
    {"document.review_asked", corrections.REPLACED, *(rule.event for rule in RULES.values())}
)
_OTHER = Look("dash", "idle")  # an entry that moves nothing, such as a look at the document


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    code: str
    at: datetime
    who: str
    look: Look


def steps(subject: str) -> list[Step]:
    """All that is on record of the subject, oldest first."""
    entries = queries.timeline(subject)
    names = people({entry.actor for entry in entries})
    return [_step(entry, names) for entry in entries]


def _said_of(entry: Recorded) -> str:
    """Its event; of a correction also what the document was sent as, and what it is now."""
    detail = entry.detail or {}
    if entry.event != declarations.REDECLARED or "new_name" not in detail:
        return event_label(entry.event)
    was = said_as(detail["old_type"], detail["old_name"])
    becomes = said_as(detail["new_type"], detail["new_name"])
    corrected = _("{event}: {corrected}. It was sent as {declared}")
    return corrected.format(event=event_label(entry.event), corrected=becomes, declared=was)


def _step(entry: Recorded, names: Mapping[str, str]) -> Step:
    who = names.get(entry.actor) or str(_SYSTEMS.get(entry.role, "")) or label(entry.role)
    who = who or actors.in_short(entry.actor)
    if not entry.to_state:
        return Step(event_label(entry.event), entry.code, entry.occurred_at, who, _OTHER)
    state = DocumentState(entry.to_state)
    what = str(_SAID.get(state, "")) or state_label(state)
    if entry.event in _BY_PEOPLE:
        return Step(_said_of(entry), "", entry.occurred_at, who, LOOKS[state])
    if state is DocumentState.RECEIVED and entry.from_state:
        what = _("Back in the queue")
    elif entry.code:
        what = f"{what}: {reason(entry.code)[0].lower()}{reason(entry.code)[1:]}"
    return Step(what, entry.code, entry.occurred_at, who, LOOKS[state])
