"""Upload a packet, `/packets/new/`, or what comes in the place of one rejected document.

One form, with JavaScript and without. Its script sends each file as it is chosen
(`web.packets.files`).
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import corrections, drafts
from ingestion.models import Draft, Packet
from ingestion.operations import work_status
from ingestion.rules.document_types import TYPES
from sites import eligibility
from sites.models import ApiToken, Site
from web.documents.lookup import get_own_document
from web.documents.outcomes import declared_person_of
from web.packets.file_rules import ACCEPTED_SUFFIXES
from web.packets.upload_form import UploadForm
from web.shell.access import FORM, READ, SignedIn, page
from web.sites.required_documents import list_requirements


@page(FORM)
def upload_packet(request: SignedIn) -> HttpResponse:
    if missing := eligibility.may_upload(request.user):
        return _upload_not_allowed(request, missing)
    sites = Site.objects.of(request.user).select_related("study")
    form = UploadForm(request.user, list(sites))
    if request.method == "POST":
        return _sent(request, form)
    form.open(request.GET.dict())
    return _drawn(request, form)


@login_not_required
@page(READ)
def upload_allowed(request: HttpRequest) -> HttpResponse:
    """204 if whoever sent this request may upload, else 401: nginx asks before it reads a body."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        is_known = ApiToken.objects.presented(token.strip()) is not None
    else:
        is_known = request.user.is_authenticated
    return HttpResponse(status=204 if is_known else 401)


@page(FORM)
def upload_correction(request: SignedIn, pk: int) -> HttpResponse:
    """The same form for one document, with its site, type and person filled in.

    409 where there is nothing to correct.
    """
    document = get_own_document(request.user, pk)
    if missing := eligibility.may_upload(request.user):
        return _upload_not_allowed(request, missing)
    sites = Site.objects.of(request.user).filter(pk=document.site_id)
    form = UploadForm(request.user, list(sites.select_related("study")), corrects=document)
    if request.method == "POST":
        return _sent(request, form)
    if why := corrections.explain_refusal(document):
        newer = corrections.find_correction(document) or corrections.find_newer_version(document)
        context = {"document": document, "why": why, "newer": newer}
        return render(request, "documents/correction_refused.html", context, status=409)
    form.open({"type": document.document_type, "person": declared_person_of(document)})
    return _drawn(request, form)


def _upload_not_allowed(request: SignedIn, missing: Sequence[eligibility.Missing]) -> HttpResponse:
    return render(request, "packets/upload_not_allowed.html", {"missing": missing}, status=403)


def _sent(request: SignedIn, form: UploadForm) -> HttpResponse:
    if not request.FILES and (
        packet := drafts.find_sent_packet(request.user, request.POST.get("token", ""))
    ):
        return _accepted(request, packet)
    if "remove" in request.POST:
        form.save(request)
        return _drawn(request, form)
    if packet := form.submit(request):
        return _accepted(request, packet)
    return _refused(request, form)


def _drawn(request: SignedIn, form: UploadForm, status: int = 200) -> HttpResponse:
    panel = {
        "sites": form.sites,
        "chosen_site": form.site,
        "needs": form.site and list_requirements(get_readiness(form.site)),
        "is_silent": form.site
        and work_status.find_silent_portal_sites(Site.objects.filter(pk=form.site.pk)).exists(),
    }
    if request.headers.get("X-Fragment"):
        return render(request, "packets/_required_documents.html", panel)
    context = {
        "form": form,
        "address": request.path,
        "types": TYPES.values(),
        "faults": {problem.anchor: problem.message for problem in form.problems},
        "accepted": ",".join(ACCEPTED_SUFFIXES),
        "largest_mb": settings.MAX_DOCUMENT_MB,
        "largest": settings.MAX_DOCUMENT_MB * 1_000_000,
        "kept_days": Draft.KEPT.days,
    }
    return render(request, "packets/new.html", context | panel, status=status)


def _accepted(request: SignedIn, packet: Packet) -> HttpResponse:
    if request.accepts("text/html"):
        return redirect("packet", packet.reference)
    address = reverse("packet", args=[packet.reference])
    return JsonResponse({"location": address}, status=201)


def _refused(request: SignedIn, form: UploadForm) -> HttpResponse:
    if request.accepts("text/html"):
        return _drawn(request, form, status=422)
    problems = [{"anchor": each.anchor, "message": each.message} for each in form.problems]
    return JsonResponse({"problems": problems}, status=422)
