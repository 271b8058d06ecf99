"""Translates the messages of modules that import no Django.

The hash chain, the signed notes and the rules for documents can be used without Django. Without it,
their messages are in English; `audit.apps` installs Django's translation when Django starts.
makemessages finds the messages by the names of the functions below.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Translation:
    gettext: Callable[[str], str]
    ngettext: Callable[[str, str, int], str]


_translation = _Translation(str, lambda one, many, count: one if count == 1 else many)


def use_translation(
    gettext: Callable[[str], str], ngettext: Callable[[str, str, int], str]
) -> None:
    """Translate messages with these functions from now on."""
    _translation.gettext, _translation.ngettext = gettext, ngettext


def gettext(message: str) -> str:
    """Return the message in the language in which people read it. An empty one stays empty."""
    return _translation.gettext(message) if message else message


def ngettext(one: str, many: str, count: int) -> str:
    """Return the message for this number in the language in which people read it."""
    return _translation.ngettext(one, many, count)


def gettext_noop(message: str) -> str:
    """Mark a message that `gettext` translates later, only if it is needed."""
    return message
