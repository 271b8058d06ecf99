"""Reads and writes C2SP signed notes and tlog checkpoints.

Formats: c2sp.org/signed-note and c2sp.org/tlog-checkpoint, both v1.0.0. This module uses no Django,
no clock and no I/O. A note is text, an empty line, and a line for each signature. Several keys may
sign one note, and a reader ignores the lines of keys that it does not know. Keys are rotated this
way.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.translation import gettext as _

ED25519 = b"\x01"  # the byte of the signature type, in key ids and in keys
SIGNED_BY = "\u2014 "  # a signature line begins with an em dash and a space
MAX_QUOTED_CHARACTERS = 200  # of a text in an error
_NAME = re.compile(r"[^\s+]+").fullmatch
_SIZE = re.compile(r"0|[1-9][0-9]*").fullmatch


class BadNote(ValueError):
    """The text is no note, or none of the given keys signed it. The message has the reason."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key with its name. `text` is its vkey, `NAME+ID+KEY`, which people exchange."""

    name: str
    public: bytes  # 32 bytes

    def __post_init__(self) -> None:
        if not _NAME(self.name):
            message = _("a key's name has no spaces and no plus sign: {name!r}")
            raise BadNote(message.format(name=self.name))

    @property
    def key_id(self) -> bytes:
        """Return the first four bytes of the hash of name and key (C2SP signed-note)."""
        return hashlib.sha256(f"{self.name}\n".encode() + ED25519 + self.public).digest()[:4]

    @property
    def text(self) -> str:
        """Return the public key as text, `NAME+ID+KEY` (C2SP signed-note)."""
        return f"{self.name}+{self.key_id.hex()}+{_in_base64(ED25519 + self.public)}"

    @classmethod
    def parse(cls, text: str) -> "Verifier":
        """Parse a vkey. Raises BadNote if it is not the vkey of an Ed25519 key."""
        try:
            name, key_id, key = text.strip().split("+", 2)
            raw = base64.b64decode(key, validate=True)
        except (ValueError, binascii.Error) as error:
            message = _("not a key of the form NAME+ID+KEY: {text!r}")
            raise BadNote(message.format(text=text)) from error
        if raw[:1] != ED25519 or len(raw) != 33:
            raise BadNote(_("the key {name} is not an Ed25519 key").format(name=name))
        verifier = cls(name, raw[1:])
        if verifier.key_id.hex() != key_id:
            message = _("the key {name} has another id than it says: {id}")
            raise BadNote(message.format(name=name, id=key_id))
        return verifier

    def accepts(self, text: str, signature: bytes) -> bool:
        """Return whether this key made the signature of the text."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key with its name."""

    name: str
    private: Ed25519PrivateKey

    @property
    def verifier(self) -> Verifier:
        """Return the public key that belongs to the private key."""
        return Verifier(self.name, self.private.public_key().public_bytes_raw())

    def line(self, text: str) -> str:
        """Return the signature line for `text`."""
        signature = self.verifier.key_id + self.private.sign(text.encode())
        return f"{SIGNED_BY}{self.name} {_in_base64(signature)}\n"


@dataclass(frozen=True, slots=True)
class CheckpointText:
    """The content of a checkpoint: the name of a trail, its number of entries, and their root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """Return the signed text: origin, size and root, each on a line (C2SP tlog-checkpoint)."""
        return f"{self.origin}\n{self.size}\n{_in_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> "CheckpointText":
        """Parse the text of a note. Extension lines after the third are allowed and ignored.

        Raises BadNote.
        """
        try:
            origin, size, encoded, *_extensions = text.split("\n")
            root = base64.b64decode(encoded, validate=True)
        except (ValueError, binascii.Error) as error:
            message = _("not a checkpoint of three lines: {text!r}")
            raise BadNote(message.format(text=text[:MAX_QUOTED_CHARACTERS])) from error
        if not (origin and _SIZE(size) and len(root) == hashlib.sha256().digest_size):
            message = _("not an origin, a size and a root of 32 bytes: {text!r}")
            raise BadNote(message.format(text=text[:MAX_QUOTED_CHARACTERS]))
        return cls(origin, int(size), root)


def sign_note(text: str, signers: Sequence[Signer]) -> str:
    """Return the note of `text`, which ends with a line break, signed by each signer."""
    return f"{text}\n{''.join(signer.line(text) for signer in signers)}"


def open_note(note: str, verifiers: Iterable[Verifier]) -> tuple[str, list[Verifier]]:
    """Return the text of a note, and those of these keys that signed it.

    Raises BadNote if the signature of a known key is not valid, or if none of the keys signed.
    """
    text, gap, lines = note.rpartition("\n\n")
    if not gap or not lines.endswith("\n"):
        raise BadNote(_("not a signed note: text, an empty line and signature lines"))
    text += "\n"
    known = {(verifier.name, verifier.key_id): verifier for verifier in verifiers}
    signers = []
    for line in lines[:-1].split("\n"):
        name, signature = _parse_signature_line(line)
        if verifier := known.get((name, signature[:4])):
            if not verifier.accepts(text, signature[4:]):
                raise BadNote(_("the signature of {name} is not valid").format(name=name))
            signers.append(verifier)
    if not signers:
        raise BadNote(_("none of the given keys signed it"))
    return text, signers


def _parse_signature_line(line: str) -> tuple[str, bytes]:
    """Return the name, and the id of the key followed by the signature. Raises BadNote."""
    if not line.startswith(SIGNED_BY):
        raise BadNote(_("not a signature line: {line!r}").format(line=line[:MAX_QUOTED_CHARACTERS]))
    name, _space, encoded = line.removeprefix(SIGNED_BY).partition(" ")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        message = _("a signature that cannot be read, of {name!r}")
        raise BadNote(message.format(name=name)) from error
    if not _NAME(name) or len(raw) < 5:
        raise BadNote(_("not a signature line: {line!r}").format(line=line[:MAX_QUOTED_CHARACTERS]))
    return name, raw


def _in_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
