"""Entries as people read them: what happened, from where to where, by whom, when and why."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.ledger.bound_rows import ROW
from audit.ledger.queries import Recorded
from sites.roles import label
from web.shell import event_labels
from web.shell.state_display import StateDisplay


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One entry. Empty text where a thing does not apply."""

    seq: int
    what: str
    move: str
    display: StateDisplay
    at: datetime
    who: str
    actor: str  # as the ledger has it: of software with its process
    role: str
    why: str
    code: str
    subject: str  # as the ledger has it
    about: str  # the same for people
    site: str
    hash: str
    prev: str
    event: str
    versions: str
    detail: str  # as JSON, indented
    version: int = 0  # of its document, where there are several


def build_entry_lines(entries: Iterable[Recorded]) -> list[EntryLine]:
    """One query for the names of all who are in it."""
    entries = list(entries)
    names = event_labels.name_actors(entry.actor for entry in entries)
    return [_line(entry, names) for entry in entries]


def _line(entry: Recorded, names: Mapping[str, str]) -> EntryLine:
    detail = dict(entry.detail or {})
    if ROW in detail:
        number = len(detail[ROW])  # listing each digest would hide the other details
        digests = ngettext("digest of {n} field", "digests of {n} fields", number)
        detail[ROW] = digests.format(n=number)
    return EntryLine(
        seq=entry.seq,
        what=event_labels.label_event(entry.event),
        move=_move(entry),
        display=event_labels.display_entry(entry),
        at=entry.recorded_at,
        # As it was written then: a person may be called otherwise today.
        who=detail.get("printed_name") or names.get(entry.actor, entry.actor),
        actor=entry.actor,
        role=label(entry.role),
        why=_why(entry),
        code=entry.code,
        subject=entry.subject,
        about=entry.doc_id or entry.subject.replace(":", " ").capitalize(),
        site=entry.site,
        hash=entry.hash,
        prev=entry.prev,
        event=entry.event,
        versions=_versions(entry),
        detail=json.dumps(detail, indent=2, ensure_ascii=False) if detail else "",
    )


def _move(entry: Recorded) -> str:
    """What begins has no state before, and `what` says enough."""
    if not (entry.from_state and entry.to_state):
        return ""
    return (
        f"{event_labels.label_state(entry.from_state)} → {event_labels.label_state(entry.to_state)}"
    )


def _why(entry: Recorded) -> str:
    """A person's reason, or the sentence of the code that decided."""
    detail = entry.detail or {}
    return " ".join(filter(None, [detail.get("reason") or "", event_labels.explain_code(entry)]))


def _versions(entry: Recorded) -> str:
    named = {
        _("software {version}"): entry.software,
        _("rules {version}"): entry.rules,
        _("schema {version}"): entry.schema_version,
    }
    return ", ".join(name.format(version=version) for name, version in named.items() if version)
