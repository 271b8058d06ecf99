"""Loads and publishes the keys that sign checkpoints.

No key is in the database, so that a person who can write there can neither sign nor substitute a
key. The private key is a PKCS8 PEM file, AUDIT_KEY_FILE, which only its owner can read. Public keys
are in `ANCHOR_DIR/vkeys.txt`, one on each line, in the order in which they came into force:

    VKEY FIRST_SIZE SINCE

A key signs checkpoints from FIRST_SIZE on, until the FIRST_SIZE of the next line. Lines are only
added to the file. Its lock prevents the replacement of a key while it signs.
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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from audit.files import durable
from audit.signing.signed_note import BadNote, Signer, Verifier

OTHERS_ALL = 0o077  # all permissions of group and others
OTHERS_WRITE = 0o022
_NO_KEY_YET = gettext_noop(
    "There is no key yet: nothing is signed. Run `manage.py audit_keys create`."
)
_UNREADABLE = gettext_noop("{file} cannot be read: {reason}.")
_UNWRITABLE = gettext_noop("{file} cannot be written: {reason}.")


class KeyProblem(Exception):
    """No key can be used for signing. The message states the reason and what to do."""


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """A public key and the sizes of the checkpoints that it signs, from `first` up to `last`."""

    verifier: Verifier
    first: int
    since: str  # when it came into force, in UTC, as in 2026-11-24T08:00:00Z
    last: int | None = None  # a checkpoint that the next key signed too. None: it is in force


def get_public_file() -> Path:
    """Return the path of the file with all public keys."""
    return Path(settings.ANCHOR_DIR) / "vkeys.txt"


def get_private_file() -> Path:
    """Return the path of this host's private key."""
    return Path(settings.AUDIT_KEY_FILE)


def get_next_file() -> Path:
    """Return the path of the next private key during a key rotation."""
    return get_private_file().with_name(f"{get_private_file().name}.next")


def read_published_keys() -> list[PublishedKey]:
    """Return all keys that have signed, the oldest first. Raises KeyProblem."""
    try:
        lines = get_public_file().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        message = _(_UNREADABLE).format(file=get_public_file(), reason=error.strerror)
        raise KeyProblem(message) from error
    keys = []
    for number, line in enumerate(lines, 1):
        try:
            vkey, first, since = line.split(" ")
            keys.append(PublishedKey(Verifier.parse(vkey), int(first), since))
        except (BadNote, ValueError) as error:
            message = _("{file}: line {number} is not a key: {error}.")
            raise KeyProblem(
                message.format(file=get_public_file(), number=number, error=error)
            ) from error
    lasts = [key.first for key in keys[1:]]
    return [replace(key, last=last) for key, last in zip(keys, [*lasts, None], strict=False)]


def read_verifiers() -> list[Verifier]:
    """Return the keys that may have signed checkpoints of this ledger. Raises KeyProblem."""
    return [key.verifier for key in read_published_keys()]


def has_private_key() -> bool:
    """Return whether this host has a private key, whether or not it is usable."""
    try:
        return get_private_file().exists()
    except PermissionError:  # Another user owns the folder, as it should be for web processes.
        return False


@contextmanager
def hold_signing_key() -> Iterator[Signer]:
    """Yield the key to sign with. It is not replaced during the block. Raises KeyProblem."""
    if not get_public_file().exists():
        raise KeyProblem(_(_NO_KEY_YET))
    with _locked(fcntl.LOCK_SH):
        yield load_current_key()


@contextmanager
def lock_key_change() -> Iterator[None]:
    """Keep all other processes from signing and from changing keys during the block."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(operation: int) -> Iterator[None]:
    """Lock the file of public keys during the block. Creates it if it does not exist."""
    try:
        get_public_file().parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(get_public_file(), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        message = _("{file} cannot be opened: {reason}.")
        raise KeyProblem(message.format(file=get_public_file(), reason=error.strerror)) from error
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def load_current_key() -> Signer:
    """Return the private key of the last public one. Requires one of the two locks.

    Raises KeyProblem.
    """
    if not (keys := read_published_keys()):
        raise KeyProblem(_(_NO_KEY_YET))
    wanted = keys[-1].verifier
    for path in (get_private_file(), get_next_file()):
        try:
            if path.exists() and (signer := load_key(path)).verifier == wanted:
                return signer
        except PermissionError as error:  # Another user owns the folder.
            message = _(_UNREADABLE).format(file=path, reason=error.strerror)
            raise KeyProblem(message) from error
    message = _(
        "The current key is {key}, and {file} does not contain it. Copy it from the host that "
        "created it. If AUDIT_ORIGIN was changed, change it back."
    )
    raise KeyProblem(message.format(key=wanted.text, file=get_private_file()))


def publish_key(verifier: Verifier, first: int) -> None:
    """Put a key into force from the checkpoint of `first` entries on. Raises KeyProblem."""
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        durable.append_durably(get_public_file(), f"{verifier.text} {first} {since}\n")
    except OSError as error:
        message = _(_UNWRITABLE).format(file=get_public_file(), reason=error.strerror)
        raise KeyProblem(message) from error


def load_key(path: Path) -> Signer:
    """Load a private key. Raises KeyProblem if other users can read or replace the file."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & OTHERS_ALL:
            message = _("Other users can read {file}. Run `chmod 600 {file}`, or create a new key.")
            raise KeyProblem(message.format(file=path))
        if stat.S_IMODE(path.parent.stat().st_mode) & OTHERS_WRITE:
            message = _("Other users can put a key into {folder}. Run `chmod 700 {folder}`.")
            raise KeyProblem(message.format(folder=path.parent))
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        message = _(_UNREADABLE).format(file=path, reason=error.strerror)
        raise KeyProblem(message) from error
    except (TypeError, ValueError) as error:
        message = _("{file} is not a private key in PEM without a password.")
        raise KeyProblem(message.format(file=path)) from error
    if not isinstance(key, Ed25519PrivateKey):
        message = _("{file} contains another kind of key than Ed25519.")
        raise KeyProblem(message.format(file=path))
    try:
        signer = Signer(settings.AUDIT_ORIGIN, key)
        signer.verifier  # noqa: B018 - raises if the name is not valid
    except BadNote as error:
        raise KeyProblem(f"AUDIT_ORIGIN: {error}.") from error
    return signer


def load_or_create_key(path: Path) -> Signer:
    """Return the key in this file. Creates one if the file does not exist. Raises KeyProblem."""
    if not path.exists():
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            durable.write_private_file(path, pem)
        except OSError as error:
            message = _(_UNWRITABLE).format(file=path, reason=error.strerror)
            raise KeyProblem(message) from error
    return load_key(path)


def promote_next_key() -> None:
    """Replace the private key by the next one, so that this host keeps no copy of the old one."""
    get_next_file().replace(get_private_file())
    durable.fsync_folder(get_private_file().parent)
