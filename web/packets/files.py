"""Handles single files of the upload form for its script, below `/packets/new/files/`.

The script uploads the bytes of a file to `/uploads/` (`api.uploads.resumable`), and then adds the
finished upload to the draft here. People can only reach the files of their own drafts.

Pages of the previous release that are still open in a browser send the bytes here, in a form. This
is deprecated and remains for one more release. It uses the same uploads.
"""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from audit.change_tracking import form_errors
from ingestion.intake import drafts, upload_sessions
from ingestion.intake.quotas import MAX_PART_BYTES, QuotaExceeded, SpoolFull
from ingestion.models import Document, Draft, DraftFile, Upload
from sites import eligibility
from web.documents.lookup import get_own_document
from web.packets.file_contents import describe_contents
from web.packets.file_rules import explain_too_many, explain_unacceptable
from web.shell.access import CHANGE, FORM, SignedIn, restrict_page
from web.shell.request_limits import parse_whole_number

_is_upload_name = re.compile(r"[0-9a-f]{32}").fullmatch
# The namespace for the primary keys of uploads that arrive as parts in forms.
_FORM_UPLOADS = UUID("0d5dd1a5-9c0c-4f7e-8a38-1f6d6a2b7c55")


@dataclass(frozen=True, slots=True)
class FormPart:
    """The part of a file that a form contains. Deprecated."""

    upload: str  # chosen by the browser for the file
    offset: int  # of the first byte of the part in the file
    total: int  # bytes of the complete file


@restrict_page(FORM)
def draft_files(request: SignedIn) -> JsonResponse:
    """Return the files of the draft as JSON. With POST, add one file.

    The status is 201, or 200 if the file had been added before.
    """
    if request.method == "POST":
        if missing := eligibility.list_missing_for_upload(request.user):
            return JsonResponse({"message": missing[0].sentence}, status=403)
        if upload_id := request.POST.get("upload_id", ""):
            return _add_upload(request, upload_id)
        return _add_form_file(request)
    corrected = _find_corrected(request, request.GET.get("corrects", ""))
    draft = drafts.find_draft(request.user, corrected)
    files = draft.files.all() if draft else ()
    return JsonResponse({"files": [_to_json(file) for file in files]})


@restrict_page(CHANGE)
def describe_file(request: SignedIn, pk: int) -> HttpResponse:
    """Save the type and the person that were entered for a file."""
    data = request.POST
    drafts.declare_file(
        _get_file(request, pk), data.get("type", ""), data.get("person", "").strip()
    )
    return HttpResponse(status=204)


@restrict_page(CHANGE)
def detect_type(request: SignedIn, pk: int) -> JsonResponse:
    """Detect the type of a file from its pages, which takes seconds.

    `is_detection_done` is false in the response if there was no time for it.
    """
    file = _get_file(request, pk)
    drafts.detect_file_type(file)
    return JsonResponse(_to_json(file))


@restrict_page(CHANGE)
def remove_file(request: SignedIn, pk: int) -> HttpResponse:
    """Remove a file from its draft. A file that does not exist is no error."""
    for file in _list_files(request).filter(pk=pk).select_related("draft"):
        drafts.remove_file(file.draft, pk)
    return HttpResponse(status=204)


def _add_upload(request: SignedIn, upload_id: str) -> JsonResponse:
    """Add an upload whose bytes have all been received to its draft."""
    try:
        key = UUID(upload_id)
    except ValueError:
        raise BadRequest("an upload has a UUID") from None
    uploads = Upload.objects.filter(draft__user=request.user, draft__packet=None)
    upload = get_object_or_404(uploads.select_related("draft"), pk=key)
    try:
        return _respond(*drafts.add_finished_upload(upload))
    except drafts.DraftFull:
        corrected = upload.draft.corrects if upload.draft else None
        message = explain_too_many(drafts.get_max_files(corrected))
        return _refuse(request, upload.filename, message, "too_many")
    except (upload_sessions.UploadIncomplete, upload_sessions.DigestMismatch):
        upload.refresh_from_db()
        return JsonResponse({"received": upload.offset}, status=409)


