"""Inserts rows into the ledger's tables.

Only three modules call it: `audit.ledger.append` for entries and details,
`audit.signing.checkpoints` for checkpoints, and `audit.signing.anchors` for receipts. Nothing else
inserts there, not even the ORM or its bulk_create().
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from django.db import connection

Table = tuple[str, tuple[str, ...]]
Rows = Sequence[tuple[Any, ...]]

# The columns of audit_entry, each with the field of the line that it copies.
COLUMNS: Mapping[str, str] = {
    "seq": "seq",
    "prev": "prev",
    "event_id": "event_id",
    "recorded_at": "recorded_at",
    "event": "event",
    "subject": "subject",
    "site": "site",
    "doc_id": "doc_id",
    "from_state": "from",
    "to_state": "to",
    "code": "code",
    "correlation_id": "correlation_id",
    "actor": "actor",
}
ENTRY: Table = ("audit_entry", (*COLUMNS, "hash", "body"))
DETAIL: Table = ("audit_entrydetail", ("entry_id", "salt", "detail"))
CHECKPOINT: Table = (
    "audit_checkpoint",
    ("size", "head", "root", "frontier", "note", "created_at"),
)
RECEIPT: Table = (
    "audit_receipt",
    ("checkpoint_id", "anchor", "place", "proof", "anchored_at"),
)


def insert(table: Table, rows: Rows) -> None:
    """Insert rows in the caller's transaction.

    Raises IntegrityError if a trigger or a constraint refuses one.
    """
    name, columns = table
    placeholder = "?" if connection.vendor == "sqlite" else "%s"
    placeholders = ", ".join([placeholder] * len(columns))
    # The driver's own cursor is used because Django's costs as much as five rows.
    with connection.wrap_database_errors, closing(connection.connection.cursor()) as cursor:
        cursor.executemany(
            f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({placeholders})",  # noqa: S608 - constants
            rows,
        )


def copy(table: Table, rows: Rows) -> None:
    """Insert many rows on PostgreSQL with COPY, which takes an eighth of the time of `insert`.

    In COPY's text format no value may contain a tab or a line feed. None does: `audit.ledger.chain`
    refuses them in fields, and JSON escapes them. PostgreSQL would report too many columns.
    """
    name, columns = table
    lines = "\n".join([f"{row[0]}\t" + "\t".join(row[1:]) for row in rows] + [""])
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY {name} ({', '.join(columns)}) FROM STDIN") as into,
    ):
        into.write(lines.replace("\\", "\\\\"))
