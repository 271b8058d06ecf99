"""Keeps drafts: the files of a packet in the upload form, until the person submits it.

Each file is saved when it is uploaded. A lost connection costs only the file in transfer, which can
be resumed, and a closed page costs nothing. Nothing is registered or recorded before
`submit_draft`. A draft that is not submitted expires after `Draft.KEPT`.
"""

import logging
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from ingestion.core.errors import StorageUnavailable
from ingestion.documents.active_model import load_active_model
from ingestion.documents.division import describe_cut
from ingestion.intake import quotas, upload_sessions
from ingestion.intake.quotas import OpenUploads
from ingestion.intake.registration import UploadedDocument, register_upload
from ingestion.intake.type_detection import detect_contents
from ingestion.models import Document, Draft, DraftFile, Packet, Upload
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.spool import SpooledFile
from sites.models import Site, User

logger = logging.getLogger(__name__)


class DraftFull(Exception):
    """The draft has as many files as a packet may have, and the new file was dropped."""


def get_max_files(corrects: Document | None) -> int:
    """Return the number of files that a draft may have."""
    return 1 if corrects else int(settings.MAX_UPLOAD_FILES)


def find_draft(user: User, corrects: Document | None = None) -> Draft | None:
    """Return the person's open draft for a packet, or for a file that corrects a document."""
    return Draft.objects.open().filter(user=user, corrects=corrects).first()


def find_sent_packet(user: User, token: str) -> Packet | None:
    """Return the packet that was submitted from this form, or None. `token` identifies the form."""
    draft = Draft.objects.filter(user=user, token=token, packet__isnull=False).first()
    return draft.packet if draft else None


def begin_draft(user: User, token: str, corrects: Document | None = None) -> Draft:
    """Return the person's open draft, from whichever form, or create one for this form."""
    if draft := find_draft(user, corrects):
        return draft
    is_used = not token or Draft.objects.filter(user=user, token=token).exists()
    own = uuid.uuid4().hex if is_used else token[:32]
    try:
        with transaction.atomic():
            return Draft.objects.create(user=user, corrects=corrects, token=own)
    except IntegrityError:  # It was begun at the same moment, for example in another tab.
        return Draft.objects.open().get(user=user, corrects=corrects)


def add_file(draft: Draft, filename: str, content: "File[bytes]") -> tuple[DraftFile, bool]:
    """Save a file that was sent in one request. Returns it, and whether it is new to the draft.

    Raises DraftFull, QuotaExceeded and OSError. Then the file is not saved.
    """
    upload = begin_upload(draft, filename, content.size)
    try:
        return add_finished_upload(upload_sessions.append_part(upload, 0, content.chunks()))
    except BaseException:
        upload_sessions.terminate_upload(upload)
        raise


def begin_upload(
    draft: Draft,
    filename: str,
    length: int,
    *,
    sha256: str = "",
    metadata: str = "",
    key: uuid.UUID | None = None,
) -> Upload:
    """Begin the upload of a file of `length` bytes. Raises DraftFull and QuotaExceeded."""
    with transaction.atomic():
        # The draft is locked. Otherwise two requests could use the last place twice.
        Draft.objects.select_for_update().get(pk=draft.pk)
        if draft.files.count() >= get_max_files(draft.corrects):
            raise DraftFull
        check_quota(draft, length)
        Draft.objects.filter(pk=draft.pk).update(touched_at=timezone.now())
        return upload_sessions.create_upload(
            draft, filename=filename, length=length, sha256=sha256, metadata=metadata, key=key
        )


def check_quota(draft: Draft, more: int) -> None:
    """Raise QuotaExceeded or SpoolFull if there is no room for `more` bytes of this draft."""
    others = Draft.objects.open().filter(user=draft.user).exclude(pk=draft.pk)
    waiting = others.filter(Q(files__isnull=False) | Q(uploads__isnull=False)).distinct()
    quotas.check_quota(
        OpenUploads(waiting.count() + 1, quotas.count_draft_bytes(draft__user=draft.user)),
        in_all=quotas.count_waiting_bytes(),
        more=more,
    )
    quotas.check_free_space(more)


