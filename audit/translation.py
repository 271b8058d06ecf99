"""Translates the messages of those modules of `audit` that import no Django.

The hash chain and the signed notes can be used without Django. Without it, their messages are in
English; `audit.apps` installs Django's translation when Django starts. makemessages finds the
messages by the names of the functions below.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Translation:
    gettext: Callable[[str], str]


_translation = _Translation(str)


def use_translation(gettext: Callable[[str], str]) -> None:
    """Translate messages with this function from now on."""
    _translation.gettext = gettext


def gettext(message: str) -> str:
    """Return the message in the language in which people read it."""
    return _translation.gettext(message)


def gettext_noop(message: str) -> str:
    """Mark a message that `gettext` translates later, only if it is needed."""
    return message
