"""Serves `/search`: pages of documents that have the words of a query."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router
from pydantic import Field

from api.http import visibility
from api.http.auth import ApiRequest, Bearer
from api.http.paging import NO_NUL, Cursor, set_next_link
from api.http.problems import Problem
from api.schemas import SearchList, SearchResultOut, make_responses
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.search import selection
from ingestion.search.query import (
    MAX_QUERY_CHARACTERS,
    MAX_TERMS,
    QueryRefused,
    parse_query,
)
from ingestion.search.selection import FoundPage, SearchTooSlow
from sites.models import TokenScope

router = Router()
_REFUSALS = {
    QueryRefused.EMPTY: "The query has no letters and no digits.",
    QueryRefused.TOO_LONG: f"The query has more than {MAX_QUERY_CHARACTERS} characters.",
    QueryRefused.TOO_MANY_TERMS: f"The query has more than {MAX_TERMS} words and phrases.",
}


class SearchQuery(Cursor):
    """Describes the query parameters of a search. `after` is only valid as `next` states it."""

    q: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUERY_CHARACTERS,
            pattern=NO_NUL,
            description="Words, all of which a page must have; phrases in quotation marks.",
        ),
    ]


@router.get(
    "",
    response=make_responses(SearchList, errors=(503,)),
    auth=Bearer(TokenScope.DOWNLOAD),
    summary="Search the words of documents that can be downloaded, best matches first",
)
def search_documents(
    request: ApiRequest, response: HttpResponse, query: Query[SearchQuery]
) -> SearchList:
    """Return one page of the pages that match, among the documents whose bytes the token may have.

    Pages with the exact words come first, then those with longer words, then those with similar
    words, and within each the newest. Responds with problem 503 if the search takes too long.
    """
    documents = downloads.filter_viewable(visibility.list_visible_documents(request.auth))
    site = request.auth.site_id
    try:
        found = selection.find_pages(
            documents,
            parse_query(query.q),
            sites=[site] if site else None,
            limit=query.limit,
            after=query.after,
        )
    except QueryRefused as refused:
        raise Problem(422, _REFUSALS[refused.reason]) from refused
    except SearchTooSlow as error:
        raise Problem(503, "The search took too long. Add a word that few pages have.") from error
    items = [_describe_result(request, page) for page in found.pages]
    return SearchList(items=items, next=set_next_link(request, response, found.next))


def _describe_result(request: HttpRequest, found: FoundPage) -> SearchResultOut:
    document = found.page.document
    url = reverse("api:one_document", args=[document.pk])
    return SearchResultOut(
        document=document.pk,
        site_id=document.site.site_id,
        doc_id=document.doc_id,
        document_type=document.document_type,
        filename=document.filename,
        state=DocumentState(document.state),
        page=found.page.page,
        match=found.match.name.lower(),
        snippet=" ".join(part.text for part in found.found.snippet),
        words=[part.text for part in found.found.snippet if part.is_match],
        places=[list(box) for box in found.found.boxes],
        url=request.build_absolute_uri(url),
    )
