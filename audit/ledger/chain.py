"""Defines the hash chain of the ledger: canonical lines, their hashes, and how to check them.

This module uses no Django, no clock and no I/O. An entry is one line of canonical JSON that
contains its own number (`seq`) and the hash of its predecessor (`prev`). Its hash is the SHA-256 of
exactly the stored text: stored text is hashed and never serialised again. docs/audit-format.md
describes the format for inspectors.

Canonical means RFC 8785 on a restricted profile, on which all JSON libraries agree byte for byte:
keys of `[a-z0-9_]`; values are text, integers below 2**53, booleans, null, lists and objects; no
floats; text is in NFC.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, TypeVar

import orjson

from audit.translation import gettext, gettext_noop

T = TypeVar("T")
R = TypeVar("R")
Fields = dict[str, Any]  # of a line
Columns = dict[str, tuple[Any, ...]]  # the fields of several lines: the values of each, in order

VERSION = 1
GENESIS = "0" * 64  # the `prev` of the first entry
MAX_LINE = 65_535  # bytes: C2SP tlog-tiles store the length of an entry in 16 bits
MAX_FIELD = 500  # characters; PostgreSQL indexes at most 2,704 bytes
MAX_DETAIL = 1_048_576  # bytes; the line contains only a hash of it, so no format limits it

# Every line has all of these fields. A field that does not apply is "".
FIELDS = frozenset([
    "v", "trail", "seq", "prev", "event_id", "event", "subject", "site", "doc_id", "sha256",
    "from", "to", "code", "correlation_id", "actor", "role", "reason_code", "detail_commit",
    "occurred_at", "recorded_at", "software", "rules", "schema_version",
])  # fmt: skip

# Fields that an entry gets when it is appended. Until then they are "", "" and 0.
LINKED = frozenset(["prev", "recorded_at", "seq"])

# The event of the subject `entry:SEQ` by which the detail of that entry was redacted.
REDACTED = "ledger.detail_redacted"

_NAMES = sorted(FIELDS)
_values = itemgetter(*_NAMES)
_FRAME_LENGTH = len('"":,') * len(FIELDS) + len("".join(FIELDS))  # characters around the values

_KEY = re.compile(r"[a-z0-9_]+").fullmatch
# Control characters have no place in identifiers and codes: a terminal would interpret them, and
# PostgreSQL cannot store NUL in a column.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]").search
_SCALARS = frozenset([str, int, bool, type(None)])
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonical(ValueError):
    """The value lies outside the profile. The message names the place."""


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """States where and why a chain is broken. People read all parts: `why` is in their language."""

    seq: int
    why: str
    expected: str
    found: str


class BrokenChain(Exception):
    """An entry does not continue the chain, or was changed. `found` says where and why."""

    def __init__(self, found: ChainBreak) -> None:
        super().__init__(gettext("entry {seq}: {why}").format(seq=found.seq, why=found.why))
        self.found = found


def format_canonical(value: Mapping[str, Any], limit: int = MAX_DETAIL) -> str:
    """Return the canonical text of `value`.

    Raises NotCanonical if the value lies outside the profile or the text exceeds `limit` bytes.
    """
    text = write_canonical(value, limit)
    # Most details are flat: good keys and scalar values. They need no check of each value.
    has_good_keys = FIELDS.issuperset(value) or (_KEY("".join(value)) and "" not in value)
    is_flat = has_good_keys and _SCALARS.issuperset(map(type, value.values()))
    if not (text.isascii() and is_flat):
        _check(value, "the value")
    return text


def write_canonical(value: Mapping[str, Any], limit: int = MAX_DETAIL) -> str:
    """Return the text of a value that `format_canonical` or `format_line` accepted before.

    Only numbers and hashes in it may have changed since. Raises NotCanonical like
    `format_canonical`.
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError as error:  # orjson's own: lone surrogates, numbers from 2**53, other types
        raise NotCanonical(f"cannot be written as a ledger line: {error}") from error
    if len(text) > limit:
        raise NotCanonical(f"{len(text)} bytes long, and the limit is {limit}")
    return text.decode()


def _check(value: object, where: str) -> None:
    """Raise NotCanonical for values that orjson accepts and the profile does not.

    These are floats, times, tuples, keys with other characters, and text that is not in NFC.
    """
    if isinstance(value, str) and not unicodedata.is_normalized("NFC", value):
        raise NotCanonical(f"{where} is not in Unicode normal form C: {value[:99]!r}")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not _KEY(key):
                raise NotCanonical(f"{where} has the key {key!r}; keys are of a-z, 0-9 and _")
            _check(inner, key)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, where)
    elif not (value is None or isinstance(value, int | str)):
        raise NotCanonical(f"{where} is a {type(value).__name__}: {value!r}")


def format_line(fields: Mapping[str, str | int]) -> str:
    """Return the line of one entry.

    Raises NotCanonical unless `fields` are exactly the fields of the format and fit into a line.
    """
    if fields.keys() != FIELDS:
        raise NotCanonical(f"fields missing or unknown: {sorted(fields.keys() ^ FIELDS)}")
    text = write_canonical(fields, MAX_LINE)
    # Nearly all lines are accepted by their text alone: if all values together fit into one field,
    # each of them does. JSON escapes all control characters except DEL.
    is_short = len(text) <= _FRAME_LENGTH + MAX_FIELD
    is_plain = is_short and text.isascii() and "\\" not in text and "\x7f" not in text
    if is_plain and _SCALARS.issuperset(map(type, fields.values())):
        return text
    unfit = [
        name
        for name, value in fields.items()
        if len(str(value)) > MAX_FIELD or _CONTROL(str(value))
    ]
    if unfit:
        raise NotCanonical(f"too long, or with a control character: {', '.join(unfit)}")
    _check(fields, "the line")
    return text


