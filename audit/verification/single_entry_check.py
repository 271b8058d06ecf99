"""Checks rows that are added with one entry each, and never changed.

Rows that may change have revisions and several entries, which `row_check` follows.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.ledger.queries import Recorded

Row = TypeVar("Row")


def compare_with_entries(
    rows: Mapping[str, Row],
    events: Collection[str],
    is_as_recorded: Callable[[Row, Recorded], bool],
    difference: str,
) -> Iterator[str]:
    """Yield a sentence for each row that differs from its entry, and where one of them is missing.

    `rows` are all rows, by the subject of their entries. `difference` is the sentence about a row
    that is not as recorded, with `{subject}` in it.
    """
    without_entry = dict(rows)
    for entry in queries.iter_entries_of_events(events):
        row = without_entry.pop(entry.subject, None)
        if row is None:
            sentence = _("{subject} is in the ledger, but its row is missing.")
            yield sentence.format(subject=entry.subject)
        elif not is_as_recorded(row, entry):
            yield difference.format(subject=entry.subject)
    for subject in without_entry:
        yield _("{subject} has no entry in the ledger.").format(subject=subject)
