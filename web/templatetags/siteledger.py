"""Defines template tags and filters for icons, chips, times, sizes and error messages."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django import template
from django.utils import dateformat, timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.rules.finding_texts import describe_attributes, get_short_text
from sites.roles import get_role_label
from web.account import session_limits
from web.shell import state_display

_JUST_NOW = timedelta(minutes=1)

register = template.Library()
register.simple_tag(state_display.render_icon, name="icon")
register.filter("reason", get_short_text)
register.filter("attributes", describe_attributes)
register.filter("role_label", get_role_label)
register.simple_tag(state_display.render_state_chip, name="state_chip")
register.simple_tag(session_limits.get_session_terms, takes_context=True, name="session_terms")


@register.simple_tag(name="chip")
def render_chip_of(tone: str, icon_name: str, word: str) -> SafeString:
    """Return a chip with the class `sl-<tone>`, an icon and a word."""
    return state_display.render_chip(state_display.StateDisplay(icon_name, tone), word)


@register.filter
def utc(moment: datetime) -> SafeString:
    """Return a `<time>` element such as "20 Nov 2026, 16:54 UTC"."""
    at = moment.astimezone(UTC)
    exact = at.isoformat(timespec="milliseconds")
    return format_html('<time datetime="{}">{}</time>', exact, _to_the_minute(at))


def _to_the_minute(at: datetime) -> str:
    return f"{dateformat.format(at, 'j M Y, H:i')} UTC"


@register.filter
def utc_exact(moment: datetime) -> SafeString:
    """Return a `<time>` element such as "20 Nov 2026, 16:54:09.127 UTC", for ledger entries."""
    at = moment.astimezone(UTC)
    text = f"{dateformat.format(at, 'j M Y, H:i:s')}.{at.microsecond // 1000:03} UTC"
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), text)


@register.filter
def short_hash(full: str) -> SafeString:
    """Return the first and last four characters of a hash. The title attribute has all of it."""
    return format_html('<code title="{}">{}…{}</code>', full, full[:4], full[-4:])


@register.filter
def ago(moment: datetime) -> SafeString:
    """Return a `<time>` element such as "3 days, 1 hour ago". Its title is the full time."""
    at = moment.astimezone(UTC)
    is_recent = timezone.now() - at < _JUST_NOW
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        _to_the_minute(at),
        _("just now") if is_recent else _("{duration} ago").format(duration=timesince(at)),
    )


@register.filter
def with_commands(sentence: str) -> SafeString:
    """Return the sentence with each part between backticks in a `<code>` element."""
    pieces = enumerate(sentence.split("`"))
    texts = ((format_html("<code>{}</code>", text) if at % 2 else text,) for at, text in pieces)
    return format_html_join("", "{}", texts)


@register.filter
def seconds(number: float) -> str:
    """Return a waiting time of `number` seconds in its largest unit, for example "12 min"."""
    if number >= 172_800:
        days = int(number // 86_400)
        return ngettext("{n} day", "{n} days", days).format(n=days)
    if number >= 7_200:
        return _("{n} h").format(n=int(number // 3_600))
    if number >= 120:
        return _("{n} min").format(n=int(number // 60))
    return _("{n} s").format(n=f"{number:.0f}")


@register.filter
def filesize(size: int | None) -> str:
    """Return a size in decimal KB or MB, the units in which the upload limits are stated."""
    if size is None:
        return ""
    return f"{max(1, round(size / 1e3))} KB" if size < 100_000 else f"{size / 1e6:.1f} MB"


@register.simple_tag(name="row_errors")
def join_row_errors(errors: Mapping[str, str], key: str) -> str:
    """Return the error messages of all inputs of one row of the upload form."""
    messages = (errors.get(f"{name}-{key}", "") for name in ("file", "type", "person"))
    return " ".join(message for message in messages if message)


@register.simple_tag(name="input_error")
def render_input_error(errors: Mapping[str, str], field: str, key: str) -> SafeString:
    """Return the error message of one input of a row, as an element; "" if there is none."""
    message = errors.get(f"{field}-{key}", "")
    return format_html('<span class="sl-error">{}</span>', message) if message else SafeString("")
