"""Filters of the audit trail's pages: the ledger's own names in people's words."""

from django import template

from web.shell.event_labels import ANCHORS, MODES

register = template.Library()


@register.filter
def mode_name(mode: str) -> str:
    return MODES.get(mode, mode)


@register.filter
def anchor_name(anchor: str) -> str:
    return ANCHORS.get(anchor, anchor)
