"""Appends entries to the chain, as the last statements of a transaction.

Only `audit.ledger.log` calls this module. PostgreSQL itself links up to MAX_LINKED_ON_SERVER
entries, which nearly all transactions have at most, in a function of ours
(`audit.ledger.append_postgresql`): the chain's lock is not held while the server waits for the
client. More entries are linked here and inserted with COPY. On SQLite all entries are linked here,
and BEGIN IMMEDIATE is the lock.

On PostgreSQL the transaction commits without waiting for the disk, so that the lock is free sooner.
The first hook after the commit waits for the disk
(docs/adr/0035-django-commits-and-a-hook-waits-for-the-disk.md).
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

# A COPY costs as many round trips as 30 entries that the server links, and an entry that the server
# links costs one and a half entries of a COPY.
MAX_LINKED_ON_SERVER = 64


def append_entries(pending: Sequence[NewEntry]) -> None:
    """Append the entries inside the caller's transaction, under the chain's lock.

    With AUDIT_EARLY_RELEASE, the first `on_commit` hook waits until the commit is on disk. The
    caller must not have registered other hooks that report success before that.

    Raises IntegrityError for what the database refuses, and LedgerError if the tail that this
    transaction sees could be an old one or belongs to another trail. Nothing is appended then.
    """
    if connection.vendor != "postgresql":
        _link(pending, tables.insert)
        return
    if len(pending) <= MAX_LINKED_ON_SERVER:
        append_postgresql.append_on_server(pending)
    else:
        _link(pending, tables.copy)
    if settings.AUDIT_EARLY_RELEASE:
        transaction.on_commit(append_postgresql.wait_for_disk)


def lock_chain() -> None:
    """Take the chain's lock before `append_entries` does. The transaction has it until its end.

    SQLite needs none: BEGIN IMMEDIATE has locked the database already.
    """
    if connection.vendor == "postgresql":
        append_postgresql.lock_chain()


def flush_barrier() -> None:
    """Wait until everything that anybody committed before is on disk.

    For callers that pass on entries that others wrote: these can be visible before they are
    durable. Raises RuntimeError inside a transaction, whose own end would come too late.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic(durable=True):
            append_postgresql.wait_for_disk()


_copied_values = itemgetter(*COLUMNS.values())


def _link(pending: Sequence[NewEntry], insert: Callable[[Table, Rows], None]) -> None:
    """Link the entries to the last one, and insert them."""
    seq, prev, now = _locked_tail()
    recorded_at, column = chain.write_time(now), str(connection.ops.adapt_datetimefield_value(now))
    entries: list[tuple[Any, ...]] = []
    details: list[tuple[Any, ...]] = []
    for entry in pending:
        seq += 1
        fields = entry.facts | {"prev": prev, "recorded_at": recorded_at, "seq": seq}
        body = chain.write_canonical(fields, chain.MAX_LINE)
        prev = chain.compute_digest(body)
        entry.seq, entry.hash = seq, prev
        fields["recorded_at"] = column
        entries.append((*_copied_values(fields), prev, body))
        if entry.detail:
            details.append((seq, entry.salt, entry.detail))
    insert(tables.ENTRY, entries)
    if details:
        insert(tables.DETAIL, details)


def _locked_tail() -> tuple[int, str, datetime]:
    """Return number and hash of the last entry and the time, all read under the chain's lock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            row, now = append_postgresql.lock_tail(cursor)
    else:
        with connection.wrap_database_errors:  # without Django's cursor, as in `tables.insert`
            row = connection.connection.execute(_TAIL).fetchone()
        now = datetime.now(UTC)
    if row is None:
        return 0, chain.GENESIS, now
    seq, hash_, body = row
    if (trail := orjson.loads(body)["trail"]) != settings.AUDIT_TRAIL:
        raise LedgerError(f"this ledger is '{trail}', but AUDIT_TRAIL is '{settings.AUDIT_TRAIL}'")
    return seq, hash_, now


_TAIL = "SELECT seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1"
