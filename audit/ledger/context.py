"""Defines the origin of an action: a request, or a command. Entries and log records state it.

This module imports no Django. The middleware and `manage.py` set the origin once for everything
inside. `audit.ledger.log` adds it to the details of entries of the same actor, so that no caller
has to (21 CFR 11.10(e), EMA 6.2.1).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from audit.ledger import actors


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The origin of what happens now.

    `facts` are the request ID and the address of a request, or the operating system's user and the
    host of a command. `identify` returns the name of the actor and the printed name, or two empty
    strings while nobody is known: a request learns it late.
    """

    facts: Mapping[str, str]
    identify: Callable[[], tuple[str, str]]


_UNKNOWN = RequestOrigin({}, lambda: ("", ""))
_origin = ContextVar("origin", default=_UNKNOWN)
_reason = ContextVar("reason", default="")


@contextmanager
def set_origin(origin: RequestOrigin) -> Iterator[None]:
    """Set the origin of everything inside."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


@contextmanager
def use_change_reason(reason: str) -> Iterator[None]:
    """Add this reason to the entries inside whose actor is that of the origin."""
    token = _reason.set(reason.strip())
    try:
        yield
    finally:
        _reason.reset(token)


def get_current_origin() -> RequestOrigin:
    """Return the origin of the current action: its request or its command."""
    return _origin.get()


def get_origin_facts(actor_name: str) -> dict[str, str]:
    """Return what the detail of an entry by this actor states about its origin.

    It is empty if the origin is unknown, or if its actor is another one.
    """
    origin = _origin.get()
    name, printed_name = origin.identify()
    if not name or name != actors.drop_process(actor_name):
        return {}
    optional = {"printed_name": printed_name, "reason": _reason.get()}
    return {**origin.facts, **{key: text for key, text in optional.items() if text}}
