"""Describes ledger entries for pages: event, change of state, actor, time and reason."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.ledger.bound_rows import ROW
from audit.ledger.queries import Recorded
from sites.roles import get_role_label
from web.shell import event_labels
from web.shell.state_display import StateDisplay


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One entry in words. A text is empty if it does not apply to the entry."""

    seq: int
    label: str  # of the event
    transition: str  # for example "Checking → Filed"
    display: StateDisplay
    at: datetime
    person: str  # the name of the person, or of the software
    actor: str  # as stored: of software with its process
    role: str
    reason: str
    code: str
    subject: str  # as stored
    subject_label: str
    site: str
    hash: str
    prev: str
    event: str
    versions: str
    detail: str  # indented JSON
    version: int = 0  # of the document; 0 if it has one version


def build_entry_lines(entries: Iterable[Recorded]) -> list[EntryLine]:
    """Return the lines of the entries. One query finds the names of all actors."""
    entries = list(entries)
    names = event_labels.name_actors(entry.actor for entry in entries)
    return [_build_line(entry, names) for entry in entries]


def _build_line(entry: Recorded, names: Mapping[str, str]) -> EntryLine:
    detail = dict(entry.detail or {})
    # The reason of a person, then the sentence of the code that decided.
    reasons = [detail.get("reason") or "", event_labels.explain_code(entry)]
    if ROW in detail:
        number = len(detail[ROW])  # a list of all digests would hide the other details
        digests = ngettext("digest of {n} field", "digests of {n} fields", number)
        detail[ROW] = digests.format(n=number)
    transition = ""
    if entry.from_state and entry.to_state:  # without a first state, the label says enough
        states = map(event_labels.label_state, (entry.from_state, entry.to_state))
        transition = " → ".join(states)
    versions = {
        _("software {version}"): entry.software,
        _("rules {version}"): entry.rules,
        _("schema {version}"): entry.schema_version,
    }
    return EntryLine(
        seq=entry.seq,
        label=event_labels.label_event(entry.event),
        transition=transition,
        display=event_labels.display_entry(entry),
        at=entry.recorded_at,
        # The name at the time of the entry: the person may have changed it since.
        person=detail.get("printed_name") or names.get(entry.actor, entry.actor),
        actor=entry.actor,
        role=get_role_label(entry.role),
        reason=" ".join(filter(None, reasons)),
        code=entry.code,
        subject=entry.subject,
        subject_label=entry.doc_id or entry.subject.replace(":", " ").capitalize(),
        site=entry.site,
        hash=entry.hash,
        prev=entry.prev,
        event=entry.event,
        versions=", ".join(
            text.format(version=version) for text, version in versions.items() if version
        ),
        detail=json.dumps(detail, indent=2, ensure_ascii=False) if detail else "",
    )
