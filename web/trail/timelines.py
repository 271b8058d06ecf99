"""Serves `/admin/audit/`: the entries of everything, of a site, a packet, or a document."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from audit.ledger import queries
from audit.ledger.queries import EntrySearch
from ingestion.models import Document, Packet
from sites.models import Site
from web.permissions import VIEW_ENTRIES
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.request_limits import parse_whole_number
from web.trail.entries import build_entry_lines
from web.trail.forms import SearchForm

ENTRIES_PER_PAGE = 50


@restrict_page(READ, permission=VIEW_ENTRIES)
def complete_trail(request: SignedIn) -> HttpResponse:
    """Show all entries, or those that match the search, the newest first."""
    form = SearchForm(request.GET or None)
    is_valid = not form.is_bound or form.is_valid()
    search = form.search if form.is_bound and is_valid else EntrySearch()
    entries = _list_newest(request, search) if is_valid else {"lines": []}
    context = {"form": form, "is_searched": bool(search) or not is_valid, **entries}
    return render(request, "trail/entries.html", context)


@restrict_page(READ, permission=VIEW_ENTRIES)
def document_trail(request: SignedIn, pk: int) -> HttpResponse:
    """Show the entries of all versions of a document, the oldest first.

    Versions are documents with the same identifier of the same site. They are numbered in the
    order of their arrival.
    """
    visible = Document.objects.visible_to(request.user).select_related("site", "packet")
    document = get_object_or_404(visible, pk=pk)
    lines = build_entry_lines(queries.list_document_entries(document.site.site_id, document.doc_id))
    versions = dict.fromkeys(line.subject for line in lines)
    if len(versions) > 1:
        numbers = {subject: number for number, subject in enumerate(versions, 1)}
        lines = [replace(line, version=numbers[line.subject]) for line in lines]
    context = {"document": document, "lines": lines, "newest_first": False}
    return render(request, "trail/document.html", context)


@restrict_page(READ, permission=VIEW_ENTRIES)
def packet_trail(request: SignedIn, reference: str) -> HttpResponse:
    """Show the entries of a packet, its batch and its documents, the newest first.

    Raises Http404 if the person cannot see the packet.
    """
    visible = Packet.objects.visible_to(request.user).select_related("site", "batch")
    packet = get_object_or_404(visible, reference=reference)
    context = {
        "packet": packet,
        **_list_newest(request, EntrySearch(subjects=packet.list_subjects())),
    }
    return render(request, "trail/packet.html", context)


@restrict_page(READ, permission=VIEW_ENTRIES)
def site_trail(request: SignedIn, site_id: str) -> HttpResponse:
    """Show the entries of one site, the newest first.

    Raises Http404 if the person cannot see it.
    """
    visible = Site.objects.visible_to(request.user).select_related("study")
    site = get_object_or_404(visible, site_id=site_id)
    context = {"site": site, **_list_newest(request, EntrySearch(sites=[site.site_id]))}
    return render(request, "trail/site.html", context)


def _list_newest(request: HttpRequest, search: EntrySearch) -> dict[str, object]:
    """Return one page of the entries that match, the newest first, with its links."""
    before = request.GET.get("before", "")
    # One entry more than a page has: it shows whether older entries exist.
    found = queries.find_entries(
        search, before=parse_whole_number(before), limit=ENTRIES_PER_PAGE + 1
    )
    entries = found[:ENTRIES_PER_PAGE]
    newest_query, older_query = request.GET.copy(), request.GET.copy()
    newest_query.pop("before", None)
    has_older = len(found) > ENTRIES_PER_PAGE
    if has_older:
        older_query["before"] = str(entries[-1].seq)
    return {
        "lines": build_entry_lines(entries),
        "newest_first": True,
        "is_first_page": not before,
        "newest_query": newest_query.urlencode(),
        "older_query": older_query.urlencode() if has_older else "",
    }
