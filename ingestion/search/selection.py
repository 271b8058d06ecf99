"""Selects pages that match a query among the documents that the caller may see.

Only pages of these documents are returned, counted and ranked. Better kinds of matches come first,
and within a kind the newest pages.

On SQLite, the condition on documents is part of each statement. On PostgreSQL, it takes longer to
plan than a match to find. So matches are found first, among the sites of the reader, and those of
other documents are left out before anything else is done with them.

For each kind of match, PostgreSQL needs at most two statements to find matches. The first one reads
the newest pages in their order: a common word is found there. The second one reads the older pages
by the index: a word that is rare among the newest pages has few matches there. The planner is not
left to choose between the two, as its estimate for a combination of words is often wrong by orders
of magnitude. Whole words on the pages of a few sites are found by the index at once.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.utils import OperationalError

from ingestion.models import Document, IndexedPage
from ingestion.reading.provenance import unpack_page_words
from ingestion.search import indexes
from ingestion.search.query import Expression, Match, Query, iter_phrases
from ingestion.search.similar import find_all_similar
from ingestion.search.snippets import FoundWords, find_words

MAX_SECONDS = 5.0  # after which a search is stopped
NEWEST_PAGES = 5_000  # pages that are read in their order on PostgreSQL
# Of a few sites, which are read by the index of sites: of 1,000,000 pages, it took half the time.
NEWEST_PAGES_OF_SITES = 20_000
MAX_SITES_IN_ORDER = 20  # with more sites, the newest pages of all sites are read instead
# Matches on PostgreSQL that are found before those of other documents are left out, and by which
# the number grows if too few remain.
MIN_MATCHES, GROWTH_OF_MATCHES = 50, 8
_CURSOR_STEP = 10**18  # between the cursors of two kinds of matches; pages have smaller keys
_PROGRESS_STEPS = 10_000  # of SQLite's virtual machine, between two looks at the clock


class SearchTooSlow(Exception):
    """A search was stopped after MAX_SECONDS."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that matches."""

    page: IndexedPage  # with its document, the site and the packet of it
    match: Match
    found: FoundWords

    @property
    def cursor(self) -> int:
        """Return the number that continues the list after this page."""
        return self.match * _CURSOR_STEP + self.page.pk


@dataclass(frozen=True, slots=True)
class FoundPages:
    """One page of results. `next` is the cursor of the following one, or None."""

    pages: Sequence[FoundPage]
    next: int | None


def find_pages(
    documents: "QuerySet[Document]",
    query: Query,
    *,
    sites: Sequence[int] | None,
    limit: int,
    after: int | None = None,
) -> FoundPages:
    """Return pages of these documents that match, from the cursor `after` on.

    `sites` are the primary keys of the only sites that the documents can be of, or None for all.
    They make the search quick; `documents` decides. Raises SearchTooSlow.
    """
    first, before = divmod(after, _CURSOR_STEP) if after is not None else (0, None)
    matches = [match for match in Match if match >= first]
    selected: list[tuple[int, Match, Expression]] = []
    with _limit_time():
        similar: dict[str, list[str]] = {}
        for match in matches:
            if match is Match.SIMILAR:
                similar = find_all_similar(sorted(query.vocabulary))
            expression = query.build(match, similar)
            better = query.build(Match(match - 1), {}) if match else None
            if better == expression:
                continue  # it finds nothing else
            keys = _select(
                documents,
                expression,
                better,
                sites=sites,
                limit=limit + 1 - len(selected),
                before=before if match == first else None,
            )
            selected += [(key, match, expression) for key in keys]
            if len(selected) > limit:
                break
        pages = _load(documents, selected[:limit])
    next_cursor = pages[-1].cursor if len(selected) > limit and pages else None
    return FoundPages(pages, next_cursor)


def find_on_page(
    documents: "QuerySet[Document]", document: int, page: int, query: Query
) -> FoundWords | None:
    """Return the matches on one page of a document, of the best kind; None without the page."""
    rows = _visible(IndexedPage.objects.filter(document=document, page=page), documents)
    row = rows.first()
    if row is None:
        return None
    words = unpack_page_words(bytes(row.words))
    found = find_words(words, query.build(Match.PREFIX, {}))
    if not found.positions:
        similar = find_all_similar(sorted(query.vocabulary))
        found = find_words(words, query.build(Match.SIMILAR, similar))
    return found


def _visible(
    rows: "QuerySet[IndexedPage]", documents: "QuerySet[Document]"
) -> "QuerySet[IndexedPage]":
    return rows.filter(Exists(documents.order_by().filter(pk=OuterRef("document"))))


def _load(
    documents: "QuerySet[Document]", selected: Sequence[tuple[int, Match, Expression]]
) -> list[FoundPage]:
    """Return the selected pages, in their order, with the matches on them."""
    rows = _visible(IndexedPage.objects.filter(pk__in=[key for key, _, _ in selected]), documents)
    related = ("document__site__study", "document__packet")
    by_key = {row.pk: row for row in rows.select_related(*related)}
    return [
        FoundPage(row, match, find_words(unpack_page_words(bytes(row.words)), expression))
        for key, match, expression in selected
        if (row := by_key.get(key))  # None if it was removed meanwhile
    ]


