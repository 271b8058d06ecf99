"""How entries get behind the last one: lock, tail, rows, as a transaction's last statements.

`audit.log` alone comes here. Few entries, as nearly every change has, PostgreSQL links itself, in a
function of ours (`audit.guards` installs it): one message locks, links, commits and releases, and
whoever holds the chain's lock waits neither for a client nor for the disk. Many are linked here and
go in by COPY, as all are on SQLite, where BEGIN IMMEDIATE is the lock
(docs/adr/0019-the-lock-waits-for-nobody.md).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Protocol

import orjson
from django.conf import settings
from django.db import connection, transaction
from psycopg import OperationalError, pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from audit import chain, rows
from audit.rows import COLUMNS, Rows, Table

LOCK = 0x51_7E_1ED6  # any constant: PostgreSQL's advisory lock of the one chain in this database
LOCK_TIMEOUT = "5s"  # longer means that somebody sits on the lock, not that there is much to do
# Entries that the server links: the turns to and fro of a COPY cost as much as 30 of them, and one
# that it links as much as one and a half of a COPY.
FEW = 64
# A record of nothing, whose commit waits for the disk. The log is written in order: when this is
# on disk, so is all that was committed before, by anybody.
_BARRIER = "SELECT pg_logical_emit_message(true, 'audit', '')"
# The chain's lock goes with COMMIT, which does not wait for the disk; the barrier does, outside of
# it, together with others'.
_RELEASE = f"SET LOCAL synchronous_commit = off; COMMIT; {_BARRIER}"


class LedgerError(Exception):
    """The ledger is used in a way that could lose or misplace an entry."""


class Pending(Protocol):
    """An entry that waits for its number, its predecessor and its time: empty in `facts`."""

    @property
    def facts(self) -> dict[str, str | int]:
        """All fields of the line, which `chain.line` has accepted."""

    @property
    def salt(self) -> str: ...  # in hex
    @property
    def detail(self) -> str: ...  # canonical, or ""


def extend(pending: Sequence[Pending], *, is_the_end: bool) -> None:
    """Append the entries inside the caller's transaction, and end that where it may be ended.

    Raises IntegrityError for what the database refuses, LedgerError where the tail could be an old
    one or another trail's: then nothing is appended.
    """
    # Inside a savepoint the transaction is not ours: that of a test.
    releases = is_the_end and settings.AUDIT_EARLY_RELEASE and not connection.savepoint_ids
    if connection.vendor != "postgresql":
        _link(pending, rows.insert)
    elif len(pending) <= FEW:
        _have_linked(pending, _RELEASE if releases else "")
    else:
        _link(pending, rows.copy)
        if releases:
            with connection.cursor() as cursor:
                cursor.execute(_RELEASE)


def flush_barrier() -> None:
    """Wait until all is on disk that anybody committed before.

    For who passes on entries that others wrote: these may be seen before they are durable. Raises
    RuntimeError inside a transaction, whose own end would come too late.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(_BARRIER)


def written(moment: datetime) -> str:
    """A time as lines have it: UTC, always with microseconds. Raises ValueError without a zone."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


# --- linked here ---------------------------------------------------------------------------------

_copied = itemgetter(*COLUMNS.values())


def _link(pending: Sequence[Pending], put: Callable[[Table, Rows], None]) -> None:
    seq, prev, now = _tail()
    recorded_at, column = written(now), str(connection.ops.adapt_datetimefield_value(now))
    entries: list[tuple[Any, ...]] = []
    details: list[tuple[Any, ...]] = []
    for entry in pending:
        seq += 1
        fields = entry.facts | {"prev": prev, "recorded_at": recorded_at, "seq": seq}
        body = chain.rewritten(fields, chain.MAX_LINE)
        prev = chain.digest(body)
        fields["recorded_at"] = column
        entries.append((*_copied(fields), prev, body))
        if entry.detail:
            details.append((seq, entry.salt, entry.detail))
    put(rows.ENTRY, entries)
    if details:
        put(rows.DETAIL, details)


def _tail() -> tuple[int, str, datetime]:
    """Number and hash of the last entry and the time, all read under the chain's lock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            row, now = _locked_tail(cursor)
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
# In READ COMMITTED each statement sees what was committed when it began: the last one sees the tail
# of after the wait. clock_timestamp() is the time now; now() is when the transaction began.
_LOCKED_TAIL = f"""SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock({LOCK});
    SELECT clock_timestamp(), seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1"""  # noqa: S608 - constants


def _locked_tail(cursor: Any) -> tuple[tuple[int, str, str] | None, datetime]:
    cursor.execute(_LOCKED_TAIL)
    cursor.nextset()
    if (level := cursor.fetchone()[0]) != "read committed":
        # A snapshot from before the lock would show an old tail.
        raise LedgerError(f"the ledger needs READ COMMITTED, and this transaction is {level}")
    cursor.nextset()
    if (tail := cursor.fetchone()) is None:  # nor is there a time where there is no entry yet
        cursor.execute("SELECT clock_timestamp()")
        return None, cursor.fetchone()[0]
    now, *last = tail
    return tuple(last), now


# --- linked by PostgreSQL -------------------------------------------------------------------------

