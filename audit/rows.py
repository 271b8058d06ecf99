"""The door to the ledger's tables. Nothing else inserts: not the ORM, not its bulk_create().

`audit.log` comes here with entries, `audit.checkpoints` with checkpoints, `audit.anchors` with
receipts. Who calls has opened the transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

Table = tuple[str, tuple[str, ...]]

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
# Rows that PostgreSQL takes in one message. COPY needs two more to and fro, but a row in the text
# of a message costs us 40 us of processor time, and one of a COPY 5.
FEW = 4


def insert(rows: Mapping[Table, Sequence[tuple[Any, ...]]], then: str = "") -> None:
    """The fastest ways in: all equal the raw driver, bulk_create() costs 4 to 9 times that.

    `then`: statements that PostgreSQL runs at once behind them, in the same message if it can be.
    Raises IntegrityError for what the guards refuse.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            for table, some in rows.items():
                cursor.executemany(_insertion(table, 1), some)
        elif sum(map(len, rows.values())) <= FEW:
            statements = [_insertion(table, len(some)) for table, some in rows.items() if some]
            values = [value for some in rows.values() for row in some for value in row]
            cursor.execute("; ".join([*statements, then]), values)
        else:
            for table, some in rows.items():
                if some:
                    _copy(cursor, table, some)
            if then:
                cursor.execute(then)


def _insertion(table: Table, count: int) -> str:
    name, columns = table
    marks = f"({', '.join(['%s'] * len(columns))})"
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES {', '.join([marks] * count)}"  # noqa: S608 - constants


def _copy(cursor: Any, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    name, columns = table
    with (
        connection.wrap_database_errors,
        cursor.copy(f"COPY {name} ({', '.join(columns)}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)
