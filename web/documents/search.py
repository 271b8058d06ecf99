"""Searches the words of documents at `/search/`, and shows a found page with the words marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ingestion.documents import downloads
from ingestion.models import Document
from ingestion.search import selection
from ingestion.search.query import MAX_QUERY_CHARACTERS, MAX_TERMS, Match, QueryRefused, parse_query
from ingestion.search.selection import FoundPage, SearchTooSlow
from ingestion.search.snippets import SnippetPart
from sites.models import Site, User
from web.documents.lookup import get_visible_document
from web.documents.page_images import build_page_image, mark_words
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.request_limits import parse_whole_number

RESULTS_PER_PAGE = 20
_TOO_SLOW = _("The search took too long. Add a word that few pages have, or remove common words.")
_REFUSALS: Mapping[str, Promise] = {
    QueryRefused.TOO_LONG: _("The search text is too long. Enter at most {characters} characters."),
    QueryRefused.TOO_MANY_TERMS: _("Enter at most {terms} words or phrases."),
    QueryRefused.EMPTY: _("Enter at least one word or number. Punctuation alone is not searched."),
}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that matches, as a line of the list."""

    document: Document
    page: int
    snippet: Sequence[SnippetPart]
    is_similar: bool  # whether it has similar words only
    query: str  # of the address of the page


@restrict_page(READ)
def search_page(request: SignedIn) -> HttpResponse:
    """Show the pages that match `?q=`, among the documents whose pages the person may view."""
    text = request.GET.get("q", "").strip()
    after = parse_whole_number(request.GET.get("after", "")) if "after" in request.GET else None
    context: dict[str, object] = {
        "text": text,
        "max_characters": MAX_QUERY_CHARACTERS,
        "is_first_page": after is None,
    }
    if not text:
        return render(request, "documents/search.html", context)
    try:
        query = parse_query(text)
        found = selection.find_pages(
            list_searchable(request.user),
            query,
            sites=list_searchable_sites(request.user),
            limit=RESULTS_PER_PAGE,
            after=after,
        )
    except QueryRefused as refused:
        sentence = str(_REFUSALS[refused.reason])
        limits = {"characters": MAX_QUERY_CHARACTERS, "terms": MAX_TERMS}
        context["problem"] = sentence.format(**limits)
        return render(request, "documents/search.html", context)
    except SearchTooSlow:
        context["problem"] = str(_TOO_SLOW)
        return render(request, "documents/search.html", context)
    context["is_searched"] = True
    context["results"] = [_describe(page, text) for page in found.pages]
    context["has_similar_only"] = bool(found.pages) and found.pages[0].match is Match.SIMILAR
    if found.next is not None:
        context["next_query"] = urlencode({"q": text, "after": found.next})
    context["first_query"] = urlencode({"q": text})
    return render(request, "documents/search.html", context)


@restrict_page(READ)
def found_page(request: SignedIn, pk: int, page: int) -> HttpResponse:
    """Show a page of a document with the words of `?q=` marked.

    Raises Http404 if the person may not view the page, or if the document does not have it.
    """
    document = get_visible_document(request.user, pk)
    if not downloads.can_view_file(request.user, document) or page not in document.page_numbers:
        raise Http404
    text = request.GET.get("q", "").strip()
    boxes = []
    is_found = False
    try:
        documents = list_searchable(request.user)
        found = selection.find_on_page(documents, document.pk, page, parse_query(text))
        if found is not None:
            boxes, is_found = found.boxes, bool(found.positions)
    except (QueryRefused, SearchTooSlow):
        pass  # The page is shown without marks, and the text says so.
    image = build_page_image(request.user, document, [], page)
    numbers = document.page_numbers
    context = {
        "document": document,
        "page": page,
        "last_page": numbers[-1],
        "previous_page": page - 1 if page - 1 in numbers else None,
        "next_page": page + 1 if page + 1 in numbers else None,
        "page_image": image and mark_words(image, boxes),
        "text": text,
        "query": urlencode({"q": text}),
        "is_found": is_found,
        "has_places": bool(boxes),
    }
    return render(request, "documents/found_page.html", context)


def list_searchable(person: User) -> "QuerySet[Document]":
    """Return the documents whose pages the person may view."""
    return downloads.filter_viewable(Document.objects.visible_to(person), person)


def list_searchable_sites(person: User) -> list[int] | None:
    """Return the primary keys of the sites whose documents the person sees, or None for all."""
    if person.sees_all_sites:
        return None
    return list(Site.objects.visible_to(person).values_list("pk", flat=True))


def _describe(page: FoundPage, text: str) -> SearchResult:
    return SearchResult(
        document=page.page.document,
        page=page.page.page,
        snippet=page.found.snippet,
        is_similar=page.match is Match.SIMILAR,
        query=urlencode({"q": text}),
    )
