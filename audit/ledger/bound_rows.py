"""Defines bound rows: accounts, API tokens and other rows whose every change is a ledger entry.

The last entry of a transaction about such a row (`user.created`, `user.changed`) contains a digest
of each of the row's fields at the end of the transaction, in the detail under `row`. With them
`audit.verification.row_check` finds out whether a row is still as it was recorded, and whether an
entry names each difference between two entries. They are digests because passwords and keys do not
belong in the ledger. The redaction of a detail deletes them too.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Model, QuerySet

from audit.ledger.chain import write_time

ROW = "row"  # the key of the digests, in a detail
CREATED, CHANGED, DELETED, RECORDED = "created", "changed", "deleted", "recorded"
_DIGEST_LENGTH = 32  # hex digits: 128 bits, for which no second preimage can be found

Digests = dict[str, str]  # of the fields of a row, by name
# Returns values that belong to rows of a model and are stored in other tables, by name and then by
# primary key. The model is an argument because a migration has its own.
RelatedValues = Callable[[type[Model], Collection[int]], Mapping[str, Mapping[int, Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class BoundKind:
    """A kind of bound rows. Subjects and events contain its name: `user:7`, `user.changed`."""

    name: str
    model: type[Model]
    left_out: frozenset[str] = frozenset()  # fields that change without an entry
    related_values: RelatedValues = lambda _model, _keys: {}
    # Names in the changes of an entry that stand for fields with other names.
    stands_for: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def rows(self) -> "QuerySet[Any]":
        """Return all rows, also those that the model's default manager leaves out."""
        return self.model._meta.base_manager.all()

    def subject(self, key: int) -> str:
        """Return the subject in entries of the row with this primary key, such as `account:7`."""
        return f"{self.name}:{key}"

    @property
    def events(self) -> list[str]:
        """Return the events of the entries from which the row must follow."""
        return [f"{self.name}.{verb}" for verb in (CREATED, CHANGED, DELETED, RECORDED)]


KINDS: dict[str, BoundKind] = {}


def register_kind(kind: BoundKind) -> None:
    """Bind the rows of this kind from now on. This is idempotent."""
    KINDS[kind.name] = kind


def find_kind_of_event(event: str) -> BoundKind | None:
    """Return the kind whose rows this event binds, or None for all other events."""
    name, _, verb = event.rpartition(".")
    return KINDS.get(name) if verb in {CREATED, CHANGED, RECORDED} else None


@contextmanager
def bind_as(kind: BoundKind) -> Iterator[None]:
    """Bind rows by this kind inside.

    A migration needs it: its model has the columns of its time.
    """
    usual = KINDS.get(kind.name)
    KINDS[kind.name] = kind
    try:
        yield
    finally:
        if usual:
            KINDS[kind.name] = usual
        else:
            del KINDS[kind.name]


def compute_row_digests(kind: BoundKind, keys: Collection[int]) -> dict[int, Digests]:
    """Return the digests of these rows as the database has them now, by primary key.

    Rows that do not exist are left out. This takes one query, and those of the related values.
    """
    related = kind.related_values(kind.model, keys)
    found = {}
    for row in kind.rows.filter(pk__in=keys):
        values = {
            each.name: each.value_from_object(row)
            for each in kind.model._meta.concrete_fields
            if each.name not in kind.left_out
        }
        values |= {name: by_key.get(row.pk, []) for name, by_key in related.items()}
        subject = kind.subject(row.pk)
        found[row.pk] = {
            name: compute_field_digest(subject, name, value) for name, value in values.items()
        }
    return found


def compute_field_digest(subject: str, name: str, value: Any) -> str:
    """Return the digest of one field of one row."""
    if isinstance(value, datetime):
        value = write_time(value)  # whatever zone the database returned it in
    elif not isinstance(value, str | bool | int | list | dict | None):
        value = str(value)
    text = orjson.dumps([subject, name, value], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:_DIGEST_LENGTH]


def compute_default_digests(kind: BoundKind, key: int, names: Iterable[str]) -> Digests:
    """Return the digests of these fields with their default values.

    Fields that a later release adds are in no entry of an earlier release, and begin with them.
    """
    fields = {each.name: each for each in kind.model._meta.concrete_fields}
    found = {}
    for name in names:
        value = fields[name].get_default() if name in fields else []
        found[name] = compute_field_digest(kind.subject(key), name, value)
    return found
