"""How entries get behind the last one: lock, tail, rows, as a transaction's last statements.

`audit.ledger.log` alone comes here. Few entries, as nearly every change has, PostgreSQL links
itself, in a function of ours (`audit.ledger.append_postgresql`): one message locks, links, commits
and releases, and whoever holds the chain's lock waits neither for a client nor for the disk. Many
are linked here and go in by COPY, as all are on SQLite, where BEGIN IMMEDIATE is the lock
(docs/adr/0019-the-lock-waits-for-nobody.md).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction

from audit.ledger import append_postgresql, chain, tables
from audit.ledger.new_entry import LedgerError, NewEntry
from audit.ledger.tables import COLUMNS, Rows, Table

# Entries that the server links: the turns to and fro of a COPY cost as much as 30 of them, and one
# that it links as much as one and a half of a COPY.
MAX_LINKED_ON_SERVER = 64


def append_entries(pending: Sequence[NewEntry], *, is_the_end: bool) -> None:
    """Append the entries inside the caller's transaction, and end that where it may be ended.

    Raises IntegrityError for what the database refuses, LedgerError where the tail could be an old
    one or another trail's: then nothing is appended.
    """
    # Inside a savepoint the transaction is not ours: that of a test.
    releases = is_the_end and settings.AUDIT_EARLY_RELEASE and not connection.savepoint_ids
    if connection.vendor != "postgresql":
        _link(pending, tables.insert)
    elif len(pending) <= MAX_LINKED_ON_SERVER:
        append_postgresql.have_linked(pending, append_postgresql.RELEASE if releases else "")
    else:
        _link(pending, tables.copy)
        if releases:
            with connection.cursor() as cursor:
                cursor.execute(append_postgresql.RELEASE)


def flush_barrier() -> None:
    """Wait until all is on disk that anybody committed before.

    For who passes on entries that others wrote: these may be seen before they are durable. Raises
    RuntimeError inside a transaction, whose own end would come too late.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(append_postgresql.BARRIER)


_copied = itemgetter(*COLUMNS.values())


def _link(pending: Sequence[NewEntry], put: Callable[[Table, Rows], None]) -> None:
    seq, prev, now = _tail()
    recorded_at, column = chain.write_time(now), str(connection.ops.adapt_datetimefield_value(now))
    entries: list[tuple[Any, ...]] = []
    details: list[tuple[Any, ...]] = []
    for entry in pending:
        seq += 1
        fields = entry.facts | {"prev": prev, "recorded_at": recorded_at, "seq": seq}
        body = chain.write_canonical(fields, chain.MAX_LINE)
        prev = chain.digest(body)
        fields["recorded_at"] = column
        entries.append((*_copied(fields), prev, body))
        if entry.detail:
            details.append((seq, entry.salt, entry.detail))
    put(tables.ENTRY, entries)
    if details:
        put(tables.DETAIL, details)


def _tail() -> tuple[int, str, datetime]:
    """Number and hash of the last entry and the time, all read under the chain's lock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            row, now = append_postgresql.locked_tail(cursor)
    else:
        with connection.wrap_database_errors:  # past Django's cursor, as `rows.insert`
            row = connection.connection.execute(_TAIL).fetchone()
        now = datetime.now(UTC)
    if row is None:
        return 0, chain.GENESIS, now
    seq, hash_, body = row
    if (trail := orjson.loads(body)["trail"]) != settings.AUDIT_TRAIL:
        raise LedgerError(f"this ledger is '{trail}', but AUDIT_TRAIL is '{settings.AUDIT_TRAIL}'")
    return seq, hash_, now


_TAIL = "SELECT seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1"
