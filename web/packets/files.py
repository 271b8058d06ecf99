"""Single files of the upload form, for its script: `/packets/new/files/` and what lies below it.

The script uploads a file's bytes to `/uploads/` (`api.tus`) and then, here, makes a file of the
draft of them. Another person's file does not exist.

Pages of the release before, still open in a browser, send the bytes here as well, in a form. That
is deprecated, and is served by the same uploads for one more release.
"""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from audit.change_tracking import form_errors
from ingestion.intake import drafts, upload_sessions
from ingestion.intake.quotas import MAX_PART_BYTES, QuotaExceeded, SpoolFull
from ingestion.models import Document, Draft, DraftFile, Upload
from sites import eligibility
from web.documents.lookup import get_own_document
from web.packets.file_rules import explain_left_out, explain_unacceptable
from web.shell.access import CHANGE, FORM, SignedIn, page
from web.shell.request_limits import whole_number

_UPLOAD = re.compile(r"[0-9a-f]{32}").fullmatch
_PARTS = UUID("0d5dd1a5-9c0c-4f7e-8a38-1f6d6a2b7c55")  # namespace of uploads in parts of a form


@dataclass(frozen=True, slots=True)
class FormPart:
    """Which part of which file a form brings. Deprecated."""

    upload: str  # drawn by the browser for the file
    offset: int  # of its first byte in the file
    whole: int  # bytes of the whole file


@page(FORM)
def draft_files(request: SignedIn) -> JsonResponse:
    """What has come; or, with POST, one more file: 201, and 200 for what had come already."""
    if request.method == "POST":
        return _keep(request)
    draft = drafts.find_draft(request.user, _corrected(request, request.GET.get("corrects", "")))
    kept = draft.files.all() if draft else ()
    return JsonResponse({"files": [_out(each) for each in kept]})


@page(CHANGE)
def describe_file(request: SignedIn, pk: int) -> HttpResponse:
    """What its person says that it is."""
    said = request.POST
    drafts.declare_file(_own(request, pk), said.get("type", ""), said.get("person", "").strip())
    return HttpResponse(status=204)


@page(CHANGE)
def detect_type(request: SignedIn, pk: int) -> JsonResponse:
    """What its pages say that it is. Takes seconds; `looked` is false where there was no time."""
    own = _own(request, pk)
    drafts.suggest_file_type(own)
    return JsonResponse(_out(own))


@page(CHANGE)
def remove_file(request: SignedIn, pk: int) -> HttpResponse:
    """Idempotent."""
    for own in _mine(request).filter(pk=pk).select_related("draft"):
        drafts.remove_file(own.draft, pk)
    return HttpResponse(status=204)


def _keep(request: SignedIn) -> JsonResponse:
    if missing := eligibility.may_upload(request.user):
        return JsonResponse({"message": missing[0].sentence}, status=403)
    if upload_id := request.POST.get("finished", ""):
        return _take(request, upload_id)
    return _keep_form(request)


def _take(request: SignedIn, upload_id: str) -> JsonResponse:
    """Make a file of the draft of an upload whose bytes have all been received."""
    try:
        key = UUID(upload_id)
    except ValueError:
        raise BadRequest("an upload has a UUID") from None
    mine = Upload.objects.filter(draft__user=request.user, draft__packet=None)
    upload = get_object_or_404(mine.select_related("draft"), pk=key)
    try:
        return _taken(upload)
    except drafts.DraftFull:
        left = explain_left_out(
            drafts.get_max_files(upload.draft.corrects if upload.draft else None)
        )
        return _refused(request, upload.filename, left, "too_many")
    except (upload_sessions.UploadIncomplete, upload_sessions.DigestMismatch):
        upload.refresh_from_db()
        return JsonResponse({"received": upload.offset}, status=409)


def _taken(upload: Upload) -> JsonResponse:
    kept, is_new = drafts.add_finished_upload(upload)
    return JsonResponse(_out(kept) | {"token": kept.draft.token}, status=201 if is_new else 200)


