"""The keys that sign checkpoints: private ones in a file of this host, public ones in the open.

Neither is in the database: whoever may write there can then neither sign nor pass off a key of
their own. Private keys are PKCS8 PEM in AUDIT_KEY_FILE, for their owner alone. Public ones are in
`ANCHOR_DIR/vkeys.txt`, a line each, in the order in which they came into force:

    VKEY FIRST_SIZE SINCE

A key signs checkpoints from FIRST_SIZE on, until the next line's. The file only grows, and its lock
keeps a key from being replaced while it signs.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from django.conf import settings

from audit.files import durable
from audit.signing.signed_note import BadNote, Signer, Verifier

_NONE_YET = "There is no key yet: nothing is signed. `manage.py audit_keys create`."


class KeyProblem(Exception):
    """There is no key to sign with, or none that may be used. The message says what to do."""


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """A public key and the checkpoints that it signs: from `first` on, and up to `last`."""

    verifier: Verifier
    first: int
    since: str  # when it came into force, as lines write times
    last: int | None = None  # which its successor signed as well; None: it is in force


def public_file() -> Path:
    return Path(settings.ANCHOR_DIR) / "vkeys.txt"


def private_file() -> Path:
    return Path(settings.AUDIT_KEY_FILE)


def next_file() -> Path:
    """Where the next key waits until the last word of the old one is anchored."""
    return private_file().with_name(f"{private_file().name}.next")


def published_keys() -> list[PublishedKey]:
    """All keys that ever signed, oldest first. Raises KeyProblem."""
    try:
        lines = public_file().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise KeyProblem(f"{public_file()} cannot be read: {error.strerror}.") from error
    keys = [_parsed(number, line) for number, line in enumerate(lines, 1)]
    lasts = [key.first for key in keys[1:]]
    return [replace(key, last=last) for key, last in zip(keys, [*lasts, None], strict=False)]


def _parsed(number: int, line: str) -> PublishedKey:
    try:
        vkey, first, since = line.split(" ")
        return PublishedKey(Verifier.parse(vkey), int(first), since)
    except (BadNote, ValueError) as error:
        raise KeyProblem(f"{public_file()}: line {number} is not a key: {error}.") from error


def verifiers() -> list[Verifier]:
    """What may stand under our checkpoints. Raises KeyProblem."""
    return [key.verifier for key in published_keys()]


def has_private_key() -> bool:
    """Whether this host has a private key. It may still be one that may not be used."""
    try:
        return private_file().exists()
    except PermissionError:  # the folder of another user, as it should be for the web's processes
        return False


@contextmanager
def signing_key() -> Iterator[Signer]:
    """The key to sign with, which nobody replaces meanwhile. Raises KeyProblem."""
    if not public_file().exists():
        raise KeyProblem(_NONE_YET)
    with _locked(fcntl.LOCK_SH):
        yield load_current_key()


@contextmanager
def exclusive_key_change() -> Iterator[None]:
    """Nobody signs, and nobody else changes keys, meanwhile."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(how: int) -> Iterator[None]:
    try:
        public_file().parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(public_file(), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise KeyProblem(f"{public_file()} cannot be opened: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def load_current_key() -> Signer:
    """The private key of the last public one. Inside one of the above. Raises KeyProblem."""
    if not (keys := published_keys()):
        raise KeyProblem(_NONE_YET)
    wanted = keys[-1].verifier
    for path in (private_file(), next_file()):
        try:
            if path.exists() and (signer := load_key(path)).verifier == wanted:
                return signer
        except PermissionError as error:  # the folder of another user
            raise KeyProblem(f"{path} cannot be read: {error.strerror}.") from error
    raise KeyProblem(
        f"The key in force is {wanted.text}, and {private_file()} does not hold it. Copy it from "
        "the host that made it; if AUDIT_ORIGIN was changed, change it back."
    )


def publish_key(verifier: Verifier, first: int) -> None:
    """It is in force from the checkpoint of size `first` on."""
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        durable.append_durably(public_file(), f"{verifier.text} {first} {since}\n")
    except OSError as error:
        raise KeyProblem(f"{public_file()} cannot be written: {error.strerror}.") from error


def load_key(path: Path) -> Signer:
    """Raises KeyProblem for a file that others can read, or that holds no such key."""
    try:
        _refuse_what_others_reach(path)
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise KeyProblem(f"{path} cannot be read: {error.strerror}.") from error
    except (TypeError, ValueError) as error:
        raise KeyProblem(f"{path} is not a private key in PEM without a password.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyProblem(f"{path} holds another kind of key than Ed25519.")
    try:
        signer = Signer(settings.AUDIT_ORIGIN, key)
        signer.verifier  # noqa: B018 - refuses a name that cannot be written
    except BadNote as error:
        raise KeyProblem(f"AUDIT_ORIGIN: {error}.") from error
    return signer


def _refuse_what_others_reach(path: Path) -> None:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise KeyProblem(f"{path} can be read by others. `chmod 600 {path}`, or make a new key.")
    if stat.S_IMODE(path.parent.stat().st_mode) & 0o022:
        raise KeyProblem(f"Others can put a key into {path.parent}. `chmod 700 {path.parent}`.")


def load_or_create_key(path: Path) -> Signer:
    """The key in this file, or a new one. Raises KeyProblem."""
    if not path.exists():
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            durable.write_private_file(path, pem)
        except OSError as error:
            raise KeyProblem(f"{path} cannot be written: {error.strerror}.") from error
    return load_key(path)


def promote_next_key() -> None:
    """The new key takes the old one's place, of which nothing is left on this host."""
    next_file().replace(private_file())
    durable.fsync_folder(private_file().parent)
