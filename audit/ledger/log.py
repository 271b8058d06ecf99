"""Records events in the ledger: `with ledger():` around the change, `record()` for its entry.

`ledger()` opens the outermost transaction. Entries that are recorded inside are appended when the
block ends, as the last statements before the commit: the chain's lock is held as briefly as
possible, and never while the transaction waits for another lock. The change and its entries commit
together or not at all. An entry that was recorded in a savepoint is discarded if the savepoint is
rolled back.

`audit.ledger.append` writes the entries. `audit.ledger.recorded_row` records the events of rows
that number their own entries (docs/adr/0037-recorded-rows.md).
"""

import secrets
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from structlog.contextvars import get_contextvars

from audit.ledger import (
    actors,
    append,
    bound_rows,
    chain,
    context,
    queries,
)
from audit.ledger.actors import Actor
from audit.ledger.bound_rows import BoundKind
from audit.ledger.chain import write_time
from audit.ledger.entry_log import log_entries
from audit.ledger.new_entry import LedgerError, NewEntry

__all__ = ["LedgerError", "ledger", "record", "register_rules", "run_after_append", "write_time"]

_rules = ""


def register_rules(version: str) -> None:
    """Set the version of the rules that entries of people state if they name none (R35).

    Called once at start, because `audit` does not know the rules of the product.
    """
    global _rules  # noqa: PLW0603 - set once, at start
    _rules = version


@dataclass(frozen=True, slots=True)
class _AfterAppend:
    """A function that runs after the entries are appended.

    Registered with `on_commit`, like the entries, and for the same reason: Django drops it if its
    savepoint is rolled back. Run after the commit it does nothing.
    """

    function: Callable[[], None]

    def __call__(self) -> None:
        pass


class _OpenBlock(threading.local):
    """The connection on which a block is open in this thread, as Django's connections are."""

    database: BaseDatabaseWrapper | None = None


_open_block = _OpenBlock()


@contextmanager
def ledger() -> Iterator[None]:
    """Open the outermost transaction of a change and its entries. An inner block joins it.

    Raises RuntimeError inside a foreign `atomic()`, because the chain's lock would be held until
    that ends. Raises LedgerError at the end of the outermost block if an inner block failed and its
    exception was suppressed.

    Raises OperationalError or InterfaceError at the end if the connection is lost. Then only the
    rows show whether the change and its entries were committed; it is both or neither.
    """
    if _open_block.database:
        with transaction.atomic(savepoint=False):
            yield
        return
    with transaction.atomic(durable=True):
        _open_block.database = transaction.get_connection()
        try:
            yield
            _append_pending()
        finally:
            _open_block.database = None
    # The state and its entries are durable now. A process that dies before leaves neither.


def record(  # noqa: PLR0913 - the fields of the line; callers name each
    event: str,
    *,
    subject: str,
    by: Actor,
    n: int | None = None,
    site: str = "",
    doc_id: str = "",
    sha256: str = "",
    from_state: str = "",
    to_state: str = "",
    code: str = "",
    correlation_id: str = "",
    reason_code: str = "",
    detail: Mapping[str, Any] | None = None,
    occurred_at: datetime | None = None,
    rules: str = "",
    schema_version: str = "",
    logged: Mapping[str, Any] | None = None,
) -> None:
    """Record an event of `subject` that the actor `by` caused.

    `n` is the number of the entry among the entries of its subject, and no two of them have the
    same number: a second entry with it raises IntegrityError when the block ends, and nothing is
    changed. `RecordedRow.record` passes the number of the row, and an event that may happen only
    once passes 0. Otherwise the ledger numbers the entry when it is appended.

    Personal data and free text belong into `detail`. The facts that `audit.ledger.context` has
    about the person who acts are added to it, and the process is added to the name of software
    (`audit.ledger.actors`).

    The entry has the correlation ID of the request or command whose actor `by` is. Otherwise it has
    the given one, such as that of the row, or that of the current task (docs/adr/0060). After the
    commit, the entry is a line of the log (`audit.ledger.entry_log`). `logged` are values for this
    line that the entry does not have, such as the packet; those of structlog's context are added.

    Raises LedgerError outside `ledger()`, and NotCanonical for values that a line cannot contain.
    """
    if not (database := _open_block.database):
        raise LedgerError(f"{event} of {subject}: recorded outside `with ledger():`")
    origin_facts, bound = context.get_origin_facts(by.name), get_contextvars()
    bound_id = bound.get("correlation_id", "")
    salt, text = _seal_detail({**origin_facts, **(detail or {})})
    facts: dict[str, str | int] = {  # in the order of the line: sorting is faster then
        "actor": actors.add_process(by.name),
        "code": code,
        "correlation_id": (bound_id if origin_facts else "") or correlation_id or bound_id,
        "detail_commit": chain.compute_commitment(salt, text) if text else "",
        "doc_id": doc_id,
        "event": event,
        "event_id": "" if n is None else chain.compute_event_id(subject, n),
        "from": from_state,
        "occurred_at": write_time(occurred_at or datetime.now(UTC)),
        "prev": "",
        "reason_code": reason_code,
        "recorded_at": "",
        "role": by.role,
        "rules": rules or (_rules if origin_facts else ""),
        "schema_version": schema_version,
        "seq": 0,
        "sha256": sha256,
        "site": site,
        "software": settings.SOFTWARE_VERSION,
        "subject": subject,
        "to": to_state,
        "trail": settings.AUDIT_TRAIL,
        "v": chain.VERSION,
    }
    chain.format_line(
        facts
    )  # Raises here, where the traceback shows the caller, and not at the end.
    database.on_commit(NewEntry(facts, salt.hex(), text, {**bound, **(logged or {})}))


