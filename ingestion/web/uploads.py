"""Upload a packet: `/packets/new/`. One form, with JavaScript and without."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from audit import prompts
from ingestion import watch
from ingestion.models import Packet
from ingestion.readiness import readiness_of
from ingestion.rules.types import TYPES
from ingestion.web.access import SignedIn
from ingestion.web.drafts import ACCEPTED, Draft, Row
from ingestion.web.required import lines
from sites import accounts
from sites.models import Site, User


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: SignedIn) -> HttpResponse:
    if missing := accounts.may_upload(request.user):
        return render(request, "packets/not_yet.html", {"missing": missing}, status=403)
    sites = list(Site.objects.of(request.user).select_related("study"))
    if request.method != "POST":
        return _form(request, sites, Draft.blank(sites, request))
    result = Draft.sent(sites, request).register(request.user)
    if isinstance(result, Packet):
        return _accepted(request, result)
    _note_return(request.user, result)
    return _refused(request, sites, result)


def _note_return(user: User, draft: Draft) -> None:
    """That the form came back is on record, with what was chosen in its rows (R08)."""
    wrong: dict[str, list[str]] = {}
    for problem in draft.problems:
        wrong.setdefault(problem.anchor, []).append(problem.code)
    typed = {f"row-{row.number}": _as_sent(row) for row in draft.filled}
    site = draft.site.site_id if draft.site else ""
    by = (user.actor, user.role)
    prompts.form_came_back("packet", wrong=wrong, typed=typed, by=by, site=site)


def _as_sent(row: Row) -> str:
    return f"{row.document_type} {row.person} {row.filename}"


def _form(request: SignedIn, sites: list[Site], draft: Draft, status: int = 200) -> HttpResponse:
    panel = {
        "sites": sites,
        "site": draft.site,
        "needs": draft.site and lines(readiness_of(draft.site)),
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
