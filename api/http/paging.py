"""Returns lists in pages, newest first.

The cursor is the primary key of the last item. No item is missed or repeated while new items are
added at the other end.
"""

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import Field

MAX_ROW_NUMBER = 2**63 - 1  # of a BigAutoField; SQLite fails with larger numbers
NO_NUL = r"^[^\x00]*$"  # of text: PostgreSQL cannot store the character NUL
MAX_ITEMS_PER_PAGE = 200

Row = TypeVar("Row", bound=Model)


class Cursor(Schema):
    """The query parameters that all lists have in common."""

    after: Annotated[int, Field(ge=0, le=MAX_ROW_NUMBER)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS_PER_PAGE)] = 50


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """Describes one page of a list, with the URL of the next page."""

    rows: list[Row]
    next: str | None  # the absolute URL of the next page


def paginate(
    request: HttpRequest, response: HttpResponse, rows: "QuerySet[Row]", query: Cursor
) -> ListPage[Row]:
    """Return one page of the rows, newest first.

    Sets the header `Link: rel="next"` (RFC 8288) if there is a next page.
    """
    if query.after is not None:
        rows = rows.filter(pk__lt=query.after)
    with_next = list(rows.order_by("-pk")[: query.limit + 1])
    on_page = with_next[: query.limit]
    if len(with_next) == len(on_page):
        return ListPage(on_page, None)
    return ListPage(on_page, set_next_link(request, response, on_page[-1].pk))


def set_next_link(request: HttpRequest, response: HttpResponse, after: int | None) -> str | None:
    """Return the absolute URL of the next page, and set it as the header `Link` (RFC 8288).

    `after` is the cursor of the last item, or None if there is no next page.
    """
    if after is None:
        return None
    parameters = request.GET.copy()
    parameters["after"] = str(after)
    url = request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")
    response["Link"] = f'<{url}>; rel="next"'
    return url
