"""Defines the icon, colour and label of each state, and renders them for templates and admin.

A state is always shown by icon, word and colour together, never by colour alone. The colours are
classes of components.css. There are no style attributes: the content security policy blocks them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.rules.site_file.requirements import RequirementStatus

# All icons are drawn on a grid of 24 by 24 with a stroke width of 2, so that they look alike.
_PATHS = {
    "back": '<path d="M9 6l-5 5 5 5M4 11h10a6 6 0 0 1 6 6v1"/>',
    "clock": '<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 2"/>',
    "copy": '<rect x="9" y="9" width="11" height="11" rx="1"/>'
    '<path d="M15 9V5a1 1 0 0 0-1-1H5a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h4"/>',
    "cross": '<path d="M6 6l12 12M18 6L6 18"/>',
    "dash": '<path d="M6 12h12"/>',
    "eye": '<path d="M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12z"/>'
    '<circle cx="12" cy="12" r="3"/>',
    "half": '<circle cx="12" cy="12" r="9"/>'
    '<path d="M12 3v18a9 9 0 0 0 0-18z" fill="currentColor"/>',
    "mark": '<path d="M6 3h8l5 5v13H6z"/><path d="M9 14l2.5 2.5L16 12"/>',
    "moon": '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z"/>',
    "pages": '<path d="M4 3h9v13H4zM16 8h4v13h-9v-2"/>',
    "pause": '<path d="M8 5v14M16 5v14"/>',
    "person": '<circle cx="12" cy="8" r="4"/><path d="M4 21a8 8 0 0 1 16 0"/>',
    "ring": '<path d="M21 12a9 9 0 1 1-4-7.5"/>',
    "sun": '<circle cx="12" cy="12" r="4"/><path d="M12 2v3M12 19v3M2 12h3M19 12h3'
    'M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2"/>',
    "tick": '<path d="M4 12.5l5.5 5.5L20 7"/>',
    "triangle": '<path d="M12 4L2.5 20h19zM12 10v4M12 17v.5"/>',
}


@dataclass(frozen=True, slots=True)
class StateDisplay:
    """The icon and the colour of a state."""

    icon: str
    tone: str  # the class of components.css after "sl-"


STATE_DISPLAYS: Mapping[DocumentState, StateDisplay] = MappingProxyType(
    {
        DocumentState.RECEIVED: StateDisplay("clock", "idle"),
        DocumentState.VALIDATING: StateDisplay("ring", "info"),
        DocumentState.IN_REVIEW: StateDisplay("eye", "info"),
        DocumentState.ARCHIVED: StateDisplay("tick", "ok"),
        DocumentState.REJECTED: StateDisplay("cross", "bad"),
        DocumentState.DEDUPED: StateDisplay("copy", "dup"),
        DocumentState.DIVIDED: StateDisplay("pages", "idle"),
        DocumentState.HELD: StateDisplay("pause", "warn"),
        DocumentState.RETURNED: StateDisplay("back", "warn"),
        DocumentState.WITHDRAWN: StateDisplay("dash", "idle"),
        DocumentState.CANCELLED: StateDisplay("dash", "idle"),
    }
)

REQUIREMENT_DISPLAYS: Mapping[RequirementStatus, StateDisplay] = MappingProxyType(
    {
        RequirementStatus.MISSING: StateDisplay("dash", "idle"),
        RequirementStatus.PENDING: StateDisplay("clock", "idle"),
        RequirementStatus.RETURNED: StateDisplay("cross", "bad"),
        RequirementStatus.EXPIRED: StateDisplay("cross", "bad"),
        RequirementStatus.EXPIRING: StateDisplay("triangle", "warn"),
        RequirementStatus.CURRENT: StateDisplay("tick", "ok"),
        RequirementStatus.WAIVED: StateDisplay("dash", "idle"),
    }
)

WORK_DISPLAYS: Mapping[str, StateDisplay] = MappingProxyType(
    {
        BatchState.SUBMITTED: StateDisplay("clock", "idle"),
        BatchState.QUEUED: StateDisplay("clock", "idle"),
        BatchState.IN_PROGRESS: StateDisplay("ring", "info"),
        BatchState.COMPLETED: StateDisplay("tick", "ok"),
        BatchState.FAILED: StateDisplay("cross", "bad"),
        BatchState.CANCELLED: StateDisplay("dash", "idle"),
        ChunkState.WAITING: StateDisplay("clock", "idle"),
        ChunkState.RUNNING: StateDisplay("ring", "info"),
        ChunkState.DONE: StateDisplay("tick", "ok"),
    }
)


WORK_LABELS: Mapping[str, str | Promise] = MappingProxyType(
    {
        BatchState.SUBMITTED: _("Submitted"),
        BatchState.QUEUED: _("Queued"),
        BatchState.IN_PROGRESS: _("In progress"),
        BatchState.COMPLETED: _("Completed"),
        BatchState.FAILED: _("Failed"),
        BatchState.CANCELLED: _("Cancelled"),
        ChunkState.WAITING: _("Waiting"),
        ChunkState.RUNNING: _("Running"),
        ChunkState.DONE: _("Done"),
    }
)


def get_state_label(state: DocumentState) -> str:
    """Return the translated label of a document's state, for example "Filed"."""
    return gettext(state.word)


def render_icon(name: str, label: str = "") -> SafeString:
    """Return an inline SVG. Without a label it is hidden from screen readers."""
    body = mark_safe(_PATHS[name])  # noqa: S308 - a constant of this module
    animation = " sl-turns" if name == "ring" else ""
    if label:
        return format_html(
            '<svg class="sl-icon{}" viewBox="0 0 24 24" role="img" aria-label="{}">{}</svg>',
            animation,
            label,
            body,
        )
    return format_html(
        '<svg class="sl-icon{}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>',
        animation,
        body,
    )


def render_chip(display: StateDisplay, word: str) -> SafeString:
    """Return the HTML of a chip: an icon and a word on the colour of the display."""
    icon = render_icon(display.icon)
    return format_html('<span class="sl-chip sl-{}">{}{}</span>', display.tone, icon, word)


def render_state_chip(state: str) -> SafeString:
    """Return the chip of a document's state, for example a tick and "Filed" on green."""
    document_state = DocumentState(state)
    return render_chip(STATE_DISPLAYS[document_state], get_state_label(document_state))


def render_work_chip(state: BatchState | ChunkState) -> SafeString:
    """Return the chip of the state of a batch or a chunk."""
    return render_chip(WORK_DISPLAYS[state], str(WORK_LABELS[state]))
