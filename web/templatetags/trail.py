"""Template filters for labels of verification modes and anchors."""

from django import template

from web.shell.event_labels import ANCHORS, MODES

register = template.Library()


@register.filter
def mode_name(mode: str) -> str:
    return str(MODES.get(mode, mode))


@register.filter
def anchor_name(anchor: str) -> str:
    return str(ANCHORS.get(anchor, anchor))
