"""A packet whose files come one by one: kept in the spool until it is submitted, or for a day.

`gathering/<id>/packet.json` says what is to come, `gathering/<id>/<n>` is what has come: written
beside and renamed, so that a file is there whole or not at all. Nothing of it is registered before
`submit`; what is then registered is the register's business, under the key that opened the packet.
The id is made of owner and key: opening it again finds it, and nobody else can name it.
"""

import json
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from django.core.files.base import File

from audit import folders
from ingestion.intake.register import KeyReused, Submission, UploadedDocument, register_files
from ingestion.models import Packet
from ingestion.stores import spool
from sites.models import Site

KEPT_SECONDS = 86_400  # since something came for it
_FOLDER = "gathering"
_PART = ".part"  # ends the name of what is not yet whole
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

    def missing(self) -> list[int]:
        return [number for number in range(len(self.files)) if not self.has(number)]


def open_packet(
    *, owner: str, key: str, site_id: str, priority: int, files: Iterable[Expected]
) -> Gathered:
    """Idempotent under its key. Raises KeyReused."""
    _drop_old()
    packet_id = uuid.uuid5(_NAMES, f"{owner}\0{key}")
    wanted = Gathered(packet_id, site_id, priority, key, tuple(files))
    description = wanted.folder / "packet.json"
    if description.exists():
        if _read(packet_id) != wanted:
            raise KeyReused(f"the key {key!r} was used for another packet")
        return wanted
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
    return _read(packet_id)


def receive(packet: Gathered, number: int, chunks: Iterable[bytes]) -> bool:
    """Keep a file. Answers whether it is new. Raises NotAsDeclared, and keeps nothing then."""
    if packet.has(number):
        return False
    _write_whole(packet.folder / str(number), chunks, sha256=packet.files[number].sha256)
    return True


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
        if path.suffix != _PART:
            yield str(path.relative_to(root))


def _folder(packet_id: uuid.UUID) -> Path:
    return spool.path_of(f"{_FOLDER}/{packet_id}")


def _read(packet_id: uuid.UUID) -> Gathered:
    said = json.loads((_folder(packet_id) / "packet.json").read_text())
    files = tuple(Expected(**each) for each in said["files"])
    return Gathered(packet_id, said["site_id"], said["priority"], said["key"], files)


def _write_whole(target: Path, chunks: Iterable[bytes], *, sha256: str = "") -> None:
    """Under its name when it is durable, and as declared; before, under nobody's."""
    part = target.with_name(f"{target.name}.{uuid.uuid4()}{_PART}")
    try:
        with part.open("xb") as out:
            written = folders.write(out, chunks)
            folders.sync(out)
        if sha256 and written.sha256 != sha256:
            raise NotAsDeclared("the bytes have another SHA-256")
        part.rename(target)
        folders.fsync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _drop_old() -> None:
    """Packets for which nothing has come for a day. A folder's time is that of its last file."""
    before = time.time() - KEPT_SECONDS
    root = spool.path_of(_FOLDER)
    for folder in root.iterdir() if root.exists() else ():
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder, ignore_errors=True)
