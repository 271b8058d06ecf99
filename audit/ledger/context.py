"""Where what happens now comes from: a request, or a command. For entries and for log lines.

No Django. The middleware and `manage.py` say it once, for all that happens inside;
`audit.ledger.log` puts it into the detail of the asker's entries, so that no caller has to
(11.10(e), EMA 6.2.1).
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from audit.ledger import actors


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """`asker` answers with actor and printed name when it is asked: a request learns them late."""

    facts: Mapping[str, str]  # request_id and address of a request; os_user and host of a command
    asker: Callable[[], tuple[str, str]]  # ("", "") while it is nobody


def _nobody() -> tuple[str, str]:
    return "", ""


_NOWHERE = RequestOrigin({}, _nobody)
_origin = ContextVar("origin", default=_NOWHERE)
_reason = ContextVar("reason", default="")


@contextmanager
def set_origin(origin: RequestOrigin) -> Iterator[None]:
    """All inside is asked for by whom `origin` names."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


@contextmanager
def change_reason(reason: str) -> Iterator[None]:
    """The asker's entries inside carry this reason."""
    token = _reason.set(reason.strip())
    try:
        yield
    finally:
        _reason.reset(token)


def current_origin() -> RequestOrigin:
    return _origin.get()


def asker_facts(actor: str) -> dict[str, str]:
    """For the detail of an entry by the asker; nothing where somebody else acts, or nobody asks."""
    here = _origin.get()
    asker, printed_name = here.asker()
    if not asker or asker != actors.without_process(actor):
        return {}
    said = {"printed_name": printed_name, "reason": _reason.get()}
    return {**here.facts, **{name: text for name, text in said.items() if text}}


class RequestIdFilter(logging.Filter):
    """Gives every log record a `request_id`: "-" outside requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = _origin.get().facts.get("request_id", "-")
        return True
