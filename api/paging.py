"""Lists, a page at a time.

The cursor is the last item's own number: nothing is missed or repeated while new items come in at
the other end.
"""

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import Field

ROW_NUMBERS = 2**63 - 1  # what a BigAutoField holds; SQLite breaks on more
AT_MOST = 200

Row = TypeVar("Row", bound=Model)


class Cursor(Schema):
    after: Annotated[int, Field(ge=0, le=ROW_NUMBERS)] | None = None
    limit: Annotated[int, Field(ge=1, le=AT_MOST)] = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    next: str | None  # the address of the next page, absolute


def page(
    request: HttpRequest, response: HttpResponse, rows: "QuerySet[Row]", asked: Cursor
) -> Page[Row]:
    """The newest first. Sets `Link: rel=next` (RFC 8288) where there is more."""
    if asked.after is not None:
        rows = rows.filter(pk__lt=asked.after)
    found = list(rows.order_by("-pk")[: asked.limit + 1])
    shown = found[: asked.limit]
    if len(found) == len(shown):
        return Page(shown, None)
    query = request.GET.copy()
    query["after"] = str(shown[-1].pk)
    address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    response["Link"] = f'<{address}>; rel="next"'
    return Page(shown, address)
