"""Serves the upload of a packet, `/packets/new/`, and of a file that replaces one document.

Both use one form, which works with and without JavaScript. Its script uploads each file as soon as
it is selected (`web.packets.files`).
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from ingestion.documents.portal_sources import find_sites_to_upload
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import corrections, drafts
from ingestion.intake.registration import SEVERAL_DOCUMENTS
from ingestion.models import Draft
from ingestion.rules.document_types import TYPES
from sites import eligibility
from sites.models import ApiToken, Site
from web.documents.lookup import get_own_document
from web.documents.outcomes import get_declared_person
from web.packets.file_rules import ACCEPTED_SUFFIXES
from web.packets.upload_form import UploadForm
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.sites.required_documents import list_requirements


@restrict_page(FORM)
def upload_packet(request: SignedIn) -> HttpResponse:
    """Show the upload form. With POST, save its files, or submit the packet."""
    if missing := eligibility.list_missing_for_upload(request.user):
        return _upload_not_allowed(request, missing)
    sites = Site.objects.of(request.user).select_related("study")
    form = UploadForm(request.user, list(sites))
    if request.method == "POST":
        return _process_form(request, form)
    form.load(request.GET.dict())
    return _render_form(request, form)


@login_not_required
@restrict_page(READ)
def upload_allowed(request: HttpRequest) -> HttpResponse:
    """Answer 204 if the sender of this request can upload, else 401.

    nginx sends this request before it reads the body of an upload.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        is_allowed = ApiToken.objects.find_usable(token.strip()) is not None
    else:
        is_allowed = request.user.is_authenticated
    return HttpResponse(status=204 if is_allowed else 401)


@restrict_page(FORM)
def upload_correction(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form for one document, with its site, type and person filled in.

    Answer 409 if the document cannot be corrected.
    """
    document = get_own_document(request.user, pk)
    if missing := eligibility.list_missing_for_upload(request.user):
        return _upload_not_allowed(request, missing)
    sites = Site.objects.of(request.user).filter(pk=document.site_id)
    form = UploadForm(request.user, list(sites.select_related("study")), corrects=document)
    if request.method == "POST":
        return _process_form(request, form)
    if why := corrections.explain_correction_refusal(document):
        newer = corrections.find_correction(document) or corrections.find_newer_version(document)
        context = {"document": document, "why": why, "newer": newer}
        return render(request, "documents/correction_refused.html", context, status=409)
    form.load({"type": document.document_type, "person": get_declared_person(document)})
    return _render_form(request, form)


def _upload_not_allowed(request: SignedIn, missing: Sequence[eligibility.Missing]) -> HttpResponse:
    return render(request, "packets/upload_not_allowed.html", {"missing": missing}, status=403)


def _process_form(request: SignedIn, form: UploadForm) -> HttpResponse:
    """Register the packet. Answer browsers with pages, and the script with JSON."""
    packet = None
    if not request.FILES:  # a form without files may be sent twice
        packet = drafts.find_sent_packet(request.user, request.POST.get("token", ""))
    if packet is None and "remove" in request.POST:
        form.save(request)
        return _render_form(request, form)
    packet = packet or form.submit(request)
    is_browser = request.accepts("text/html")
    if packet is None:
        if is_browser:
            return _render_form(request, form, status=422)
        problems = [
            {"anchor": problem.anchor, "message": problem.message} for problem in form.problems
        ]
        return JsonResponse({"problems": problems}, status=422)
    if is_browser:
        return redirect("packet", packet.reference)
    return JsonResponse({"location": reverse("packet", args=[packet.reference])}, status=201)


def _render_form(request: SignedIn, form: UploadForm, status: int = 200) -> HttpResponse:
    """Return the page of the form, or only the panel with the required documents of the site."""
    requirements, is_portal_silent = None, False
    if form.site:
        requirements = list_requirements(get_readiness(form.site))
        row = Site.objects.filter(pk=form.site.pk)
        is_portal_silent = find_sites_to_upload(row).exists()
    panel = {
        "sites": form.sites,
        "chosen_site": form.site,
        "requirements": requirements,
        "is_portal_silent": is_portal_silent,
    }
    if request.headers.get("X-Fragment"):
        return render(request, "packets/_required_documents.html", panel)
    context = {
        "form": form,
        "address": request.path,
        "types": TYPES.values(),
        "several_documents": SEVERAL_DOCUMENTS,
        "errors": {problem.anchor: problem.message for problem in form.problems},
        "accepted_suffixes": ",".join(ACCEPTED_SUFFIXES),
        "max_megabytes": settings.MAX_DOCUMENT_MB,
        "max_bytes": settings.MAX_DOCUMENT_MB * 1_000_000,
        "draft_days": Draft.KEPT.days,
    }
    return render(request, "packets/new.html", context | panel, status=status)
