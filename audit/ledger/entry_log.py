"""Writes each ledger entry as a line of the log, after the commit that made it durable.

So every change of a state, every failure and every decision that the ledger has is in the log, with
its number in the chain and the head of the chain. The actor and the detail of an entry are left
out, because they may be personal data.
"""

import logging
from collections.abc import Sequence

from audit.ledger.new_entry import NewEntry

logger = logging.getLogger(__name__)

NAME = "name"  # the key of what the text of the line names after the event, in `NewEntry.logged`
# Events that operators should look at. All others are logged as INFO.
WARNING_EVENTS = frozenset(
    {
        "batch.failed",
        "chunk.released",
        "document.fetch_failed",
        "document.held",
        "job.failed",
        "job.released",
        "portal.breaker_opened",
        "portal.source_changed",
    }
)
_LOGGED_FIELDS = ("correlation_id", "site", "from", "to", "code")


def log_entries(entries: Sequence[NewEntry]) -> None:
    """Log the entries, in the order of the chain. Call it after the commit."""
    for entry in entries:
        event = str(entry.facts["event"])
        level = logging.WARNING if event in WARNING_EVENTS else logging.INFO
        if logger.isEnabledFor(level):
            text = f"{event} {entry.logged[NAME]}" if NAME in entry.logged else event
            own = {key: entry.facts[key] for key in _LOGGED_FIELDS if entry.facts[key]}
            chain = {"seq": entry.seq, "head": entry.hash}
            logged = {key: value for key, value in entry.logged.items() if key != NAME}
            logger.log(level, text, extra={**logged, **own, **chain})
