"""The only door into the ledger: `with ledger():` around the change, `record()` for its entry.

`ledger()` opens the outermost transaction. What is recorded inside is held
back and appended on the way out, as the last statements before the commit:
the chain's lock is then held as briefly as can be, and never while another
lock is waited for. Change and entry commit together or not at all; an entry
recorded in a savepoint that is rolled back goes with it.

On PostgreSQL the append is also the commit, and the lock is released before the
disk is waited for (docs/adr/0019-the-lock-goes-before-the-flush.md).
"""

import secrets
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction

from audit import chain, context, rows
from audit.rows import COLUMNS

LOCK = 0x51_7E_1ED6  # any constant: PostgreSQL's advisory lock of the one chain in this database
LOCK_TIMEOUT = "5s"  # longer means that somebody sits on the lock, not that there is much to do

_copied = itemgetter(*COLUMNS.values())


class LedgerError(Exception):
    """The ledger is used in a way that could lose or misplace an entry."""


_rules = ""


def register_rules(version: str) -> None:
    """Which rules people decide under (R35): for entries that name none. `audit` knows of none."""
    global _rules  # noqa: PLW0603 - set once, at start
    _rules = version


@dataclass(frozen=True, slots=True)
class _Pending:
    """A recorded entry that waits for its number.

    Registered with `on_commit`, whose list Django prunes when a savepoint is rolled back; run
    after the commit it does nothing.
    """

    facts: dict[str, str | int]
    salt: str = ""
    detail: str = ""

    def __call__(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Afterwards:
    """What waits until the entries are appended. Registered with `on_commit`, as they are."""

    act: Callable[[], None]

    def __call__(self) -> None:
        pass


class _Here(threading.local):
    """Per thread, as Django's connections are."""

    is_open = False


_here = _Here()


@contextmanager
def ledger() -> Iterator[None]:
    """The outermost transaction of a change and its entries; an inner one joins it.

    Raises RuntimeError inside a foreign `atomic()`: the chain's lock would be held until that
    ends. When an inner block fails and the exception is swallowed, the outermost one raises.

    OperationalError and InterfaceError on the way out: the connection broke, and only the rows
    know whether change and entries are there; they are there together or not at all.
    """
    if _here.is_open:
        with transaction.atomic(savepoint=False):
            yield
        return
    with transaction.atomic(durable=True):
        _here.is_open = True
        try:
            yield
            _close()
        finally:
            _here.is_open = False
    # State and entries are durable now. Whoever dies before this line leaves neither.


def record(  # noqa: PLR0913 - the fields of the line; callers name each
    event: str,
    *,
    subject: str,
    n: int,
    actor: str,
    site: str = "",
    doc_id: str = "",
    sha256: str = "",
    from_state: str = "",
    to_state: str = "",
    code: str = "",
    correlation_id: str = "",
    role: str = "",
    reason_code: str = "",
    detail: Mapping[str, Any] | None = None,
    occurred_at: datetime | None = None,
    rules: str = "",
    schema_version: str = "",
) -> None:
    """Enter what happened to `subject` as its `n`-th transition.

    `n` is read from the subject's own row, so that a redelivered task collides: IntegrityError on
    the way out, and nothing is changed. Personal data and free text go into `detail`, and what
    `audit.context` knows of the asker joins it. Raises LedgerError outside `ledger()`,
    NotCanonical for what a line cannot hold.
    """
    if not _here.is_open:
        raise LedgerError(f"{event} of {subject}: recorded outside `with ledger():`")
    asker = context.facts_of(actor)
    salt, text = _sealed({**asker, **(detail or {})})
    # In the order of lines: to sort them would be a third of writing one.
    facts: dict[str, str | int] = {
        "actor": actor,
        "code": code,
        "correlation_id": correlation_id,
        "detail_commit": chain.commitment(salt, text) if text else "",
        "doc_id": doc_id,
        "event": event,
        "event_id": chain.event_id(subject, n),
        "from": from_state,
        "occurred_at": written(occurred_at or datetime.now(UTC)),
        "prev": "",
        "reason_code": reason_code,
        "recorded_at": "",
        "role": role,
        "rules": rules or (_rules if asker else ""),
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
    chain.line(facts)  # refused here, where the caller can be seen, and not on the way out
    transaction.on_commit(_Pending(facts, salt.hex(), text))


def afterwards(act: Callable[[], None]) -> None:
    """Have something done once this block's entries are appended, in the same transaction.

    For redaction alone: the database lets a detail go only when the entry of that is there. It
    runs under the chain's lock, so it must be short and wait for no other lock.
    """
    if not _here.is_open:
        raise LedgerError("nothing is appended outside `with ledger():`, nor done afterwards")
    transaction.on_commit(_Afterwards(act))


def written(moment: datetime) -> str:
    """A time as lines have it: UTC, always with microseconds. Raises ValueError without a zone."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _sealed(detail: dict[str, Any]) -> tuple[bytes, str]:
    """Salt and canonical text of a detail, or two empties."""
    if not detail:
        return b"", ""
    return secrets.token_bytes(16), chain.canonical(_composed(detail))


def _composed(value: Any) -> Any:
    """The same with all text in NFC. People's keyboards and file systems write other forms."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {key: _composed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_composed(inner) for inner in value]
    return value


def _close() -> None:
    """Append what is still pending, once all else is done."""
    if connection.needs_rollback:
        raise LedgerError("a part of this block failed and was passed over: nothing is saved")
    pending, later, connection.run_on_commit = _sorted_out(connection.run_on_commit)
    if pending:
        _append(pending, is_last=not later)
    for each in later:
        each.act()


def _sorted_out(hooks: Sequence[Any]) -> tuple[list[_Pending], list[_Afterwards], list[Any]]:
    """Ours, by their kinds, and those of others."""
    ours = (_Pending, _Afterwards)
    pending = [hook[1] for hook in hooks if isinstance(hook[1], _Pending)]
    later = [hook[1] for hook in hooks if isinstance(hook[1], _Afterwards)]
    return pending, later, [hook for hook in hooks if not isinstance(hook[1], ours)]


def _append(pending: Sequence[_Pending], *, is_last: bool) -> None:
    seq, prev, now = _tail()
    recorded_at, column = written(now), connection.ops.adapt_datetimefield_value(now)
    entries: list[tuple[Any, ...]] = []
    details: list[tuple[Any, ...]] = []
    for entry in pending:
        seq += 1
        fields = {**entry.facts, "seq": seq, "prev": prev, "recorded_at": recorded_at}
        body = chain.rewritten(fields, chain.MAX_LINE)  # record() checked the rest
        prev = chain.digest(body)
        entries.append((*_copied(fields | {"recorded_at": column}), prev, body))
        if entry.detail:
            details.append((seq, entry.salt, entry.detail))
    # What acts on an entry has to be in its transaction: then that ends when Django says so.
    rows.insert({rows.ENTRY: entries, rows.DETAIL: details}, _release() if is_last else "")


def flush_barrier() -> None:
    """Wait until all is on disk that anybody committed before.

    For who passes on entries that others wrote: these may be seen before they are durable. Raises
    RuntimeError inside a transaction, whose own end would come too late.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(_BARRIER)


def _tail() -> tuple[int, str, datetime]:
    """Number and hash of the last entry and the time, all read under the chain's lock."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            row, now = _locked_tail(cursor)
        else:
            # BEGIN IMMEDIATE is the lock: SQLite has one writer at a time.
            cursor.execute("SELECT seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1")
            row, now = cursor.fetchone(), datetime.now(UTC)
    if row is None:
        return 0, chain.GENESIS, now
    seq, hash_, body = row
    if (trail := orjson.loads(body)["trail"]) != settings.AUDIT_TRAIL:
        raise LedgerError(f"this ledger is '{trail}', but AUDIT_TRAIL is '{settings.AUDIT_TRAIL}'")
    return seq, hash_, now


# In one message, for a round trip costs more than any of them. In READ COMMITTED each statement
# sees what was committed when it began: the last one sees the tail of after the wait.
# clock_timestamp() is the time now; now() is when the transaction began.
_LOCKED_TAIL = f"""SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock({LOCK});
    SELECT clock_timestamp(), tail.* FROM (VALUES (1)) AS always LEFT JOIN
    (SELECT seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1) AS tail ON TRUE"""  # noqa: S608 - constants


def _locked_tail(cursor: Any) -> tuple[tuple[int, str, str] | None, datetime]:
    cursor.execute(_LOCKED_TAIL)
    cursor.nextset()
    if (level := cursor.fetchone()[0]) != "read committed":
        # A snapshot from before the lock would show an old tail.
        raise LedgerError(f"the ledger needs READ COMMITTED, and this transaction is {level}")
    cursor.nextset()
    now, *tail = cursor.fetchone()
    return (tuple(tail) if tail[0] is not None else None), now


# A record of nothing, whose commit waits for the disk. The log is written in order: when this is
# on disk, so is all that was committed before, by anybody.
_BARRIER = "SELECT pg_logical_emit_message(true, 'audit', '')"
# The chain's lock goes with COMMIT, which does not wait for the disk; the barrier does, outside of
# it, together with others'. In one message with the entries, for whoever holds the lock keeps all
# others waiting: there is no time for a round trip.
_RELEASE = f"SET LOCAL synchronous_commit = off; COMMIT; {_BARRIER}"


def _release() -> str:
    """What ends the transaction early, or "" where Django's own commit does."""
    # Inside a savepoint the transaction is not ours: that of a test.
    is_ours = connection.vendor == "postgresql" and not connection.savepoint_ids
    return _RELEASE if is_ours and settings.AUDIT_EARLY_RELEASE else ""
