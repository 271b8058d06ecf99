"""The ledger's tables, and the door to those that hold no entries.

`audit.signing.checkpoints` comes here with checkpoints, `audit.signing.anchors` with receipts;
entries and their details are `audit.ledger.append`'s. Nothing else inserts: not the ORM, not its
bulk_create().
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from django.db import connection

Table = tuple[str, tuple[str, ...]]
Rows = Sequence[tuple[Any, ...]]

# The columns of audit_entry, and the field of the line that each one copies.
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
    """In the caller's transaction. Raises IntegrityError for what the guards refuse."""
    name, columns = table
    mark = "?" if connection.vendor == "sqlite" else "%s"
    marks = ", ".join([mark] * len(columns))
    # The driver's own cursor: what Django does around it costs as much as five rows.
    with connection.wrap_database_errors, closing(connection.connection.cursor()) as cursor:
        cursor.executemany(
            f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608 - constants
            rows,
        )


def copy(table: Table, rows: Rows) -> None:
    """The same on PostgreSQL, for many: in COPY's text format, an eighth of executemany()'s time.

    No value has a tab or an end of line: `audit.ledger.chain` refuses them in fields, and JSON
    escapes them. PostgreSQL would find too many columns.
    """
    name, columns = table
    lines = "\n".join([f"{row[0]}\t" + "\t".join(row[1:]) for row in rows] + [""])
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY {name} ({', '.join(columns)}) FROM STDIN") as into,
    ):
        into.write(lines.replace("\\", "\\\\"))