def _select(
    documents: "QuerySet[Document]",
    expression: Expression,
    better: Expression | None,
    *,
    sites: Sequence[int] | None,
    limit: int,
    before: int | None,
) -> list[int]:
    """Return the keys of matching rows, the newest first."""
    if sites is not None and not sites:
        return []
    if connection.vendor == "sqlite":
        rows = IndexedPage.objects.all()
        rows = rows if before is None else rows.filter(pk__lt=before)
        return _take(_matching(_visible(rows, documents), expression, better, sites), limit)
    keys: list[int] = []
    wanted = MIN_MATCHES
    while True:
        matches = _find_matches(expression, better, sites=sites, limit=wanted, before=before)
        if matches:
            rows = _visible(IndexedPage.objects.filter(pk__in=matches), documents)
            visible = set(rows.values_list("pk", flat=True))
            keys += [key for key in matches if key in visible]
        if len(keys) >= limit or len(matches) < wanted:
            return keys[:limit]
        before = matches[-1]
        wanted *= GROWTH_OF_MATCHES


def _find_matches(
    expression: Expression,
    better: Expression | None,
    *,
    sites: Sequence[int] | None,
    limit: int,
    before: int | None,
) -> list[int]:
    """Return the keys of matching rows of sites on PostgreSQL, also of other documents."""
    rows = IndexedPage.objects.all()
    if before is not None:
        rows = rows.filter(pk__lt=before)
    has_few_sites = sites is not None and len(sites) <= MAX_SITES_IN_ORDER
    if has_few_sites and not any(phrase.is_prefix for phrase in iter_phrases(expression)):
        return _take(_matching(rows, expression, better, sites), limit)
    condition, parameters = indexes.make_condition(expression, better, None)
    # `IS TRUE` keeps the planner from using the index of tokens.
    where, values = [f"({condition}) IS TRUE"], [*parameters]
    if sites is not None and has_few_sites:
        newest = indexes.list_newest_pages(sites, before, NEWEST_PAGES_OF_SITES)
        start = newest[-1] if len(newest) == NEWEST_PAGES_OF_SITES else 0
        where.append(f"{indexes.PAGES_TABLE}.id = ANY(%s)")
        values.append(newest)
        recent = rows
    else:
        keys_in_order = rows.order_by("-pk").values_list("pk", flat=True)
        start = next(iter(keys_in_order[NEWEST_PAGES - 1 : NEWEST_PAGES]), 0)
        recent = rows.filter(pk__gte=start)
        recent = recent if sites is None else recent.filter(site__in=sites)
    recent = recent.order_by("-pk").extra(where=where, params=values)  # noqa: S610 - they are ours
    keys = _take(recent, limit)
    if len(keys) < limit and start:
        older = _matching(rows.filter(pk__lt=start), expression, better, sites)
        keys += _take(older, limit - len(keys))
    return keys


def _matching(
    rows: "QuerySet[IndexedPage]",
    expression: Expression,
    better: Expression | None,
    sites: Sequence[int] | None,
) -> "QuerySet[IndexedPage]":
    """Return the rows that match, found by the full-text index, in the order of their keys."""
    condition, parameters = indexes.make_condition(expression, better, sites)
    if connection.vendor == "sqlite":
        key = f"{indexes.FTS_PAGES}.rowid"  # in whose order FTS5 finds them
        joined = f"{key} = {indexes.PAGES_TABLE}.id"
        rows = rows.extra(  # noqa: S610 - the names and the condition are ours
            tables=[indexes.FTS_PAGES], where=[condition, joined], params=parameters
        )
        return rows.extra(order_by=[f"-{key}"])
    # The sum keeps the planner from reading all rows in the order of their keys.
    rows = rows.extra(where=[condition], params=parameters)  # noqa: S610 - the condition is ours
    return rows.order_by((F("pk") + 0).desc())


def _take(rows: "QuerySet[IndexedPage]", limit: int) -> list[int]:
    return list(rows.values_list("pk", flat=True)[:limit])


@contextmanager
def _limit_time() -> Iterator[None]:
    """Stop the statements inside after MAX_SECONDS in all. Raises SearchTooSlow."""
    try:
        with transaction.atomic():
            if connection.vendor == "sqlite":
                deadline = time.monotonic() + MAX_SECONDS
                with _watch_clock(deadline):
                    yield
                return
            with connection.cursor() as cursor:
                for name, value in _POSTGRESQL_SETTINGS.items():
                    cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
            yield
            with connection.cursor() as cursor:
                for name in _POSTGRESQL_SETTINGS:  # in case that the caller has a transaction
                    cursor.execute(f"SET LOCAL {name} TO DEFAULT")
    except OperationalError as error:
        if "interrupted" in str(error) or "statement timeout" in str(error):
            raise SearchTooSlow from error
        raise


_POSTGRESQL_SETTINGS = {
    "statement_timeout": f"{MAX_SECONDS:.0f}s",
    # To compile a statement or to start other processes takes longer than most searches.
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


@contextmanager
def _watch_clock(deadline: float) -> Iterator[None]:
    """Interrupt the statements of SQLite inside after a time of the monotonic clock."""
    connection.ensure_connection()
    database: Any = connection.connection
    database.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
    try:
        yield
    finally:
        database.set_progress_handler(None, 0)
