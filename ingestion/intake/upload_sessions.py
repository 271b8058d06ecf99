"""A packet whose files come one by one: kept in the spool until it is submitted, or for a day.

`gathering/<id>/packet.json` says what is to come, `gathering/<id>/<n>` is what has come: written
beside and renamed, so that a file is there whole or not at all. A file may come in parts, which are
kept as `gathering/<id>/<n>@<offset>` until all of them have come. Nothing of it is registered
before `submit`; what is then registered is the register's business, under the key that opened the
packet.
The id is made of owner and key: opening it again finds it, and nobody else can name it.
"""

import fcntl
import json
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.core.files.base import File

from audit.files import durable
from ingestion.intake import quotas
from ingestion.intake.quotas import OpenUploads
from ingestion.intake.registration import (
    KeyReused,
    Submission,
    UploadedDocument,
    register_files,
)
from ingestion.models import Packet
from ingestion.storage import spool
from sites.models import Site

KEPT_SECONDS = 86_400  # since something came for it
_FOLDER = "gathering"
_PART = ".part"  # ends the name of what is not yet whole
_LOCK = ".lock"
_NAMES = uuid.UUID("7a2f5c0e-6d2a-4a53-9a0e-3f6f5a1c9b11")  # any constant


class NotOpen(Exception):
    """There is no such packet, it is somebody else's, or it was submitted."""


class Incomplete(Exception):
    """Files are missing; `numbers` says which."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(f"missing: {numbers}")
        self.numbers = numbers


class NotAsDeclared(Exception):
    """These bytes are not those that the packet was opened for."""


class WrongOffset(Exception):
    """A part does not begin where the ones before it end: at byte `received`."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received")
        self.received = received


@dataclass(frozen=True, slots=True)
class Expected:
    """One file that is to come."""

    filename: str
    document_type: str
    person: str
    sha256: str
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Gathered:
    packet_id: uuid.UUID
    site_id: str
    priority: int
    key: str
    files: tuple[Expected, ...]

    @property
    def folder(self) -> Path:
        return _folder(self.packet_id)

    def has(self, number: int) -> bool:
        return (self.folder / str(number)).exists()

    def received(self, number: int) -> int:
        """How many bytes of a file have come, from its beginning on."""
        return self.files[number].size if self.has(number) else _end(self.parts(number))

    def parts(self, number: int) -> list[tuple[int, Path]]:
        """The parts of a file that have come, each with its offset, in their order."""
        found = [(int(path.name.partition("@")[2]), path) for path in self._parts(number)]
        return sorted(found)

    def _parts(self, number: int) -> Iterator[Path]:
        found = self.folder.glob(f"{number}@*")
        return (path for path in found if path.suffix != _PART)

    @property
    def size(self) -> int:
        """Bytes of all its files, as declared."""
        return sum(each.size for each in self.files)

    def missing(self) -> list[int]:
        return [number for number in range(len(self.files)) if not self.has(number)]


def open_packet(
    *, owner: str, key: str, site_id: str, priority: int, files: Iterable[Expected]
) -> Gathered:
    """Idempotent under its key. Raises KeyReused and OverQuota, and keeps nothing then."""
    spool.path_of(_FOLDER).mkdir(parents=True, exist_ok=True)
    # Two who open a packet at once would both find room for one.
    with _alone(spool.path_of(f"{_FOLDER}{_LOCK}")):
        return _open_packet(owner, key, site_id, priority, tuple(files))


def _open_packet(
    owner: str, key: str, site_id: str, priority: int, files: tuple[Expected, ...]
) -> Gathered:
    _drop_old()
    packet_id = uuid.uuid5(_NAMES, f"{owner}\0{key}")
    wanted = Gathered(packet_id, site_id, priority, key, files)
    description = wanted.folder / "packet.json"
    if description.exists():
        if _of(json.loads(description.read_text())) != wanted:
            raise KeyReused(f"the key {key!r} was used for another packet")
        return wanted
    open_now = {said["packet_id"]: said for said in _descriptions()}
    own = [said for said in open_now.values() if said["owner"] == owner]
    quotas.refuse_beyond(
        OpenUploads(len(own) + 1, sum(map(_declared, own))),
        in_all=sum(map(_declared, open_now.values())) + quotas.bytes_of_drafts(),
        more=wanted.size,
    )
    quotas.refuse_without_room(wanted.size)
    wanted.folder.mkdir(parents=True, exist_ok=True)
    said = asdict(wanted) | {"packet_id": str(packet_id), "owner": owner}
    _write_whole(description, [json.dumps(said).encode()])
    return wanted


def find(packet_id: uuid.UUID, *, owner: str) -> Gathered:
    """Raises NotOpen."""
    try:
        said = json.loads((_folder(packet_id) / "packet.json").read_text())
    except FileNotFoundError:
        raise NotOpen(f"there is no open packet {packet_id}") from None
    if said["owner"] != owner:
        raise NotOpen(f"there is no open packet {packet_id}")
    return _of(said)


