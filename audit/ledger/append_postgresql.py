"""How PostgreSQL appends: the chain's lock, a function of ours that links entries, and its commit.

`audit.ledger.append_only` installs the function. The lock goes with COMMIT, which does not wait for
the disk; a barrier does, outside of it, together with others'
(docs/adr/0019-the-lock-waits-for-nobody.md).
"""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import connection
from psycopg import OperationalError, pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from audit.ledger import chain
from audit.ledger.new_entry import LedgerError, NewEntry
from audit.ledger.tables import COLUMNS

LOCK = 0x51_7E_1ED6  # any constant: PostgreSQL's advisory lock of the one chain in this database
LOCK_TIMEOUT = "5s"  # longer means that somebody sits on the lock, not that there is much to do
# A record of nothing, whose commit waits for the disk. The log is written in order: when this is
# on disk, so is all that was committed before, by anybody.
BARRIER = "SELECT pg_logical_emit_message(true, 'audit', '')"
# The chain's lock goes with COMMIT, which does not wait for the disk; the barrier does, outside of
# it, together with others'.
RELEASE = f"SET LOCAL synchronous_commit = off; COMMIT; {BARRIER}"

# In READ COMMITTED each statement sees what was committed when it began: the last one sees the tail
# of after the wait. clock_timestamp() is the time now; now() is when the transaction began.
_LOCKED_TAIL = f"""SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock({LOCK});
    SELECT clock_timestamp(), seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1"""  # noqa: S608 - constants


def locked_tail(cursor: Any) -> tuple[tuple[int, str, str] | None, datetime]:
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


# What stands between entries, and between an entry's columns: no field and no detail has control
# characters (`audit.ledger.chain` refuses them, and JSON escapes them).
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


def have_linked(pending: Sequence[NewEntry], then: str) -> None:
    quote = pq.Escaping(connection.connection.pgconn).escape_literal
    values = settings.AUDIT_TRAIL, _entries(pending), _details(pending)
    literals = ", ".join(quote(value.encode()).decode() for value in values)
    _send(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; SELECT audit_append({literals}); {then}")


def _entries(some: Sequence[NewEntry]) -> str:
    lines = [
        (*_given(each.facts), chain.write_canonical(each.facts, chain.MAX_LINE)) for each in some
    ]
    return _BETWEEN_ENTRIES.join(map(_BETWEEN_COLUMNS.join, lines))


def _details(some: Sequence[NewEntry]) -> str:
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
