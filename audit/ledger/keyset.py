"""Rows in the order of a number that only grows, a page at a time.

For tables that are only added to: no transaction has to be held for a stable view. And no cursor,
which PostgreSQL makes, asks, empties and drops, with a message for each.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def iter_pages(
    rows: "QuerySet[Any, tuple[Any, ...]]", key: str, after: int, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows whose `key` is above `after`. They come in its order, and begin with it."""
    while page := list(rows.filter(**{f"{key}__gt": after}).order_by(key)[:size]):
        yield page
        if len(page) < size:
            return
        after = page[-1][0]