def receive(packet: Gathered, number: int, chunks: Iterable[bytes]) -> bool:
    """Keep a file. Return whether it is new.

    Raises NotAsDeclared and NoRoom, and keeps nothing then.
    """
    if packet.has(number):
        return False
    quotas.refuse_without_room(packet.files[number].size)
    _write_whole(packet.folder / str(number), chunks, sha256=packet.files[number].sha256)
    return True


def receive_part(packet: Gathered, number: int, offset: int, chunks: Iterable[bytes]) -> int:
    """Keep a part of a file that begins at byte `offset`. Return how many bytes have come.

    The last part makes the file: it is compared with its digest then. Raises WrongOffset,
    NotAsDeclared (and drops all parts) and NoRoom.
    """
    size = packet.files[number].size
    received = packet.received(number)
    is_to_join = received == size and not packet.has(number)  # the server died before it did
    if not is_to_join:
        if offset != received or received == size:
            raise WrongOffset(received)
        quotas.refuse_without_room(size - offset)
        _write_whole(packet.folder / f"{number}@{offset}", chunks)
    with _alone(packet.folder / _LOCK):
        parts = packet.parts(number)
        if _end(parts) > size:
            _drop(parts)
            raise NotAsDeclared(f"more than {size} bytes have come")
        if _end(parts) == size and not packet.has(number):
            _join(packet, number, parts)
    return packet.received(number)


def _join(packet: Gathered, number: int, parts: list[tuple[int, Path]]) -> None:
    target, sha256 = packet.folder / str(number), packet.files[number].sha256
    try:
        _write_whole(target, (path.read_bytes() for _, path in parts), sha256=sha256)
    finally:
        _drop(parts)


def _drop(parts: list[tuple[int, Path]]) -> None:
    for _, path in parts:
        path.unlink(missing_ok=True)


def _end(parts: list[tuple[int, Path]]) -> int:
    """The byte behind the last part that follows the ones before it without a gap."""
    end = 0
    for offset, path in parts:
        if offset == end:
            end += path.stat().st_size
    return end


def declared_bytes() -> int:
    """Bytes of all files of all open packets, as declared."""
    return sum(map(_declared, _descriptions()))


def _declared(said: dict[str, Any]) -> int:
    return sum(each["size"] for each in said["files"])


def _descriptions() -> Iterator[dict[str, Any]]:
    """Of every open packet, as `packet.json` has it."""
    for description in spool.path_of(_FOLDER).glob("*/packet.json"):
        with suppress(FileNotFoundError):  # submitted meanwhile
            yield json.loads(description.read_text())


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; the lock on this file goes with its holder."""
    with path.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def submit(packet: Gathered, *, site: Site, submission: Submission) -> Packet:
    """Register it, and forget it here. Raises Incomplete, and what the register raises."""
    if missing := packet.missing():
        raise Incomplete(missing)
    with ExitStack() as opened:
        files = [
            UploadedDocument(
                each.filename,
                each.document_type,
                each.person,
                File(opened.enter_context((packet.folder / str(number)).open("rb"))),
            )
            for number, each in enumerate(packet.files)
        ]
        registered = register_files(site, files, submission)
    # Registered and durable. If we die here, submitting again attaches to it under the same key.
    forget(packet)
    return registered


def forget(packet: Gathered) -> None:
    shutil.rmtree(packet.folder, ignore_errors=True)


def kept() -> Iterator[str]:
    """Keys in the spool of all that has come for packets that are open."""
    root = spool.path_of("")
    for path in (root / _FOLDER).glob("*/*"):
        if path.suffix != _PART and path.name != _LOCK:
            yield str(path.relative_to(root))


def _folder(packet_id: uuid.UUID) -> Path:
    return spool.path_of(f"{_FOLDER}/{packet_id}")


def _of(said: dict[str, Any]) -> Gathered:
    """The packet that `packet.json` describes."""
    files = tuple(Expected(**each) for each in said["files"])
    packet_id = uuid.UUID(said["packet_id"])
    return Gathered(packet_id, said["site_id"], said["priority"], said["key"], files)


def _write_whole(target: Path, chunks: Iterable[bytes], *, sha256: str = "") -> None:
    """Under its name when it is durable, and as declared; before, under nobody's."""
    part = target.with_name(f"{target.name}.{uuid.uuid4()}{_PART}")
    try:
        with part.open("xb") as out:
            written = durable.write(out, chunks)
            durable.sync(out)
        if sha256 and written.sha256 != sha256:
            raise NotAsDeclared("the bytes have another SHA-256")
        part.rename(target)
        durable.fsync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _drop_old() -> None:
    """Packets for which nothing has come for a day. A folder's time is that of its last file."""
    before = time.time() - KEPT_SECONDS
    root = spool.path_of(_FOLDER)
    for folder in root.iterdir():
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder, ignore_errors=True)
