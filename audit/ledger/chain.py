"""The hash chain under the ledger: canonical lines, digests, and the walk along them.

No Django, no clock, no I/O. An entry is one line of canonical JSON that names
its own number (`seq`) and its predecessor's hash (`prev`); its hash is the
SHA-256 of exactly the stored text. Stored text is hashed, never re-serialised.
The format is written down for inspectors in docs/audit-format.md.

Canonical is RFC 8785 on a restricted profile, on which every JSON library
agrees byte for byte: keys of `[a-z0-9_]`; values text, whole numbers below
2**53, booleans, null, lists and objects; never a float; text in NFC.
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

T = TypeVar("T")
R = TypeVar("R")
Fields = dict[str, Any]  # of a line
Columns = dict[str, tuple[Any, ...]]  # the fields of several lines: each one's values, in order

VERSION = 1
GENESIS = "0" * 64  # the `prev` of the first entry
MAX_LINE = 65_535  # bytes: C2SP tlog-tiles give an entry's length in 16 bits
MAX_FIELD = 500  # characters; PostgreSQL indexes at most 2,704 bytes
MAX_DETAIL = 1_048_576  # bytes; a detail is only committed to, so no format limits it

# Every line has all of these; "" stands where a field does not apply.
FIELDS = frozenset([
    "v", "trail", "seq", "prev", "event_id", "event", "subject", "site", "doc_id", "sha256",
    "from", "to", "code", "correlation_id", "actor", "role", "reason_code", "detail_commit",
    "occurred_at", "recorded_at", "software", "rules", "schema_version",
])  # fmt: skip

# What an entry gets only when it is appended: until then they are "", "" and 0.
LINKED = frozenset(["prev", "recorded_at", "seq"])

# The event of the subject `entry:SEQ` that takes out the detail of that entry.
REDACTED = "ledger.detail_redacted"

_NAMES = sorted(FIELDS)
_values = itemgetter(*_NAMES)
_FRAME = len('"":,') * len(FIELDS) + len("".join(FIELDS))  # characters around the values

_KEY = re.compile(r"[a-z0-9_]+").fullmatch
# They have no place in identifiers and codes: a terminal would obey them, and PostgreSQL
# cannot store NUL in a column.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]").search
_PLAIN = frozenset([str, int, bool, type(None)])
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonical(ValueError):
    """The value lies outside the profile; the message names the place."""


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """Where a chain stops holding, in words for people."""

    seq: int
    why: str
    expected: str
    found: str


class BrokenChain(Exception):
    """An entry does not hold. `found` carries the Break."""

    def __init__(self, found: ChainBreak) -> None:
        super().__init__(f"entry {found.seq}: {found.why}")
        self.found = found


def canonical(value: Mapping[str, Any], limit: int = MAX_DETAIL) -> str:
    """The one text of `value`. Raises NotCanonical outside the profile or above `limit` bytes."""
    text = write_canonical(value, limit)
    if not (text.isascii() and _is_flat(value)):
        _check(value, "the value")
    return text


def write_canonical(value: Mapping[str, Any], limit: int = MAX_DETAIL) -> str:
    """The same for what `canonical` or `line` took before, with other numbers and hashes in it."""
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError as error:  # orjson's own: lone surrogates, numbers from 2**53, other types
        raise NotCanonical(f"cannot be written as a ledger line: {error}") from error
    if len(text) > limit:
        raise NotCanonical(f"{len(text)} bytes long, and the limit is {limit}")
    return text.decode()


def _is_flat(value: Mapping[str, Any]) -> bool:
    """Whether good keys and plain values are all there is: the quick answer for most lines."""
    keys_are_good = FIELDS.issuperset(value) or (_KEY("".join(value)) and "" not in value)
    return bool(keys_are_good) and _PLAIN.issuperset(map(type, value.values()))


def _check(value: object, where: str) -> None:
    """What orjson lets pass: floats, times, tuples, odd keys, text that is not in NFC."""
    if isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not _KEY(key):
                raise NotCanonical(f"{where} has the key {key!r}; keys are of a-z, 0-9 and _")
            _check(inner, key)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, where)
    elif not (value is None or isinstance(value, int)):
        raise NotCanonical(f"{where} is a {type(value).__name__}: {value!r}")


def _check_text(text: str, where: str) -> None:
    if not unicodedata.is_normalized("NFC", text):
        raise NotCanonical(f"{where} is not in Unicode normal form C: {text[:99]!r}")


def line(fields: Mapping[str, str | int]) -> str:
    """The line of one entry. Raises NotCanonical unless it has exactly the fields of the format."""
    if fields.keys() != FIELDS:
        raise NotCanonical(f"fields missing or unknown: {sorted(fields.keys() ^ FIELDS)}")
    text = write_canonical(fields, MAX_LINE)
    if not (_is_plain(text) and _PLAIN.issuperset(map(type, fields.values()))):
        _check_fields(fields)
    return text


def _is_plain(text: str) -> bool:
    """Whether a line can be told to be good by its text alone: the quick answer for most."""
    # JSON escapes control characters, but DEL. What is fit for one field all together is so in
    # each.
    is_short = len(text) <= _FRAME + MAX_FIELD
    return is_short and text.isascii() and "\\" not in text and "\x7f" not in text


def _check_fields(fields: Mapping[str, str | int]) -> None:
    unfit = [name for name, value in fields.items() if _is_unfit(str(value))]
    if unfit:
        raise NotCanonical(f"too long, or with a control character: {', '.join(unfit)}")
    _check(fields, "the line")


def _is_unfit(text: str) -> bool:
    return len(text) > MAX_FIELD or _CONTROL(text) is not None


def write_time(moment: datetime) -> str:
    """A time as lines have it: UTC, always with microseconds. Raises ValueError without a zone."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def digest(text: str) -> str:
    """SHA-256 in hex: `printf %s "$LINE" | sha256sum`."""
    return hashlib.sha256(text.encode()).hexdigest()


