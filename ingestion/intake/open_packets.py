"""Packets of programs whose files come one by one, until they are submitted or expire.

Nothing of an open packet is registered before `submit`; its rows (`OpenPacket`, `Upload`) are no
records and are deleted then. Its id is made of owner and key: opening it again finds it, and nobody
else can name it.
"""

import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from django.db import IntegrityError, transaction
from django.utils import timezone

from ingestion.intake import quotas, upload_sessions
from ingestion.intake.quotas import OpenUploads
from ingestion.intake.registration import UploadedDocument, register_files
from ingestion.intake.submission import IdempotencyKeyReused, Submission
from ingestion.models import OpenPacket, Packet, Upload
from sites.models import Site

_NAMESPACE = uuid.UUID("7a2f5c0e-6d2a-4a53-9a0e-3f6f5a1c9b11")  # any constant


class OpenPacketNotFound(Exception):
    """There is no such packet, it is somebody else's, or it was submitted."""


class MissingFiles(Exception):
    """Files are missing; `numbers` says which, from 0."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(f"missing: {numbers}")
        self.numbers = numbers


@dataclass(frozen=True, slots=True)
class DeclaredFile:
    """A file of an open packet, as the program declared it."""

    filename: str
    document_type: str
    person: str
    sha256: str
    size: int  # bytes


def open_packet(
    *, owner: str, key: str, site: Site, priority: int, files: Iterable[DeclaredFile]
) -> OpenPacket:
    """Return the packet of this owner and key. Idempotent.

    Raises IdempotencyKeyReused, OverQuota and NoRoom, and keeps nothing then.
    """
    drop_expired_packets()
    declared = [asdict(each) for each in files]
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
        # The site's row is locked: otherwise two requests could take the last place of the quota.
        Site.objects.select_for_update(no_key=True).get(pk=site.pk)
        if there := OpenPacket.objects.filter(pk=wanted.pk).first():
            if _description(there) != _description(wanted):
                raise IdempotencyKeyReused(f"the key {key!r} was used for another packet")
            return there
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
    """Return the open packet of this id. Raises NotOpen."""
    packet = OpenPacket.objects.filter(pk=packet_id, owner=owner).select_related("site").first()
    if packet is None or packet.expires_at < timezone.now():
        raise OpenPacketNotFound(f"there is no open packet {packet_id}")
    return packet


def list_declared_files(packet: OpenPacket) -> list[DeclaredFile]:
    return [DeclaredFile(**each) for each in packet.files]


def get_uploads_by_number(packet: OpenPacket) -> dict[int, Upload]:
    """Return the uploads of its files by their numbers; a file that nobody has begun has none."""
    return {each.number or 0: each for each in packet.uploads.select_related("packet")}


def get_or_begin_upload(packet: OpenPacket, number: int, *, metadata: str = "") -> Upload:
    """Return the upload of a file, begun if need be. Raises IndexError for an unknown number."""
    of_file = packet.uploads.filter(number=number).select_related("packet")
    if found := of_file.first():
        return found
    try:
        with transaction.atomic():
            return _create_upload(packet, number, metadata)
    except IntegrityError:  # another request began it at the same moment
        return of_file.get()


def begin_upload(packet: OpenPacket, number: int, *, metadata: str = "") -> Upload:
    """Begin the upload of a file again. An unfinished upload of it is terminated.

    Raises IndexError for an unknown number, and IntegrityError if the file is complete.
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
    """Register the packet and forget it here.

    Raises MissingFiles, and what `register_files` raises.
    """
    begun = get_uploads_by_number(packet)
    complete = [_complete(begun.get(number)) for number in range(len(packet.files))]
    if missing := [number for number, upload in enumerate(complete) if upload is None]:
        raise MissingFiles(missing)
    files = [
        UploadedDocument(
            file.filename, file.document_type, file.person, upload_sessions.get_spooled_file(upload)
        )
        for file, upload in zip(list_declared_files(packet), complete, strict=True)
        if upload
    ]
    registered = register_files(packet.site, files, submission)
    # Registered and durable. A crash here is harmless: submitting again finds it by the same key.
    discard_packet(packet)
    return registered


def _complete(upload: Upload | None) -> Upload | None:
    """Return the upload if its whole file has come, also if the server died before it joined it."""
    if upload is None:
        return None
    try:
        return upload_sessions.finish_upload(upload)
    except (
        upload_sessions.UploadIncomplete,
        upload_sessions.DigestMismatch,
        upload_sessions.UploadNotFound,
    ):
        return None


def discard_packet(packet: OpenPacket) -> None:
    """Drop an open packet with all its uploads. Idempotent."""
    for upload in packet.uploads.select_related("packet"):
        upload_sessions.terminate_upload(upload)
    OpenPacket.objects.filter(pk=packet.pk).delete()


def drop_expired_packets() -> int:
    """Drop packets for which nothing has come for a day. Return how many."""
    old = OpenPacket.objects.filter(touched_at__lt=timezone.now() - OpenPacket.KEPT)
    count = 0
    for packet in old:
        discard_packet(packet)
        count += 1
    return count
