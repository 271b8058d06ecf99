"""Lists the settings of this installation without secrets, for the validation report."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings

from qualification.sandbox.isolation import list_documented_settings

HIDDEN = "set, not shown"
_CREDENTIALS = re.compile(r"//[^/@\s]*@")  # user:password@ in a URL
_SECRET = re.compile(r"SECRET(?!.*_(FILE|DIR)$)|PASSWORD|TOKEN|WEBHOOK$")
# Variables whose value is in a setting of another name, or is part of a larger setting.
_OTHER_ATTRIBUTES: Mapping[str, Callable[[], Any]] = {
    "DATABASE_URL": lambda: settings.DATABASES["default"],
    "DATABASE_OWNER_URL": lambda: settings.DATABASE_OWNER,
    "OCR_ENGINE": lambda: settings.READING_LIMITS.engine,
    "OCR_LANGUAGES": lambda: settings.READING_LIMITS.languages,
    "PARSER_PROCESSES": lambda: settings.READING_LIMITS.processes,
}
_DATABASE_KEYS = ("ENGINE", "HOST", "PORT", "NAME", "USER")


def read_displayed_settings() -> dict[str, str]:
    """Return the settings in effect, except those that are part of a larger setting."""
    displayed = {}
    for name in list_documented_settings():
        if name in _OTHER_ATTRIBUTES:
            displayed[name] = _display(name, _OTHER_ATTRIBUTES[name]())
        elif hasattr(settings, name):
            displayed[name] = _display(name, getattr(settings, name))
    return displayed


def _display(name: str, value: Any) -> str:
    """Return the value as text, without passwords and other secrets."""
    if isinstance(value, Mapping):
        parts = (f"{key} {value[key]}" for key in _DATABASE_KEYS if value.get(key))
        return ", ".join(parts) or "none"
    if value and isinstance(value, str) and _SECRET.search(name):
        return HIDDEN
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return _CREDENTIALS.sub("//...@", str(value))
