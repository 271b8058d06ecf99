"""Reads rows in the order of a growing number, one page at a time.

It is for tables to which rows are only added: no transaction has to be open for a stable view. It
uses no cursor of the server, because PostgreSQL needs one message each to create, read, drain and
drop it.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def iter_pages(
    rows: "QuerySet[Any, tuple[Any, ...]]", key: str, after: int, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield pages of at most `size` rows whose `key` is above `after`, in the order of `key`.

    Each row must begin with its `key`.
    """
    while page := list(rows.filter(**{f"{key}__gt": after}).order_by(key)[:size]):
        yield page
        if len(page) < size:
            return
        after = page[-1][0]
