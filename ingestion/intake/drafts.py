"""Files that people choose in the upload form: kept as they come, until their packet is sent.

A file that has come does not come again: a lost connection costs the file that was on its way, and
a closed page nothing. Of all this nothing is registered, or on record, before `send`; what nobody
sends is dropped after a week.
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
from ingestion.intake import quotas, upload_sessions
from ingestion.intake.quotas import OpenUploads
from ingestion.intake.registration import UploadedDocument, register_upload
from ingestion.intake.type_suggestion import suggest_type
from ingestion.models import Document, Draft, DraftFile, Packet, Upload
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.spool import SpooledFile
from sites.models import Site, User

logger = logging.getLogger(__name__)


class DraftFull(Exception):
    """The draft holds as many files as a packet may. This one was not kept."""


def get_max_files(corrects: Document | None) -> int:
    """How many files a draft holds."""
    return 1 if corrects else int(settings.MAX_UPLOAD_FILES)


def find_draft(user: User, corrects: Document | None = None) -> Draft | None:
    return Draft.objects.open().filter(user=user, corrects=corrects).first()


def find_sent_packet(user: User, token: str) -> Packet | None:
    """What became of the draft of this form, once it was sent."""
    draft = Draft.objects.filter(user=user, token=token, packet__isnull=False).first()
    return draft.packet if draft else None


def begin_draft(user: User, token: str, corrects: Document | None = None) -> Draft:
    """The open one, whichever form it was begun in; or a new one, of this form."""
    if draft := find_draft(user, corrects):
        return draft
    is_used = not token or Draft.objects.filter(user=user, token=token).exists()
    own = uuid.uuid4().hex if is_used else token[:32]
    try:
        with transaction.atomic():
            return Draft.objects.create(user=user, corrects=corrects, token=own)
    except IntegrityError:  # begun at the same moment, in another tab
        return Draft.objects.open().get(user=user, corrects=corrects)


def add_file(draft: Draft, filename: str, content: "File[bytes]") -> tuple[DraftFile, bool]:
    """Keep a file that came in one request. Return it, and whether it is new.

    Raises Full, OverQuota and OSError, and keeps nothing then.
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
    """Begin the upload of a file of `length` bytes. Raises Full and OverQuota."""
    with transaction.atomic():
        # Its row is locked: otherwise two requests could take the last place.
        Draft.objects.select_for_update().get(pk=draft.pk)
        if draft.files.count() >= get_max_files(draft.corrects):
            raise DraftFull
        check_quota(draft, length)
        Draft.objects.filter(pk=draft.pk).update(touched_at=timezone.now())
        return upload_sessions.create_upload(
            draft, filename=filename, length=length, sha256=sha256, metadata=metadata, key=key
        )


def check_quota(draft: Draft, more: int) -> None:
    """Raise OverQuota unless `more` bytes of this draft may wait, and there is room for them."""
    others = Draft.objects.open().filter(user=draft.user).exclude(pk=draft.pk)
    waiting = others.filter(Q(files__isnull=False) | Q(uploads__isnull=False)).distinct()
    quotas.check_quota(
        OpenUploads(waiting.count() + 1, quotas.count_draft_bytes(draft__user=draft.user)),
        in_all=quotas.count_waiting_bytes(),
        more=more,
    )
    quotas.check_free_space(more)


def add_finished_upload(upload: Upload) -> tuple[DraftFile, bool]:
    """Make a finished upload a file of its draft. Return it, and whether it is new.

    The same bytes are kept once. Idempotent: the upload stays, and leads to its file, until the
    draft is sent. Raises Full and drops the upload; and raises what `upload_sessions.finish` does.
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
        kept = upload_sessions.get_spooled_file(row)
        file = draft.files.filter(sha256=kept.sha256).first()
        is_new = file is None
        if file is None and draft.files.count() < get_max_files(draft.corrects):
            file = draft.files.create(
                filename=row.filename, spooled=kept.key, sha256=kept.sha256, size=kept.size
            )
        if file is None:
            is_full = True
            row.delete()
        else:
            row.file, row.spooled = file, ""
            row.save(update_fields=["file", "spooled"])
            Draft.objects.filter(pk=draft.pk).update(touched_at=timezone.now())
    if is_full or not is_new:
        spool.drop_upload(kept.key)
    if file is None:
        raise DraftFull
    return file, is_new


def suggest_file_type(file: DraftFile) -> None:
    """Say of it what it looks like, once. Takes seconds."""
    if file.guessed_at or not settings.GUESS_SECONDS:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="siteledger-draft-") as folder:
            seen = suggest_type(spool.open_local(file.spooled, Path(folder)))
    except StorageUnavailable:  # to be asked again when it is checked
        logger.exception("an uploaded file could not be looked at")
        return
    if seen is not None:
        file.guess, file.guessed_at = seen, timezone.now()
        DraftFile.objects.filter(pk=file.pk).update(guess=seen, guessed_at=file.guessed_at)


def get_spooled_file(file: DraftFile) -> SpooledFile:
    """As the register takes it."""
    return SpooledFile(file.spooled, file.sha256, file.size)


def declare_file(file: DraftFile, document_type: str, person: str) -> None:
    """What its person says that it is; "" for what they have not said."""
    if (file.document_type, file.person) != (document_type, person):
        file.document_type, file.person = document_type[:40], person[:80]
        file.save(update_fields=["document_type", "person"])


def should_confirm_type(file: DraftFile, chosen: str) -> bool:
    """Whether to ask back: its pages say clearly that it is something else. Once for each choice.

    Whoever sends it again all the same knows better, and that is put on record with the document.
    """
    if not file.guess or chosen not in TYPES or chosen in {file.guess, file.doubted}:
        return False
    file.doubted = chosen
    file.save(update_fields=["doubted"])
    return True


def remove_file(draft: Draft, number: int) -> None:
    """Idempotent."""
    for file in draft.files.filter(pk=number):
        _drop(file)


def _drop(file: DraftFile) -> None:
    file.delete()
    spool.drop_upload(file.spooled)


def submit_draft(
    draft: Draft, *, site: Site, files: Sequence[UploadedDocument], idempotency_key: str
) -> Packet:
    """Register it, and let its files go. Raises what `upload_packet` does; it is kept then."""
    packet = register_upload(
        site=site, user=draft.user, files=files, idempotency_key=idempotency_key
    )
    # Registered and durable. If we die here, sending it again attaches to it under the same key.
    close_draft(draft, packet)
    return packet


def close_draft(draft: Draft, packet: Packet) -> None:
    """It was sent."""
    Draft.objects.filter(pk=draft.pk).update(packet=packet, touched_at=timezone.now())
    _empty(draft)


def drop_expired_drafts() -> int:
    """Drop drafts that nobody has changed for a week, sent or not. Return how many."""
    old = Draft.objects.filter(touched_at__lt=timezone.now() - Draft.KEPT)
    for draft in old:
        _empty(draft)
        draft.delete()
    return len(old)


def _empty(draft: Draft) -> None:
    for file in draft.files.all():
        _drop(file)
    for upload in draft.uploads.select_related("draft"):
        upload_sessions.terminate_upload(upload)
