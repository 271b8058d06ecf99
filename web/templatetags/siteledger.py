"""Template tags of the product's pages: icons, chips, times and sizes as the design writes them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from ingestion.rules.finding_texts import reason
from sites.roles import label
from web.account import session_limits
from web.shell import state_display

_JUST_NOW = timedelta(minutes=1)

register = template.Library()
register.simple_tag(state_display.icon)
register.filter(reason)
register.filter("role_label", label)
register.simple_tag(state_display.state_chip)
register.simple_tag(session_limits.session_terms, takes_context=True)


@register.simple_tag
def chip(tone: str, icon_name: str, word: str) -> SafeString:
    return state_display.chip(state_display.Look(icon_name, tone), word)


@register.filter
def utc(moment: datetime) -> SafeString:
    """As in 20 Nov 2026, 16:54 UTC; with the exact moment for machines."""
    at = moment.astimezone(UTC)
    text = f"{at.day} {at:%b %Y, %H:%M} UTC"
    return format_html('<time datetime="{}">{}</time>', at.isoformat(timespec="milliseconds"), text)


@register.filter
def utc_exact(moment: datetime) -> SafeString:
    """As in 20 Nov 2026, 16:54:09.127 UTC: for what is proved, where the order matters."""
    at = moment.astimezone(UTC)
    text = f"{at.day} {at:%b %Y, %H:%M:%S}.{at.microsecond // 1000:03} UTC"
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), text)


@register.filter
def short_hash(full: str) -> SafeString:
    """Its ends; the whole is in the title, and beside it wherever it is to be copied."""
    return format_html('<code title="{}">{}…{}</code>', full, full[:4], full[-4:])


@register.filter
def ago(moment: datetime) -> SafeString:
    """As in 3 days, 1 hour ago; the full time is in the title. For lists only."""
    at = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        f"{at.day} {at:%b %Y, %H:%M} UTC",
        "just now" if timezone.now() - at < _JUST_NOW else f"{timesince(at)} ago",
    )


@register.filter
def with_commands(sentence: str) -> SafeString:
    """What stands between `` is a command, to be copied."""
    pieces = enumerate(sentence.split("`"))
    texts = ((format_html("<code>{}</code>", text) if at % 2 else text,) for at, text in pieces)
    return format_html_join("", "{}", texts)


@register.filter
def seconds(number: float) -> str:
    """As in 41 s, 12 min, 3 h, 2 days: for how long something waits."""
    for least, size, unit in ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (120, 60, "min")):
        if number >= least:
            return f"{number // size:.0f} {unit}"
    return f"{number:.0f} s"


@register.filter
def filesize(size: int | None) -> str:
    """Bytes in decimal units, as file managers and the limits of this product count them."""
    if size is None:
        return ""
    return f"{max(1, round(size / 1e3))} KB" if size < 100_000 else f"{size / 1e6:.1f} MB"


@register.simple_tag
def fault_of(faults: Mapping[str, str], key: str) -> str:
    """What is wrong with a row, whichever of its inputs it is about."""
    said = (faults.get(f"{name}-{key}", "") for name in ("file", "type", "person"))
    return " ".join(message for message in said if message)


@register.simple_tag
def fault(faults: Mapping[str, str], field: str, number: str) -> SafeString:
    """What is wrong with one input of a row, said beside it; nothing when it is right."""
    message = faults.get(f"{field}-{number}", "")
    return format_html('<span class="sl-error">{}</span>', message) if message else SafeString("")
