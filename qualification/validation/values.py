"""The settings of this installation without secrets, for the validation report."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings

from qualification.sandbox.isolation import known

HIDDEN = "set, not shown"
_CREDENTIALS = re.compile(r"//[^/@\s]*@")  # of an address: user:password@
_SECRET = re.compile(r"SECRET(?!.*_(FILE|DIR)$)|PASSWORD|TOKEN|WEBHOOK$")
# Where the setting is an attribute of another name, or of something larger.
_ELSEWHERE: Mapping[str, Callable[[], Any]] = {
    "DATABASE_URL": lambda: settings.DATABASES["default"],
    "DATABASE_OWNER_URL": lambda: settings.DATABASE_OWNER,
    "OCR_ENGINE": lambda: settings.READING_LIMITS.engine,
    "OCR_LANGUAGES": lambda: settings.READING_LIMITS.languages,
    "PARSER_PROCESSES": lambda: settings.READING_LIMITS.processes,
}
_SHOWN_OF_A_DATABASE = ("ENGINE", "HOST", "PORT", "NAME", "USER")


def displayed_settings() -> dict[str, str]:
    """Return the settings in effect, except those that are part of a larger setting."""
    return {name: _shown(name, value) for name, value in _values(known())}


def _values(names: list[str]) -> list[tuple[str, Any]]:
    missing = object()
    found = [
        (n, _ELSEWHERE[n]() if n in _ELSEWHERE else getattr(settings, n, missing)) for n in names
    ]
    return [(name, value) for name, value in found if value is not missing]


def _shown(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{key} {value[key]}" for key in _SHOWN_OF_A_DATABASE if value.get(key))
        return ", ".join(parts) or "none"
    if value and isinstance(value, str) and _SECRET.search(name):
        return HIDDEN
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return _CREDENTIALS.sub("//...@", str(value))
