"""Parses verification policies: which keys, places and quorum a verifier requires.

The format is c2sp.org/tlog-policy: lines `log`, `witness`, `group` and `quorum`, with lines
`place NAME` added. A policy is kept where this installation cannot change it. No Django, no clock,
no I/O.

A file is read as octets, decoded as Latin-1, so that names compare octet by octet as the format
demands. Cosignatures of witnesses cannot be verified yet: witnesses and groups are parsed, and a
policy whose quorum is not `none` is refused.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from audit.signing.signed_note import ED25519, BadNote, Verifier

NO_WITNESS = "none"  # predefined: the quorum that asks for no cosignature
COSIGNATURE_KEYS = {b"\x04": 32, b"\x06": 1312}  # Ed25519 and ML-DSA-44; bytes of a public key
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANKS = re.compile(r"[ \t]+")
_COUNT = re.compile(r"[1-9][0-9]*").fullmatch


class PolicyError(ValueError):
    """A policy that cannot be read or evaluated. The message names the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The requirements of a verifier: `logs` sign checkpoints, `places` have to vouch for them."""

    logs: tuple[Verifier, ...]
    places: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    """The definitions of the lines that are parsed so far."""

    logs: list[Verifier] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    witness_keys: set[bytes] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # of witnesses and groups, which share them
    members: set[str] = field(default_factory=set)  # names that a group has listed
    quorum: str = ""


def parse_policy(content: bytes) -> Policy:
    """Return the policy in a file's bytes. Raises PolicyError, which names the line."""
    draft, line_number = _Draft(), 0
    for line_number, line in enumerate(content.decode("latin-1").split("\n"), 1):
        try:
            _parse_line(draft, line)
        except PolicyError as error:
            raise PolicyError(f"Line {line_number}: {error}") from error
    if not draft.quorum:
        raise PolicyError("The policy has no quorum line. Add `quorum none`.")
    if not draft.logs:
        raise PolicyError(
            "The policy has no log line, so it pins no key. Add `log VKEY`, with the public key "
            "that was handed over to you."
        )
    return Policy(tuple(draft.logs), tuple(draft.places))


def _parse_line(draft: _Draft, line: str) -> None:
    if _FORBIDDEN.search(line):
        raise PolicyError("it has a control character; only tabs and line feeds are allowed.")
    keyword, *items = _BLANKS.split(line.strip(" \t"))
    if keyword.startswith("#") or not keyword:
        return
    if (add := _KEYWORDS.get(keyword)) is None:
        raise PolicyError(
            f"{_quote(keyword)} is not a line of a policy. Use {', '.join(_KEYWORDS)} or a comment "
            "that begins with #."
        )
    add(draft, items)


def _add_log(draft: _Draft, items: list[str]) -> None:
    if len(items) not in {1, 2}:
        raise PolicyError("write `log VKEY`, and after it a URL if you like.")
    try:
        log = Verifier.parse(_as_text(items[0]))
    except BadNote as error:
        raise PolicyError(f"{error}.") from error
    if log.public in {each.public for each in draft.logs}:
        raise PolicyError("this key is listed twice.")
    draft.logs.append(log)


def _add_witness(draft: _Draft, items: list[str]) -> None:
    if len(items) not in {2, 3}:
        raise PolicyError("write `witness NAME VKEY`, and after it a URL if you like.")
    key = _witness_key(items[1])
    if key in draft.witness_keys:
        raise PolicyError("this key is listed twice.")
    _define(draft, items[0])
    draft.witness_keys.add(key)


def _witness_key(vkey: str) -> bytes:
    """Return the public key. Raises PolicyError if the text is not a vkey of a known kind."""
    try:
        name, key_id, encoded = vkey.split("+", 2)
        raw = base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error) as error:
        raise PolicyError(f"not a key of the form NAME+ID+KEY: {_quote(vkey)}.") from error
    kind, public = raw[:1], raw[1:]
    if kind == ED25519:
        raise PolicyError("this is the key of a log; a witness has a key for cosignatures.")
    if COSIGNATURE_KEYS.get(kind) != len(public):
        raise PolicyError("this is not a key for cosignatures (Ed25519 or ML-DSA-44).")
    if hashlib.sha256(name.encode("latin-1") + b"\n" + raw).hexdigest()[:8] != key_id:
        raise PolicyError(f"the key {_quote(name)} has another id than it says: {_quote(key_id)}.")
    return public


def _add_group(draft: _Draft, items: list[str]) -> None:
    if len(items) < 3:
        raise PolicyError("write `group NAME all|any|K MEMBER...`.")
    name, threshold, *members = items
    for member in members:
        if member not in draft.names:
            raise PolicyError(f"{_quote(member)} is not defined on a line before.")
        if member in draft.members:
            raise PolicyError(f"{_quote(member)} is a member already; it may be one once.")
        draft.members.add(member)
    is_count = _COUNT(threshold) and int(threshold[:9]) <= len(members)
    if threshold not in {"all", "any"} and not is_count:
        raise PolicyError(f"write all, any, or a number from 1 to {len(members)} before members.")
    _define(draft, name)


def _define(draft: _Draft, name: str) -> None:
    if name == NO_WITNESS or name in draft.names:
        raise PolicyError(f"the name {_quote(name)} is taken.")
    draft.names.add(name)


def _set_quorum(draft: _Draft, items: list[str]) -> None:
    if len(items) != 1:
        raise PolicyError("write `quorum NAME`, or `quorum none`.")
    if draft.quorum:
        raise PolicyError("a policy has one quorum line, and this is the second.")
    if items[0] not in {NO_WITNESS, *draft.names}:
        raise PolicyError(f"{_quote(items[0])} is not defined on a line before.")
    if items[0] != NO_WITNESS:
        raise PolicyError(
            "this quorum asks for cosignatures of witnesses, which this version of SiteLedger "
            "cannot verify yet. Use `quorum none` and require places with `place NAME`."
        )
    draft.quorum = items[0]


def _add_place(draft: _Draft, items: list[str]) -> None:
    if len(items) != 1:
        raise PolicyError("write `place NAME`: the name has no spaces.")
    place = _as_text(items[0]).rstrip("/")
    if place in draft.places:
        raise PolicyError("this place is listed twice.")
    draft.places.append(place)


def _as_text(item: str) -> str:
    try:
        return item.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise PolicyError(f"{_quote(item)} is not UTF-8.") from error


def _quote(item: str) -> str:
    """Return the item in quotes for a message, decoded as UTF-8 and shortened."""
    return repr(item.encode("latin-1").decode(errors="replace")[:200])


_KEYWORDS: dict[str, Callable[[_Draft, list[str]], None]] = {
    "log": _add_log,
    "witness": _add_witness,
    "group": _add_group,
    "quorum": _set_quorum,
    "place": _add_place,
}