def write_time(moment: datetime) -> str:
    """Return a time as lines contain it: in UTC, always with microseconds.

    Raises ValueError if the time has no zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def compute_digest(text: str) -> str:
    """Return the SHA-256 in hex, as `printf %s "$LINE" | sha256sum` does."""
    return hashlib.sha256(text.encode()).hexdigest()


def compute_event_id(subject: str, n: int) -> str:
    """Return the identity of an entry: a hash of its subject and of its number `n` among theirs.

    A unique constraint refuses a second entry with the same identity.
    """
    return compute_digest(format_canonical({"n": n, "subject": subject}))


def compute_commitment(salt: bytes, detail: str) -> str:
    """Return the hash that binds a detail to its line, in hex.

    The salt prevents that guesses of short details are confirmed by the hash.
    """
    return hashlib.sha256(salt + detail.encode()).hexdigest()


class Walk:
    """Checks consecutive entries, in the order of `seq`: from the first entry, or after `seq`.

    An entry is a row that begins with its number, its line and its hash. `seq` and `head` are the
    number and the hash of the last entry that was checked.
    """

    __slots__ = ("_trail", "head", "seq")

    def __init__(self, seq: int = 0, head: str = GENESIS) -> None:
        self.seq = seq
        self.head = head
        self._trail: str | None = None

    def step(self, seq: int, text: str, hash_: str) -> Fields:
        """Check the next entry and return its fields. Raises BrokenChain."""
        columns = self.check((seq,), (text,), (hash_,))
        self.advance(seq, hash_)
        (fields,) = iter_fields(columns)
        return fields

    def follow(self, entries: Sequence[tuple[int, str, str]]) -> Iterator[Sequence[str]]:
        """Yield the lines of the next entries after checking them, in as few parts as possible.

        Raises BrokenChain.
        """
        for part, _ in check_in_parts(lambda rows: self.check(*zip(*rows, strict=True)), entries):
            self.advance(part[-1][0], part[-1][2])
            yield [text for _, text, _ in part]

    def check(
        self, seqs: tuple[int, ...], texts: tuple[str, ...], hashes: tuple[str, ...]
    ) -> Columns:
        """Check the next entries and return their fields, without advancing.

        Raises BrokenChain for one that is wrong, which is not always the first of several.
        """
        numbers = tuple(range(self.seq + 1, self.seq + 1 + len(seqs)))
        expect_each(seqs, gettext_noop("the numbers have a gap"), numbers, seqs)
        found = tuple(map(compute_digest, texts))
        why = gettext_noop("the line was changed: its hash differs")
        expect_each(seqs, why, hashes, found)
        fields = _parse_lines(seqs, texts)
        why = gettext_noop("the line carries another number")
        expect_each(seqs, why, seqs, fields["seq"])
        heads = self.head, *hashes[:-1]
        why = gettext_noop("it does not follow the entry before it")
        expect_each(seqs, why, heads, fields["prev"])
        trails = fields["trail"]
        self._trail = trails[0] if self._trail is None else self._trail
        why = gettext_noop("it belongs to another trail")
        expect_each(seqs, why, (self._trail,) * len(seqs), trails)
        return fields

    def advance(self, seq: int, head: str) -> None:
        """Continue after an entry that was checked."""
        self.seq, self.head = seq, head


def iter_fields(columns: Columns) -> Iterator[Fields]:
    """Yield the fields of each line."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def check_in_parts(
    check: Callable[[Sequence[T]], R], rows: Sequence[T]
) -> Iterator[tuple[Sequence[T], R]]:
    """Yield all rows with the result of `check` if they pass together.

    Otherwise yields them one by one up to the first that fails, and raises what `check` raises. A
    failed `check` must leave everything as it was. To check rows together is faster, because lists
    are compared faster than their items one by one, and nearly all rows pass.
    """
    try:
        result = check(rows)
    except (BrokenChain, AttributeError, TypeError, ValueError):
        pass
    else:
        yield rows, result
        return
    for row in rows:
        yield [row], check([row])


def _parse_lines(seqs: Sequence[int], texts: Sequence[str]) -> Columns:
    """Return the fields of these lines. Raises BrokenChain if one has other fields."""
    try:
        lines = list(map(orjson.loads, texts))
        values = list(map(_values, lines))
    except (KeyError, TypeError, orjson.JSONDecodeError):
        lines = values = []
    if {*map(len, lines)} != {len(FIELDS)}:
        values = [_values(_parse_line(*each)) for each in zip(seqs, texts, strict=True)]
    return dict(zip(_NAMES, zip(*values, strict=True), strict=True))


def _parse_line(seq: int, text: str) -> Fields:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict) or fields.keys() != FIELDS:
        why = gettext("the line does not have the fields of the format")
        raise BrokenChain(ChainBreak(seq, why, "", text[:200]))
    return fields


def expect(seq: int, why: str, expected: object, found: object, /, **values: object) -> None:
    """Raise BrokenChain with the reason `why` unless both values are equal.

    The reason is a message that `gettext_noop` marks. It is translated, and `values` fill its
    placeholders, only if it is needed.
    """
    if expected != found:
        reason = gettext(why).format(**values)
        raise BrokenChain(ChainBreak(seq, reason, str(expected), str(found)))


def expect_each(
    seqs: Sequence[int],
    why: str,
    expected: tuple[object, ...],
    found: tuple[object, ...],
    /,
    **values: object,
) -> None:
    """Do the same for several entries with one comparison, and find the entry that differs."""
    if expected != found:
        for seq, *both in zip(seqs, expected, found, strict=True):
            expect(seq, why, *both, **values)