def _add_form_file(request: SignedIn) -> JsonResponse:
    """Add a file, or a part of one, that a form contains. Deprecated."""
    content = request.FILES.get("file")
    if not isinstance(content, UploadedFile):
        return _refuse(request, "", _("No file was received. Add it again."), "required")
    corrected = _find_corrected(request, request.POST.get("corrects", ""))
    size = content.size or 0
    part = _read_part(request, size)
    name = request.POST.get("name", "") if part else content.name or ""
    if reason := explain_unacceptable(name, part.total if part else size):
        return _refuse(request, name, reason, "unacceptable")
    draft = drafts.begin_draft(request.user, request.POST.get("token", ""), corrected)
    try:
        if part:
            return _add_part(draft, part, name, content)
        return _respond(*drafts.add_file(draft, name, content))
    except drafts.DraftFull:
        message = explain_too_many(drafts.get_max_files(corrected))
        return _refuse(request, name, message, "too_many")
    except QuotaExceeded as error:
        return _refuse_over_quota(request, name, error)


def _add_part(
    draft: Draft, part: FormPart, name: str, content: "UploadedFile[bytes]"
) -> JsonResponse:
    """Append a part to its upload. Raises DraftFull and QuotaExceeded."""
    key = uuid5(_FORM_UPLOADS, f"{draft.pk}/{part.upload}")
    upload = draft.uploads.filter(pk=key).first()
    if upload is None and part.offset:
        return JsonResponse({"received": 0}, status=409)
    try:
        if upload is None:
            upload = drafts.begin_upload(draft, name, part.total, key=key)
        if upload.offset < upload.length:
            upload = upload_sessions.append_part(upload, part.offset, content.chunks())
    except upload_sessions.OffsetConflict as error:
        return JsonResponse({"received": error.received}, status=409)
    except (upload_sessions.PartTooLong, upload_sessions.UploadNotFound, IntegrityError):
        return JsonResponse({"received": 0}, status=409)
    if upload.offset < upload.length:
        return JsonResponse({"received": upload.offset, "token": draft.token}, status=202)
    return _respond(*drafts.add_finished_upload(upload))


def _read_part(request: SignedIn, size: int) -> FormPart | None:
    """Return which part of a file a form contains, or None if it contains the complete file.

    `size` is the number of bytes of the part. Raises BadRequest if the numbers are impossible.
    """
    upload = request.POST.get("upload", "")
    if not upload:
        return None
    offset, total = (parse_whole_number(request.POST.get(name, "")) for name in ("offset", "whole"))
    is_inside = offset is not None and total is not None and offset + size <= total
    if offset is None or total is None or not (is_inside and 0 < size <= MAX_PART_BYTES):
        raise BadRequest(f"a part has 1 to {MAX_PART_BYTES} bytes and lies inside its file")
    if not _is_upload_name(upload):
        raise BadRequest("an upload has a UUID")
    return FormPart(upload, offset, total)


def _refuse_over_quota(request: SignedIn, name: str, error: QuotaExceeded) -> JsonResponse:
    if isinstance(error, SpoolFull):  # the script retries automatically
        return JsonResponse({"message": str(error)}, status=507)
    return _refuse(request, name, str(error), "over_quota")


def _refuse(request: SignedIn, name: str, message: str, code: str) -> JsonResponse:
    """Record that a file was not added, as for the complete form (R08), and answer 422."""
    form_errors.record_form_errors(
        "packet", codes={"file": [code]}, values={"file": name}, by=request.user.actor
    )
    return JsonResponse({"message": message}, status=422)


def _respond(file: DraftFile, is_new: bool) -> JsonResponse:
    return JsonResponse(_to_json(file) | {"token": file.draft.token}, status=201 if is_new else 200)


def _find_corrected(request: SignedIn, number: str) -> Document | None:
    """Return the document that the files of the draft replace, or None for a packet."""
    pk = parse_whole_number(number)
    return None if pk is None else get_own_document(request.user, pk)


def _list_files(request: SignedIn) -> "QuerySet[DraftFile]":
    """Return the files in the person's drafts."""
    return DraftFile.objects.filter(draft__user=request.user, draft__packet=None)


def _get_file(request: SignedIn, pk: int) -> DraftFile:
    return get_object_or_404(_list_files(request), pk=pk)


def _to_json(file: DraftFile) -> dict[str, Any]:
    contents = describe_contents(file)
    return {
        "id": file.pk,
        "name": file.filename,
        "size": file.size,
        "sha256": file.sha256,
        "type": file.document_type,
        "detected_type": file.detected_type,
        "contents": contents.as_json() if contents else None,
        "is_detection_done": bool(file.detected_at) or not settings.GUESS_SECONDS,
    }
