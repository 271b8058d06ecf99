"""Rows that entries bind: accounts, API tokens and others of which a ledger entry says all changes.

The last entry of a transaction about such a row (`user.created`, `user.changed`) carries a digest
of each of its fields, as the row is at the end of the transaction: in the detail, under `row`. So
`audit.verification.row_check` can tell whether a row is still the one that is on record, and
whether each difference between two entries is a change that an entry names. Digests and not values,
because a password or a key does not belong in the ledger, and because a detail that is redacted
takes them with it.
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
_DIGEST_LENGTH = 32  # hex digits: 128 bits, of which nobody finds a second preimage

Digests = dict[str, str]  # of a row's fields, by name
# What belongs to rows of a model and is kept in other tables: by name, then by primary key. The
# model is an argument, because a migration has one of its own.
Beside = Callable[[type[Model], Collection[int]], Mapping[str, Mapping[int, Any]]]


def _nothing(_model: type[Model], _keys: Collection[int]) -> Mapping[str, Mapping[int, Any]]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class BoundKind:
    """A kind of rows, as subjects and events name it: `user:7`, `user.changed`."""

    name: str
    model: type[Model]
    left_out: frozenset[str] = frozenset()  # fields that change without an entry
    beside: Beside = _nothing
    # Names in an entry's changes that stand for other fields than that of their own name.
    stands_for: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def rows(self) -> "QuerySet[Any]":
        return self.model._base_manager.all()  # noqa: SLF001 - documented: no row is left out

    def subject(self, key: int) -> str:
        return f"{self.name}:{key}"

    @property
    def events(self) -> list[str]:
        """Events of entries that the row has to follow from."""
        return [f"{self.name}.{verb}" for verb in (CREATED, CHANGED, DELETED, RECORDED)]


KINDS: dict[str, BoundKind] = {}


def register_kind(kind: BoundKind) -> None:
    """Bind rows of this kind from now on. Idempotent."""
    KINDS[kind.name] = kind


def kind_of(event: str) -> BoundKind | None:
    """Return the kind whose rows this event binds; None for all other events."""
    name, _, verb = event.rpartition(".")
    return KINDS.get(name) if verb in {CREATED, CHANGED, RECORDED} else None


@contextmanager
def bound_as(kind: BoundKind) -> Iterator[None]:
    """Bind rows by this kind meanwhile: a migration's, whose model has the columns of that time."""
    usual = KINDS.get(kind.name)
    KINDS[kind.name] = kind
    try:
        yield
    finally:
        if usual:
            KINDS[kind.name] = usual
        else:
            del KINDS[kind.name]


def row_digests(kind: BoundKind, keys: Collection[int]) -> dict[int, Digests]:
    """Return the digests of these rows as the database has them now, by primary key.

    Rows that are not there are left out. One query, and those of what is beside them.
    """
    beside = kind.beside(kind.model, keys)
    found = {}
    for row in kind.rows.filter(pk__in=keys):
        values = {
            each.name: each.value_from_object(row)
            for each in kind.model._meta.concrete_fields
            if each.name not in kind.left_out
        }
        values |= {name: by_key.get(row.pk, []) for name, by_key in beside.items()}
        subject = kind.subject(row.pk)
        found[row.pk] = {name: field_digest(subject, name, value) for name, value in values.items()}
    return found


def field_digest(subject: str, name: str, value: Any) -> str:
    """Return the digest of one field of one row."""
    text = orjson.dumps([subject, name, _plain(value)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:_DIGEST_LENGTH]


def default_digests(kind: BoundKind, key: int, names: Iterable[str]) -> Digests:
    """Return what these fields say in a row for which nobody has said anything.

    Fields that a later release adds are in no entry of an earlier one, and begin so.
    """
    fields = {each.name: each for each in kind.model._meta.concrete_fields}
    found = {}
    for name in names:
        value = fields[name].get_default() if name in fields else []
        found[name] = field_digest(kind.subject(key), name, value)
    return found


def _plain(value: Any) -> Any:
    """As JSON has it: times as in lines, whatever zone the database answers in."""
    if isinstance(value, datetime):
        return write_time(value)
    return value if isinstance(value, str | bool | int | list | dict | None) else str(value)