# What stands between entries, and between an entry's columns: no field and no detail has control
# characters (`audit.chain` refuses them, and JSON escapes them).
_BETWEEN_ENTRIES, _BETWEEN_COLUMNS = "\x1e", "\x1f"
_GIVEN = {column: field for column, field in COLUMNS.items() if column not in chain.LINKED}
_given = itemgetter(*_GIVEN.values())
_REFUSED = "SL001"  # an SQLSTATE of our own: becomes LedgerError

# The lines come with nothing in the fields that link them; that these stand between quotes and
# commas which JSON would escape inside a value makes them safe to find. In READ COMMITTED each
# statement sees what was committed when it began: the second one sees the tail of after the wait
# for the lock. clock_timestamp() is the time now; now() is when the transaction began.
APPEND = f"""
DECLARE
  tail record;
  moment timestamptz;
  written text;
  entry text;
  line text;
  prev text;
  n bigint;
  lines text[];
  prevs text[];
  hashes text[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the ledger needs READ COMMITTED, and this transaction is %',
      current_setting('transaction_isolation') USING ERRCODE = '{_REFUSED}';
  END IF;
  PERFORM pg_advisory_xact_lock({LOCK});
  SELECT seq, hash, body INTO tail FROM {{schema}}.audit_entry ORDER BY seq DESC LIMIT 1;
  IF tail.body::json ->> 'trail' <> trail THEN
    RAISE EXCEPTION 'this ledger is ''%'', but AUDIT_TRAIL is ''%''', tail.body::json ->> 'trail',
      trail USING ERRCODE = '{_REFUSED}';
  END IF;
  moment := clock_timestamp();
  n := COALESCE(tail.seq, 0);
  prev := COALESCE(tail.hash, '{chain.GENESIS}');
  written := to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
  FOREACH entry IN ARRAY string_to_array(entries, E'\\x1e') LOOP
    n := n + 1;
    line := split_part(entry, E'\\x1f', {len(_GIVEN) + 1});
    line := replace(line, ',"prev":"",', ',"prev":"' || prev || '",');
    line := replace(line, ',"recorded_at":"",', ',"recorded_at":"' || written || '",');
    line := replace(line, ',"seq":0,', ',"seq":' || n || ',');
    lines := lines || line;
    prevs := prevs || prev;
    prev := encode(sha256(convert_to(line, 'UTF8')), 'hex');
    hashes := hashes || prev;
  END LOOP;
  INSERT INTO {{schema}}.audit_entry
    (seq, prev, hash, recorded_at, body, {", ".join(_GIVEN)})
  SELECT COALESCE(tail.seq, 0) + each.nr, each.prev, each.hash, moment, each.line,
    {", ".join(f"given[{place}]" for place in range(1, len(_GIVEN) + 1))}
  FROM unnest(string_to_array(entries, E'\\x1e'), lines, prevs, hashes)
    WITH ORDINALITY AS each(entry, line, prev, hash, nr),
    LATERAL (SELECT string_to_array(each.entry, E'\\x1f') AS given OFFSET 0) AS columns;
  IF details <> '' THEN
    INSERT INTO {{schema}}.audit_entrydetail (entry_id, salt, detail)
    SELECT COALESCE(tail.seq, 0) + given[1]::bigint, given[2], given[3]
    FROM unnest(string_to_array(details, E'\\x1e')) AS each(detail),
      LATERAL (SELECT string_to_array(each.detail, E'\\x1f') AS given OFFSET 0) AS columns;
  END IF;
END """  # noqa: S608 - constants


def _have_linked(pending: Sequence[Pending], then: str) -> None:
    quote = pq.Escaping(connection.connection.pgconn).escape_literal
    values = settings.AUDIT_TRAIL, _entries(pending), _details(pending)
    literals = ", ".join(quote(value.encode()).decode() for value in values)
    _send(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; SELECT audit_append({literals}); {then}")


def _entries(some: Sequence[Pending]) -> str:
    lines = [(*_given(each.facts), chain.rewritten(each.facts, chain.MAX_LINE)) for each in some]
    return _BETWEEN_ENTRIES.join(map(_BETWEEN_COLUMNS.join, lines))


def _details(some: Sequence[Pending]) -> str:
    """With the place of the entry among these, from 1."""
    each = [(str(nr), it.salt, it.detail) for nr, it in enumerate(some, 1) if it.detail]
    return _BETWEEN_ENTRIES.join(map(_BETWEEN_COLUMNS.join, each))


def _send(statements: str) -> None:
    """By libpq's own call, which costs a third of a cursor's. It lets other threads work."""
    pgconn = connection.connection.pgconn
    if pgconn.transaction_status == pq.TransactionStatus.IDLE:
        statements = f"BEGIN; {statements}"  # as a cursor would
    with connection.wrap_database_errors:
        answer = pgconn.exec_(statements.encode())
        if answer.status == pq.ExecStatus.FATAL_ERROR:
            raise _error(answer)


def _error(answer: PGresult) -> Exception:
    error = error_from_result(answer)
    if error.sqlstate == _REFUSED:
        return LedgerError(error.diag.message_primary)
    # An answer of libpq's own has no code: the connection broke.
    return error if error.sqlstate else OperationalError(str(error))
