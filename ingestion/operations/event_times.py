"""Moments as text, cut off at the day, hour or minute: to be grouped by, on both databases.

Django's own Trunc calls Python for every row on SQLite: a second for a hundred thousand of them.
"""

from typing import Any

from django.db.models import CharField, Func
from django.db.models.sql.compiler import SQLCompiler

DAY, HOUR, MINUTE = 10, 13, 16  # characters of "2026-11-20 16:54"


class TruncatedTime(Func):
    """`Cut("settled_at", length=HOUR)` is "2026-11-20 16", in UTC."""

    arity = 1
    output_field = CharField()

    def __init__(self, moment: str, *, length: int) -> None:
        super().__init__(moment, length=length)

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        # As Django writes them: ISO 8601, without a zone.
        return self.as_sql(
            compiler, connection, template="substr(%(expressions)s, 1, %(length)s)", **context
        )

    def as_postgresql(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        template = (
            "left(to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), %(length)s)"
        )
        return self.as_sql(compiler, connection, template=template, **context)