def _keep_form(request: SignedIn) -> JsonResponse:
    """Keep a file, or a part of one, that came in a form. Deprecated."""
    sent = request.FILES.get("file")
    if not isinstance(sent, UploadedFile):
        return _refused(request, "", _("No file was received. Add it again."), "required")
    corrected = _corrected(request, request.POST.get("corrects", ""))
    part = _part(request, sent.size or 0)
    name = request.POST.get("name", "") if part else sent.name or ""
    if fault := explain_unacceptable(name, part.whole if part else sent.size or 0):
        return _refused(request, name, fault, "unacceptable")
    draft = drafts.begin_draft(request.user, request.POST.get("token", ""), corrected)
    try:
        if part:
            return _keep_part(draft, part, name, sent)
        kept, is_new = drafts.add_file(draft, name, sent)
    except drafts.DraftFull:
        return _refused(
            request, name, explain_left_out(drafts.get_max_files(corrected)), "too_many"
        )
    except QuotaExceeded as error:
        return _over_quota(request, name, error)
    return JsonResponse(_out(kept) | {"token": draft.token}, status=201 if is_new else 200)


def _keep_part(
    draft: Draft, part: FormPart, name: str, sent: "UploadedFile[bytes]"
) -> JsonResponse:
    """Append a part. Raises Full and OverQuota."""
    upload = draft.uploads.filter(pk=uuid5(_PARTS, f"{draft.pk}/{part.upload}")).first()
    if upload is None and part.offset:
        return JsonResponse({"received": 0}, status=409)
    try:
        if upload is None:
            key = uuid5(_PARTS, f"{draft.pk}/{part.upload}")
            upload = drafts.begin_upload(draft, name, part.whole, key=key)
        if upload.offset < upload.length:
            upload = upload_sessions.append_part(upload, part.offset, sent.chunks())
    except upload_sessions.OffsetConflict as error:
        return JsonResponse({"received": error.received}, status=409)
    except (upload_sessions.PartTooLong, upload_sessions.UploadNotFound, IntegrityError):
        return JsonResponse({"received": 0}, status=409)
    if upload.offset < upload.length:
        said = {"received": upload.offset, "token": draft.token}
        return JsonResponse(said, status=202)
    return _taken(upload)


def _part(request: SignedIn, size: int) -> FormPart | None:
    """Which part of a file has come, of `size` bytes; None: the whole file. Raises BadRequest."""
    upload = request.POST.get("upload", "")
    if not upload:
        return None
    offset, whole = (whole_number(request.POST.get(name, "")) for name in ("offset", "whole"))
    is_cut_well = offset is not None and whole is not None and offset + size <= whole
    if offset is None or whole is None or not (is_cut_well and 0 < size <= MAX_PART_BYTES):
        raise BadRequest(f"a part has 1 to {MAX_PART_BYTES} bytes and lies inside its file")
    if not _UPLOAD(upload):
        raise BadRequest("an upload has a UUID")
    return FormPart(upload, offset, whole)


def _over_quota(request: SignedIn, name: str, error: QuotaExceeded) -> JsonResponse:
    if isinstance(error, SpoolFull):  # the script tries again by itself
        return JsonResponse({"message": str(error)}, status=507)
    return _refused(request, name, str(error), "over_quota")


def _refused(request: SignedIn, name: str, message: str, code: str) -> JsonResponse:
    """That it was not taken is on record, as for the whole form (R08)."""
    by = request.user.actor
    form_errors.record_form_errors("packet", wrong={"file": [code]}, typed={"file": name}, by=by)
    return JsonResponse({"message": message}, status=422)


def _corrected(request: SignedIn, number: str) -> Document | None:
    pk = whole_number(number)
    return None if pk is None else get_own_document(request.user, pk)


def _mine(request: SignedIn) -> Any:
    return DraftFile.objects.filter(draft__user=request.user, draft__packet=None)


def _own(request: SignedIn, pk: int) -> DraftFile:
    own: DraftFile = get_object_or_404(_mine(request), pk=pk)
    return own


def _out(kept: DraftFile) -> dict[str, Any]:
    return {
        "id": kept.pk,
        "name": kept.filename,
        "size": kept.size,
        "sha256": kept.sha256,
        "type": kept.document_type,
        "guess": kept.guess,
        "looked": bool(kept.guessed_at) or not settings.GUESS_SECONDS,
    }
