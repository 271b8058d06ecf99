"""Appends entries on PostgreSQL: the chain's lock, and the database function that links entries.

`audit.ledger.append_only` installs the function. The lock is released by the commit, which does not
wait for the disk (docs/adr/0035-django-commits-and-a-hook-waits-for-the-disk.md).
"""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from audit.ledger import chain
from audit.ledger.new_entry import LedgerError, NewEntry
from audit.ledger.tables import COLUMNS

LOCK = 0x51_7E_1ED6  # any constant: PostgreSQL's advisory lock of the one chain in this database
LOCK_TIMEOUT = "5s"  # longer means that a session is stuck, not that there is much to do
# A record without content, whose commit waits for the disk. PostgreSQL's log is written in order:
# when this record is on disk, so is everything that anybody committed before.
BARRIER = "SELECT pg_logical_emit_message(true, 'audit', '')"


def wait_for_disk() -> None:
    """Wait until everything that was committed before is on disk. Call it outside transactions."""
    with connection.cursor() as cursor:
        cursor.execute(BARRIER)


def _transaction_settings() -> str:
    """Return the statements that precede the lock. Both settings end with the transaction."""
    waits = f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';"
    return f"{waits} SET LOCAL synchronous_commit = off;" if settings.AUDIT_EARLY_RELEASE else waits


def lock_chain() -> None:
    """Take the chain's lock, which ends with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(f"{_transaction_settings()} SELECT pg_advisory_xact_lock({LOCK})")


# In READ COMMITTED each statement sees what was committed when it began, so the last one sees the
# tail after the wait. clock_timestamp() is the time now; now() is when the transaction began.
_LOCKED_TAIL = f"""
    SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock({LOCK});
    SELECT clock_timestamp(), seq, hash, body FROM audit_entry ORDER BY seq DESC LIMIT 1"""  # noqa: S608 - constants


def lock_tail(cursor: Any) -> tuple[tuple[int, str, str] | None, datetime]:
    """Take the chain's lock. Return number, hash and line of the last entry, and the time.

    Raises LedgerError unless the transaction is READ COMMITTED: a snapshot from before the lock
    would show an old tail.
    """
    cursor.execute(f"{_transaction_settings()} {_LOCKED_TAIL}")
    while cursor.description is None:  # the settings return no rows
        cursor.nextset()
    if (level := cursor.fetchone()[0]) != "read committed":
        raise LedgerError(f"the ledger needs READ COMMITTED, and this transaction is {level}")
    cursor.nextset()
    if (tail := cursor.fetchone()) is None:  # nor is there a time where there is no entry yet
        cursor.execute("SELECT clock_timestamp()")
        return None, cursor.fetchone()[0]
    now, *last = tail
    return tuple(last), now


# Separators of entries, and of the columns of an entry. No field and no detail contains control
# characters: `audit.ledger.chain` refuses them in fields, and JSON escapes them.
_ENTRY_SEPARATOR, _COLUMN_SEPARATOR = "\x1e", "\x1f"
_GIVEN_COLUMNS = {column: field for column, field in COLUMNS.items() if column not in chain.LINKED}
_given_values = itemgetter(*_GIVEN_COLUMNS.values())
_REFUSED = "SL001"  # an SQLSTATE of our own, which becomes LedgerError

# The fields that link an entry are empty in the given lines. They can be found safely, because they
# stand between quotes and commas that JSON would escape inside a value. In READ COMMITTED each
# statement sees what was committed when it began, so the second one sees the tail after the wait
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
    line := split_part(entry, E'\\x1f', {len(_GIVEN_COLUMNS) + 1});
    line := replace(line, ',"prev":"",', ',"prev":"' || prev || '",');
    line := replace(line, ',"recorded_at":"",', ',"recorded_at":"' || written || '",');
    line := replace(line, ',"seq":0,', ',"seq":' || n || ',');
    lines := lines || line;
    prevs := prevs || prev;
    prev := encode(sha256(convert_to(line, 'UTF8')), 'hex');
    hashes := hashes || prev;
  END LOOP;
  INSERT INTO {{schema}}.audit_entry
    (seq, prev, hash, recorded_at, body, {", ".join(_GIVEN_COLUMNS)})
  SELECT COALESCE(tail.seq, 0) + each.nr, each.prev, each.hash, moment, each.line,
    {", ".join(f"given[{place}]" for place in range(1, len(_GIVEN_COLUMNS) + 1))}
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


_APPEND_AND_READ = """SELECT audit_append(%s, %s, %s);
    SELECT seq, hash FROM audit_entry ORDER BY seq DESC LIMIT %s"""


def append_on_server(pending: Sequence[NewEntry]) -> None:
    """Let the server lock the chain and link these entries, with one message.

    Sets `seq` and `hash` of the entries, which are the last ones while the chain is locked.

    Raises LedgerError if the transaction is not READ COMMITTED or the ledger is another trail's.
    """
    given = [
        (*_given_values(entry.facts), chain.write_canonical(entry.facts, chain.MAX_LINE))
        for entry in pending
    ]
    # Each detail comes with the position of its entry among these, from 1.
    details = [
        (str(nr), each.salt, each.detail) for nr, each in enumerate(pending, 1) if each.detail
    ]
    values = [settings.AUDIT_TRAIL, _join_rows(given), _join_rows(details), len(pending)]
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"{_transaction_settings()} {_APPEND_AND_READ}", values)
            while cursor.description is None or cursor.description[0].name != "seq":
                cursor.nextset()
            for entry, (seq, hash_) in zip(reversed(pending), cursor.fetchall(), strict=True):
                entry.seq, entry.hash = seq, hash_
    except DatabaseError as error:
        cause: Any = error.__cause__
        if getattr(cause, "sqlstate", "") == _REFUSED:
            raise LedgerError(cause.diag.message_primary) from error
        raise


def _join_rows(rows: Sequence[tuple[str, ...]]) -> str:
    return _ENTRY_SEPARATOR.join(map(_COLUMN_SEPARATOR.join, rows))
