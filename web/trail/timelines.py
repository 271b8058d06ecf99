"""`/admin/audit/`: what is on record of all, of a site, of a packet, and of a document."""

from collections.abc import Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render

from audit.ledger import queries
from audit.ledger.queries import EntrySearch, Recorded
from ingestion.models import Document, Packet
from sites.models import Site
from web.permissions import SEE
from web.shell.access import READ, SignedIn, page
from web.shell.request_limits import whole_number
from web.trail.entries import EntryLine, build_entry_lines
from web.trail.forms import SearchForm

ENTRIES_PER_PAGE = 50


@page(READ, permission=SEE)
def complete_trail(request: SignedIn) -> HttpResponse:
    """Everything, or what the search asks for; the newest first."""
    form = SearchForm(request.GET or None)
    is_fit = not form.is_bound or form.is_valid()
    search = form.search if form.is_bound and is_fit else EntrySearch()
    found = _page(request, search) if is_fit else {"lines": []}
    context = {"form": form, "is_searched": bool(search) or not is_fit, **found}
    return render(request, "trail/entries.html", context)


@page(READ, permission=SEE)
def document_trail(request: SignedIn, pk: int) -> HttpResponse:
    """All versions of it: what is filed under the same identifier of the same site."""
    visible = Document.objects.visible_to(request.user).select_related("site", "packet")
    document = get_object_or_404(visible, pk=pk)
    entries = queries.document_entries(document.site.site_id, document.doc_id)
    context = {
        "document": document,
        "lines": _numbered(build_entry_lines(entries)),
        "newest_first": False,
    }
    return render(request, "trail/document.html", context)


@page(READ, permission=SEE)
def packet_trail(request: SignedIn, reference: str) -> HttpResponse:
    visible = Packet.objects.visible_to(request.user).select_related("site", "batch")
    packet = get_object_or_404(visible, reference=reference)
    context = {
        "packet": packet,
        **_page(request, EntrySearch(subjects=list_packet_subjects(packet))),
    }
    return render(request, "trail/packet.html", context)


@page(READ, permission=SEE)
def site_trail(request: SignedIn, site_id: str) -> HttpResponse:
    visible = Site.objects.visible_to(request.user).select_related("study")
    site = get_object_or_404(visible, site_id=site_id)
    context = {"site": site, **_page(request, EntrySearch(sites=[site.site_id]))}
    return render(request, "trail/site.html", context)


def _numbered(found: Sequence[EntryLine]) -> list[EntryLine]:
    """Which version an entry is about, where there are several: by the order of their arrival."""
    order = {
        subject: n for n, subject in enumerate(dict.fromkeys(line.subject for line in found), 1)
    }
    return [replace(line, version=order[line.subject] if len(order) > 1 else 0) for line in found]


def list_packet_subjects(packet: Packet) -> list[str]:
    """Its batch, itself and its documents, whose correlation ids differ."""
    own = packet.documents.order_by("pk").values_list("pk", flat=True)
    return [packet.batch.subject, packet.subject, *(f"document:{pk}" for pk in own)]


def _page(request: HttpRequest, search: EntrySearch) -> dict[str, object]:
    before = request.GET.get("before", "")
    found = queries.find_entries(search, before=whole_number(before), limit=ENTRIES_PER_PAGE + 1)
    shown = found[:ENTRIES_PER_PAGE]
    return {
        "lines": build_entry_lines(shown),
        "newest_first": True,
        "is_first": not before,
        "older": _older(request.GET, shown) if len(found) > ENTRIES_PER_PAGE else "",
        "query": _without_place(request.GET).urlencode(),
    }


def _older(asked: QueryDict, shown: Sequence[Recorded]) -> str:
    query = _without_place(asked)
    query["before"] = str(shown[-1].seq)
    return query.urlencode()


def _without_place(asked: QueryDict) -> QueryDict:
    query = asked.copy()
    query.pop("before", None)
    return query
