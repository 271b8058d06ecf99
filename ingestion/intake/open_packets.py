"""Opens, fills and submits the packet of a program, each step in a request of its own.

Nothing of an open packet is registered before `submit_packet`. Its rows (`OpenPacket`, `Upload`)
are no records; they are deleted when it is submitted or expires. Its id is derived from owner and
idempotency key, so opening it again finds it, and no other owner can address it.
"""

import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.utils import timezone

from ingestion.intake import quotas, upload_sessions
from ingestion.intake.quotas import OpenUploads
from ingestion.intake.registration import UploadedDocument, register_files
from ingestion.intake.submission import IdempotencyKeyReused, Submission
from ingestion.intake.submission_schemas import DeclaredDetails
from ingestion.models import OpenPacket, Packet, Upload
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.storage.spool import SpooledFile
from sites.models import Site

_NAMESPACE = uuid.UUID("7a2f5c0e-6d2a-4a53-9a0e-3f6f5a1c9b11")  # any constant


class OpenPacketNotFound(Exception):
    """There is no such open packet: it never existed, has another owner, or was submitted."""


class MissingFiles(Exception):
    """Files of the packet are not completely uploaded. `numbers` names them, from 0."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(f"missing: {numbers}")
        self.numbers = numbers


@dataclass(frozen=True, slots=True)
class DeclaredFile:
    """Describes a file of an open packet, as the program declared it."""

    filename: str
    document_type: str
    person: str
    sha256: str
    size: int  # bytes
    person_role: str = ""
    language: str = ""
    version: str = ""
    schema_version: str = ""  # "": the latest one

    @property
    def stored(self) -> dict[str, Any]:
        """Return the values that `OpenPacket.files` contains: without optional ones that are ""."""
        optional = {each.name for each in fields(self) if each.default == ""}
        values = asdict(self).items()
        return {name: value for name, value in values if value or name not in optional}

    def as_upload(self, content: "File[bytes] | SpooledFile") -> UploadedDocument:
        """Return the file with its content, as it is registered."""
        return UploadedDocument(
            self.filename,
            self.document_type,
            self.person,
            content,
            details=DeclaredDetails(self.person_role, self.language, self.version),
            schema_version=self.schema_version or SCHEMA_VERSIONS[-1],
        )


def open_packet(
    *, owner: str, key: str, site: Site, priority: int, files: Iterable[DeclaredFile]
) -> OpenPacket:
    """Create a packet for this owner and key, or return the existing one.

    Raises IdempotencyKeyReused if the existing one differs, and QuotaExceeded or SpoolFull if there
    is no room.
    """
    drop_expired_packets()
    declared = [each.stored for each in files]
    wanted = OpenPacket(
        id=uuid.uuid5(_NAMESPACE, f"{owner}\0{key}"),
        owner=owner,
        key=key,
        site=site,
        priority=priority,
        files=declared,
        size=sum(each["size"] for each in declared),
    )
    with transaction.atomic():
        # The site is locked. Otherwise two requests could use the rest of the quota twice.
        Site.objects.select_for_update(no_key=True).get(pk=site.pk)
        if existing := OpenPacket.objects.filter(pk=wanted.pk).first():
            if _description(existing) != _description(wanted):
                raise IdempotencyKeyReused(f"the key {key!r} was used for another packet")
            return existing
        own = OpenPacket.objects.filter(owner=owner).values_list("size", flat=True)
        quotas.check_quota(
            OpenUploads(len(own) + 1, sum(own)),
            in_all=quotas.count_waiting_bytes(),
            more=wanted.size,
        )
        quotas.check_free_space(wanted.size)
        wanted.save(force_insert=True)
    return wanted


def _description(packet: OpenPacket) -> tuple[object, ...]:
    return packet.site_id, packet.priority, packet.key, packet.files


def find_open_packet(packet_id: uuid.UUID, *, owner: str) -> OpenPacket:
    """Return an open packet of this owner. Raises OpenPacketNotFound if it has expired."""
    packet = OpenPacket.objects.filter(pk=packet_id, owner=owner).select_related("site").first()
    if packet is None or packet.expires_at < timezone.now():
        raise OpenPacketNotFound(f"there is no open packet {packet_id}")
    return packet


def list_declared_files(packet: OpenPacket) -> list[DeclaredFile]:
    """Return the files that the packet declares, in the order of their numbers."""
    return [DeclaredFile(**each) for each in packet.files]


def get_uploads_by_number(packet: OpenPacket) -> dict[int, Upload]:
    """Return the uploads of its files, by the number of the file. A file may have none."""
    return {each.number or 0: each for each in packet.uploads.select_related("packet")}


def get_or_begin_upload(packet: OpenPacket, number: int, *, metadata: str = "") -> Upload:
    """Return the upload of a file, and begin it if there is none.

    Raises IndexError if the packet has no file with this number.
    """
    of_file = packet.uploads.filter(number=number).select_related("packet")
    if found := of_file.first():
        return found
    try:
        with transaction.atomic():
            return _create_upload(packet, number, metadata)
    except IntegrityError:  # Another request began it at the same moment.
        return of_file.get()


def begin_upload(packet: OpenPacket, number: int, *, metadata: str = "") -> Upload:
    """Begin the upload of a file. An unfinished upload of the same file is terminated.

    Raises IndexError if the packet has no file with this number, and IntegrityError if the file is
    complete.
    """
    for unfinished in packet.uploads.filter(number=number, spooled=""):
        upload_sessions.terminate_upload(unfinished)
    return _create_upload(packet, number, metadata)


def _create_upload(packet: OpenPacket, number: int, metadata: str) -> Upload:
    file = list_declared_files(packet)[number]
    return upload_sessions.create_upload(
        packet,
        filename=file.filename,
        length=file.size,
        sha256=file.sha256,
        number=number,
        metadata=metadata,
    )


def submit_packet(packet: OpenPacket, *, submission: Submission) -> Packet:
    """Register the packet, and discard the open packet.

    Raises MissingFiles if a file is not completely uploaded, and what `register_files` raises.
    """
    uploads = get_uploads_by_number(packet)
    files, missing = [], []
    for number, file in enumerate(list_declared_files(packet)):
        upload = uploads.get(number)
        try:
            # The server may have died after the last part of a file and before it finished it.
            finished = upload_sessions.finish_upload(upload) if upload else None
        except (
            upload_sessions.UploadIncomplete,
            upload_sessions.DigestMismatch,
            upload_sessions.UploadNotFound,
        ):
            finished = None
        if finished is None:
            missing.append(number)
            continue
        content = upload_sessions.get_spooled_file(finished)
        files.append(file.as_upload(content))
    if missing:
        raise MissingFiles(missing)
    registered = register_files(packet.site, files, submission)
    # The packet is registered and durable. If the process dies here, submitting again finds it by
    # the same key.
    discard_packet(packet)
    return registered


def discard_packet(packet: OpenPacket) -> None:
    """Delete an open packet with all its uploads. It may be called again."""
    for upload in packet.uploads.select_related("packet"):
        upload_sessions.terminate_upload(upload)
    OpenPacket.objects.filter(pk=packet.pk).delete()


def drop_expired_packets() -> int:
    """Delete packets that received nothing for `OpenPacket.KEPT`. Returns how many there were."""
    old = OpenPacket.objects.filter(touched_at__lt=timezone.now() - OpenPacket.KEPT)
    count = 0
    for packet in old:
        discard_packet(packet)
        count += 1
    return count
