"""Single files of the upload form, for its script: `/packets/new/files/` and what lies below it.

They go into the draft as they are chosen. The form without JavaScript does the same in one request
(`web.drafts`). Another person's file does not exist.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from audit import prompts
from ingestion.intake import drafts
from ingestion.models import Document, DraftFile
from ingestion.web.access import SignedIn, of_own_site
from ingestion.web.bounds import whole_number
from ingestion.web.drafts import left_out, unacceptable
from sites import fitness


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def files(request: SignedIn) -> JsonResponse:
    """What has come; or, with POST, one more file: 201, and 200 for what had come already."""
    if request.method == "POST":
        return _keep(request)
    draft = drafts.find(request.user, _corrected(request, request.GET.get("corrects", "")))
    kept = draft.files.all() if draft else ()
    return JsonResponse({"files": [_out(file) for file in kept]})


@never_cache
@login_required
@require_POST
def file(request: SignedIn, pk: int) -> HttpResponse:
    """What its person says that it is."""
    said = request.POST
    drafts.describe(_own(request, pk), said.get("type", ""), said.get("person", "").strip())
    return HttpResponse(status=204)


@never_cache
@login_required
@require_POST
def guess(request: SignedIn, pk: int) -> JsonResponse:
    """What its pages say that it is. Takes seconds; `looked` is false where there was no time."""
    own = _own(request, pk)
    drafts.look(own)
    return JsonResponse(_out(own))


@never_cache
@login_required
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    """Idempotent."""
    for own in _mine(request).filter(pk=pk).select_related("draft"):
        drafts.remove(own.draft, pk)
    return HttpResponse(status=204)


def _keep(request: SignedIn) -> JsonResponse:
    if missing := fitness.may_upload(request.user):
        return JsonResponse({"message": missing[0].sentence}, status=403)
    sent = request.FILES.get("file")
    if not isinstance(sent, UploadedFile):
        return _refused(request, "", "no file came with it. Add it again.", "required")
    corrected = _corrected(request, request.POST.get("corrects", ""))
    name = sent.name or ""
    if fault := unacceptable(name, sent.size or 0):
        return _refused(request, name, fault, "unacceptable")
    draft = drafts.begin(request.user, request.POST.get("token", ""), corrected)
    try:
        kept, is_new = drafts.keep(draft, name, sent)
    except drafts.Full:
        return _refused(request, name, left_out(drafts.room(corrected)), "too_many")
    return JsonResponse(_out(kept) | {"token": draft.token}, status=201 if is_new else 200)


def _refused(request: SignedIn, name: str, message: str, code: str) -> JsonResponse:
    """That it was not taken is on record, as for the whole form (R08)."""
    by = (request.user.actor, request.user.role)
    prompts.form_came_back("packet", wrong={"file": [code]}, typed={"file": name}, by=by)
    return JsonResponse({"message": message[0].upper() + message[1:]}, status=422)


def _corrected(request: SignedIn, number: str) -> Document | None:
    pk = whole_number(number)
    return None if pk is None else of_own_site(request.user, pk)


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