def run_after_append(function: Callable[[], None]) -> None:
    """Run a function once the entries of this block are appended, in the same transaction.

    Only redaction uses it: the database deletes a detail only if the entry of its redaction is
    there. The function runs under the chain's lock, so it must be short and take no other lock.
    """
    if not (database := _open_block.database):
        raise LedgerError("run_after_append() was called outside `with ledger():`")
    database.on_commit(_AfterAppend(function))


def _seal_detail(detail: dict[str, Any]) -> tuple[bytes, str]:
    """Return a new salt and the canonical text of a detail; both are empty without a detail."""
    if not detail:
        return b"", ""
    return secrets.token_bytes(16), chain.format_canonical(normalize_text(detail))


def normalize_text(value: Any) -> Any:
    """Return a detail with all text in NFC. Keyboards and file systems produce other forms."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {key: normalize_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [normalize_text(inner) for inner in value]
    return value


def _append_pending() -> None:
    """Append the entries that were recorded in the block."""
    if connection.needs_rollback:
        raise LedgerError(
            "an inner block failed and its exception was suppressed: nothing is saved"
        )
    pending, functions, foreign_hooks = _sort_hooks(connection.run_on_commit)
    # Foreign hooks run after the hook of the append: they may report that the change is saved.
    connection.run_on_commit = []
    if pending:
        _bind_rows(pending)
        _number_entries(pending)
        append.append_entries(pending)
        transaction.on_commit(partial(log_entries, pending))
    for each in functions:
        each.function()
    connection.run_on_commit += foreign_hooks


def _sort_hooks(hooks: Sequence[Any]) -> tuple[list[NewEntry], list[_AfterAppend], list[Any]]:
    """Return the entries, the functions of `run_after_append`, and the hooks of other code."""
    ours = (NewEntry, _AfterAppend)
    pending = [hook[1] for hook in hooks if isinstance(hook[1], NewEntry)]
    functions = [hook[1] for hook in hooks if isinstance(hook[1], _AfterAppend)]
    return pending, functions, [hook for hook in hooks if not isinstance(hook[1], ours)]


def _bind_rows(pending: Sequence[NewEntry]) -> None:
    """Add the digests of a row's fields to the last entry about each row that entries bind.

    All changes of the transaction are made by now, whether before or after their entries.
    """
    last: dict[BoundKind, dict[int, NewEntry]] = {}
    for entry in pending:
        if kind := bound_rows.find_kind_of_event(str(entry.facts["event"])):
            key = int(str(entry.facts["subject"]).rpartition(":")[2])
            last.setdefault(kind, {})[key] = entry
    for kind, entries in last.items():
        for key, digests in bound_rows.compute_row_digests(kind, entries.keys()).items():
            entry = entries[key]
            detail = orjson.loads(entry.detail) if entry.detail else {}
            salt, entry.detail = _seal_detail({**detail, bound_rows.ROW: digests})
            entry.salt = salt.hex()
            entry.facts["detail_commit"] = chain.compute_commitment(salt, entry.detail)


def _number_entries(pending: Sequence[NewEntry]) -> None:
    """Number the entries that came without a number: -1 minus the entries that their subject has.

    Negative numbers never meet the numbers of a row, which begin with 0, nor a number that an
    earlier release gave: each is below minus the number of all entries of its subject. The entries
    are counted under the chain's lock, so that two transactions never give the same number.
    """
    entries = [entry for entry in pending if not entry.facts["event_id"]]
    if not entries:
        return
    append.lock_chain()
    counts = Counter(queries.count_by_subject({str(entry.facts["subject"]) for entry in entries}))
    for entry in entries:
        subject = str(entry.facts["subject"])
        counts[subject] += 1
        entry.facts["event_id"] = chain.compute_event_id(subject, -counts[subject])
