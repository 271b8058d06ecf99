"""Defines the correlation ID, which connects everything that one request or command causes.

It is in ledger entries, lines of the log and traces, also of other processes. It is a UUID, so that
no client can write personal data into an entry or the log. It is bound as structlog's context
variable `correlation_id`. This module imports no Django.
"""

import re
import uuid

from structlog.contextvars import get_contextvars


def get_correlation_id() -> uuid.UUID:
    """Return the correlation ID of the current action, or a new one outside of any action."""
    bound = get_contextvars().get("correlation_id")
    return uuid.UUID(bound) if bound else uuid.uuid4()


def parse_correlation_id(text: str) -> uuid.UUID | None:
    """Return the correlation ID that another program sent, or None if it is not well formed.

    It has 32 hexadecimal digits, with or without the hyphens of a UUID.
    """
    return uuid.UUID(text) if _CORRELATION_ID(text) else None


_CORRELATION_ID = re.compile(
    r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
).fullmatch
