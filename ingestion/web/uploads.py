"""Upload a packet: `/packets/new/`. One form, with JavaScript and without."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Max
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from ingestion import watch
from ingestion.models import Document, Packet
from ingestion.rules.types import TYPES
from ingestion.web.access import SignedIn
from ingestion.web.drafts import ACCEPTED, Draft
from sites.models import Site


@dataclass(frozen=True, slots=True)
class Need:
    """One type of document, and the newest one of it that the site sent."""

    name: str
    document: Document | None


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: SignedIn) -> HttpResponse:
    sites = list(Site.objects.filter(memberships__user=request.user))
    if request.method != "POST":
        return _form(request, sites, Draft.blank(sites, request))
    result = Draft.sent(sites, request).register(request.user)
    return (
        _accepted(request, result)
        if isinstance(result, Packet)
        else _refused(request, sites, result)
    )


def needs(site: Site) -> list[Need]:
    """What the site still needs: every type that each site has, with its newest document."""
    own = Document.objects.filter(site=site, document_type__in=TYPES).order_by()
    newest = own.values("document_type").annotate(last=Max("pk")).values_list("last", flat=True)
    by_type = {each.document_type: each for each in Document.objects.filter(pk__in=newest)}
    expected = (kind for kind in TYPES.values() if not kind.optional)
    return [Need(kind.name, by_type.get(kind.slug)) for kind in expected]


def _form(request: SignedIn, sites: list[Site], draft: Draft, status: int = 200) -> HttpResponse:
    panel = {
        "sites": sites,
        "site": draft.site,
        "needs": draft.site and needs(draft.site),
        "is_silent": draft.site and watch.silent(Site.objects.filter(pk=draft.site.pk)).exists(),
    }
    if request.headers.get("X-Fragment"):
        return render(request, "packets/_needs.html", panel)
    context = {
        "draft": draft,
        "types": TYPES.values(),
        "faults": {problem.anchor: problem.message for problem in draft.problems},
        "accepted": ",".join(ACCEPTED),
        "most": settings.MAX_UPLOAD_FILES,
        "largest_mb": settings.MAX_DOCUMENT_MB,
        "largest": settings.MAX_DOCUMENT_MB * 1_000_000,
    }
    return render(request, "packets/new.html", context | panel, status=status)


def _accepted(request: SignedIn, packet: Packet) -> HttpResponse:
    if request.accepts("text/html"):
        return redirect("packet", packet.reference)
    address = reverse("packet", args=[packet.reference])
    return JsonResponse({"location": address}, status=201)


def _refused(request: SignedIn, sites: list[Site], draft: Draft) -> HttpResponse:
    if request.accepts("text/html"):
        return _form(request, sites, draft, status=422)
    problems = [{"anchor": each.anchor, "message": each.message} for each in draft.problems]
    return JsonResponse({"problems": problems}, status=422)
