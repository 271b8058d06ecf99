"""Defines template filters for labels of verification modes and anchors."""

from django import template

from audit.signing.anchors import ANCHOR_KINDS
from web.shell.event_labels import MODES

register = template.Library()


@register.filter
def mode_name(mode: str) -> str:
    """Return the label of a verification mode."""
    return str(MODES.get(mode, mode))


@register.filter
def anchor_name(anchor: str) -> str:
    """Return the label of a kind of anchor."""
    labels = {kind.name: kind.label for kind in ANCHOR_KINDS}
    return str(labels.get(anchor, anchor))