def event_id(subject: str, n: int) -> str:
    """The identity of a subject's n-th transition: whoever records it twice collides."""
    return digest(canonical({"n": n, "subject": subject}))


def commitment(salt: bytes, detail: str) -> str:
    """Binds a detail to its line; the salt keeps guesses at short details from being confirmed."""
    return hashlib.sha256(salt + detail.encode()).hexdigest()


class Walk:
    """Follows a chain in the order of `seq`: from the first entry, or after `seq`.

    An entry is a row that begins with its number, its line and its hash.
    """

    __slots__ = ("_trail", "head", "seq")

    def __init__(self, seq: int = 0, head: str = GENESIS) -> None:
        self.seq = seq
        self.head = head
        self._trail: str | None = None

    def step(self, seq: int, text: str, hash_: str) -> Fields:
        """The fields of the next entry, which holds. Raises BrokenChain when it does not."""
        columns = self.look((seq,), (text,), (hash_,))
        self.go(seq, hash_)
        (fields,) = iter_fields(columns)
        return fields

    def follow(self, entries: Sequence[tuple[int, str, str]]) -> Iterator[Sequence[str]]:
        """The lines of the next entries, in as few parts as hold. Raises BrokenChain."""
        for part, _ in check_in_parts(lambda rows: self.look(*zip(*rows, strict=True)), entries):
            self.go(part[-1][0], part[-1][2])
            yield [text for _, text, _ in part]

    def look(
        self, seqs: tuple[int, ...], texts: tuple[str, ...], hashes: tuple[str, ...]
    ) -> Columns:
        """The fields of the next entries, all of which hold. The walk stays where it is.

        Raises BrokenChain when one does not hold: of several not always the first.
        """
        numbers = tuple(range(self.seq + 1, self.seq + 1 + len(seqs)))
        expect_each(seqs, "the numbers have a gap", numbers, seqs)
        found = tuple(map(digest, texts))
        expect_each(seqs, "the line was changed: its hash differs", hashes, found)
        fields = _parsed(seqs, texts)
        expect_each(seqs, "the line carries another number", seqs, fields["seq"])
        heads = self.head, *hashes[:-1]
        expect_each(seqs, "it does not follow the entry before it", heads, fields["prev"])
        trails = fields["trail"]
        self._trail = trails[0] if self._trail is None else self._trail
        expect_each(seqs, "it belongs to another trail", (self._trail,) * len(seqs), trails)
        return fields

    def go(self, seq: int, head: str) -> None:
        """On to an entry that was looked at."""
        self.seq, self.head = seq, head


def iter_fields(columns: Columns) -> Iterator[Fields]:
    """The fields of each of the lines."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def check_in_parts(
    check: Callable[[Sequence[T]], R], rows: Sequence[T]
) -> Iterator[tuple[Sequence[T], R]]:
    """All of them at once, when all pass the check; else one by one, up to the first that fails.

    Lists are compared more quickly than their items one after the other, and nearly all hold.
    Raises what the check does, which has to leave everything as it was when it fails.
    """
    try:
        checked = check(rows)
    except (BrokenChain, AttributeError, TypeError, ValueError):
        pass
    else:
        yield rows, checked
        return
    for row in rows:
        yield [row], check([row])


def _parsed(seqs: Sequence[int], texts: Sequence[str]) -> Columns:
    try:
        lines = list(map(orjson.loads, texts))
        values = list(map(_values, lines))
    except (KeyError, TypeError, orjson.JSONDecodeError):
        lines = values = []
    if {*map(len, lines)} != {len(FIELDS)}:
        values = [_values(_fields(*each)) for each in zip(seqs, texts, strict=True)]
    return dict(zip(_NAMES, zip(*values, strict=True), strict=True))


def _fields(seq: int, text: str) -> Fields:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict) or fields.keys() != FIELDS:
        raise BrokenChain(
            ChainBreak(seq, "the line has not the fields of the format", "", text[:200])
        )
    return fields


def expect(seq: int, why: str, expected: object, found: object) -> None:
    """Raise BrokenChain, saying why, unless both are equal."""
    if expected != found:
        raise BrokenChain(ChainBreak(seq, why, str(expected), str(found)))


def expect_each(
    seqs: Sequence[int], why: str, expected: tuple[object, ...], found: tuple[object, ...]
) -> None:
    """The same of several entries, in one comparison: which of them differs is asked then."""
    if expected != found:
        for seq, *both in zip(seqs, expected, found, strict=True):
            expect(seq, why, *both)