def add_finished_upload(upload: Upload) -> tuple[DraftFile, bool]:
    """Make a finished upload a file of its draft. Returns it, and whether it is new to the draft.

    The same bytes are stored once. It may be called again: the upload remains until the draft is
    submitted, and refers to its file. Raises DraftFull and deletes the upload if there is no place,
    and raises what `upload_sessions.finish_upload` raises.
    """
    upload = upload_sessions.finish_upload(upload)
    is_full = False
    with transaction.atomic():
        draft = Draft.objects.select_for_update().get(pk=cast("int", upload.draft_id))
        row = Upload.objects.select_for_update().filter(pk=upload.pk, draft=draft).first()
        if row is None:
            raise upload_sessions.UploadNotFound
        if row.file:
            return row.file, False
        stored = upload_sessions.get_spooled_file(row)
        file = draft.files.filter(sha256=stored.sha256).first()
        is_new = file is None
        if file is None and draft.files.count() < get_max_files(draft.corrects):
            file = draft.files.create(
                filename=row.filename, spooled=stored.key, sha256=stored.sha256, size=stored.size
            )
        if file is None:
            is_full = True
            row.delete()
        else:
            row.file, row.spooled = file, ""
            row.save(update_fields=["file", "spooled"])
            Draft.objects.filter(pk=draft.pk).update(touched_at=timezone.now())
    if is_full or not is_new:
        spool.drop_upload(stored.key)
    if file is None:
        raise DraftFull
    return file, is_new


def detect_file_type(file: DraftFile) -> None:
    """Detect the type or the documents of a file once, and store them. It takes seconds."""
    if file.detected_at or not settings.GUESS_SECONDS:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="siteledger-draft-") as folder:
            local = spool.open_local(file.spooled, Path(folder))
            detected = detect_contents(local, load_active_model())
    except StorageUnavailable:  # The checks will read the file again.
        logger.exception("an uploaded file could not be read to detect its type")
        return
    if detected is not None:
        file.detected_type, file.detected_at = detected.document_type, timezone.now()
        file.cut = describe_cut(detected.cut) if detected.cut else None
        DraftFile.objects.filter(pk=file.pk).update(
            detected_type=file.detected_type, detected_at=file.detected_at, cut=file.cut
        )


def get_spooled_file(file: DraftFile) -> SpooledFile:
    """Return the file for registration."""
    return SpooledFile(file.spooled, file.sha256, file.size)


def declare_file(file: DraftFile, document_type: str, person: str) -> None:
    """Store the type and the person that were chosen in the form. Each may be ""."""
    if (file.document_type, file.person) != (document_type, person):
        file.document_type, file.person = document_type[:40], person[:80]
        file.save(update_fields=["document_type", "person"])


def should_confirm_type(file: DraftFile, chosen: str) -> bool:
    """Return whether the person has to confirm the chosen type, because another one was detected.

    Each choice has to be confirmed once. If the person submits it again, the choice stands, and the
    ledger records that it differs from the detected type.
    """
    if (
        not file.detected_type
        or chosen not in TYPES
        or chosen in {file.detected_type, file.doubted}
    ):
        return False
    file.doubted = chosen
    file.save(update_fields=["doubted"])
    return True


def remove_file(draft: Draft, key: int) -> None:
    """Delete a file of the draft by its primary key. It may be called again."""
    for file in draft.files.filter(pk=key):
        _delete_file(file)


def _delete_file(file: DraftFile) -> None:
    file.delete()
    spool.drop_upload(file.spooled)


def submit_draft(
    draft: Draft, *, site: Site, files: Sequence[UploadedDocument], idempotency_key: str
) -> Packet:
    """Register the packet, and close the draft.

    Raises what `register_upload` raises. Then the draft remains.
    """
    packet = register_upload(
        site=site, user=draft.user, files=files, idempotency_key=idempotency_key
    )
    # The packet is registered and durable. If the process dies here, submitting again finds it by
    # the same key.
    close_draft(draft, packet)
    return packet


def close_draft(draft: Draft, packet: Packet) -> None:
    """Mark the draft as submitted, and delete its files."""
    Draft.objects.filter(pk=draft.pk).update(packet=packet, touched_at=timezone.now())
    _empty(draft)


def drop_expired_drafts() -> int:
    """Delete drafts that were not changed for `Draft.KEPT`, submitted or not.

    Returns how many there were.
    """
    old = Draft.objects.filter(touched_at__lt=timezone.now() - Draft.KEPT)
    for draft in old:
        _empty(draft)
        draft.delete()
    return len(old)


def _empty(draft: Draft) -> None:
    """Delete the files and uploads of a draft."""
    for file in draft.files.all():
        _delete_file(file)
    for upload in draft.uploads.select_related("draft"):
        upload_sessions.terminate_upload(upload)
