"""Fill a database with pages and search them, on the database that the environment names.

`python -m bench.sides.search DOCUMENTS QUERIES` prints a JSON object: milliseconds by side, person
and kind of query. It needs an empty database. The words of a page follow Zipf's law. To save time,
PostgreSQL's server copies BASE_PAGES different pages to all documents.
"""

import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import django
import numpy as np

PAGES_PER_DOCUMENT = 10
WORDS_PER_PAGE = 300
VOCABULARY = 200_000  # different words
BASE_PAGES = 20_000  # different pages
SITES = 500
COORDINATOR_SITES = 3
SYLLABLES = [
    a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")
]
STATES = ("ARCHIVED",) * 7 + ("REJECTED", "REJECTED", "IN_REVIEW")
KINDS = ("rare word", "common word", "two words", "phrase", "misspelt word", "no result")
RESULTS = 20  # of a page of the list


def make_vocabulary(chance: random.Random) -> list[str]:
    """Return different words, the most frequent first."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(SYLLABLES, k=chance.choice((2, 3, 3, 4))))] = None
    return list(words)


def make_pages(count: int, vocabulary: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of pages, drawn by Zipf's law."""
    weights = 1.0 / np.arange(1, len(vocabulary) + 1)
    bounds, source = np.cumsum(weights / weights.sum()), np.random.default_rng(1)
    for _ in range(count):
        drawn = np.searchsorted(bounds, source.random(WORDS_PER_PAGE))
        yield [vocabulary[min(at, len(vocabulary) - 1)] for at in drawn]


def add_documents(count: int) -> None:
    """Add sites, and documents of all of them in turn, by copying one row."""
    from django.db import connection
    from django.utils import timezone

    from ingestion.models import Batch, BatchSource, Document, Packet
    from sites.models import Portal, Site, Study

    study = Study.objects.create(protocol_number="SLX-301")
    number = min(SITES, count)
    portals = Portal.objects.bulk_create(
        Portal(key=f"p{n}", base_url="https://portal.example.org/") for n in range(number)
    )
    sites = Site.objects.bulk_create(
        Site(study=study, portal=portal, site_id=f"{n:04}", name="Hospital", country="Ireland")
        for n, portal in enumerate(portals)
    )
    batch = Batch.objects.create(
        reference="BAT-bench", source=BatchSource.UPLOAD, state="COMPLETED"
    )
    packets = Packet.objects.bulk_create(
        Packet(batch=batch, site=site, reference=f"PKT-{site.site_id}") for site in sites
    )
    common: dict[str, Any] = {"batch": batch, "schema_version": "v2.1", "document_type": "cv"}
    now = timezone.now()
    for at in range(0, count, 5_000):
        Document.objects.bulk_create(
            Document(
                packet=packets[n % number],
                site=sites[n % number],
                doc_id=f"doc-{n}",
                filename=f"scan-{n}.pdf",
                url=f"https://portal.example.org/{n}.pdf",
                sha256=f"{n:064x}",
                pages=PAGES_PER_DOCUMENT,
                state=STATES[n % len(STATES)],
                settled_at=now,
                **common,
            )
            for n in range(at, min(count, at + 5_000))
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def add_pages(documents: int, vocabulary: Sequence[str]) -> None:
    """Add the pages of all documents to the index, and their texts to a table of the baseline."""
    from django.db import connection

    from ingestion.search import indexes
    from ingestion.search.tokens import list_vocabulary

    pages = documents * PAGES_PER_DOCUMENT
    is_postgresql = connection.vendor == "postgresql"
    made = make_pages(min(BASE_PAGES, pages) if is_postgresql else pages, vocabulary)
    add = _copy_pages if is_postgresql else _insert_pages
    used = add(pages, made)
    say("added the pages")
    indexes.insert_words(list_vocabulary(used))
    say("added the words")
    if not is_postgresql:
        return
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(
            """SELECT pg_size_pretty(pg_total_relation_size('ingestion_indexedpage')),
            pg_size_pretty(pg_relation_size('indexed_pages_by_token')),
            pg_size_pretty(pg_total_relation_size('ingestion_indexedword'))"""
        )
        say(f"sizes of pages with indexes, index of tokens, words: {cursor.fetchone()}")


def _pack(words: Sequence[str]) -> bytes:
    """Return the words in a grid of ten columns, as the index stores them."""
    from ingestion.reading.provenance import PlacedWord, pack_page_words
    from ingestion.reading.results import Box

    boxes = (
        Box(50 + 50 * (n % 10), 40 + 24 * (n // 10), 95 + 50 * (n % 10), 52 + 24 * (n // 10))
        for n in range(len(words))
    )
    return pack_page_words([PlacedWord(*each) for each in zip(words, boxes, strict=True)])


def _insert_pages(pages: int, made: Iterator[Sequence[str]]) -> set[str]:
    """Insert the pages one by one, and return their words."""
    from django.db import connection, transaction

    from ingestion.models import Document
    from ingestion.search import indexes

    keys = list(Document.objects.order_by("pk").values_list("pk", "site_id"))
    used: set[str] = set()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_text (page_id integer PRIMARY KEY, text text)")
        for number, words in zip(range(pages), made, strict=True):
            document, site = keys[number // PAGES_PER_DOCUMENT]
            page = number % PAGES_PER_DOCUMENT + 1
            indexes.insert_pages([indexes.PageRow(document, site, page, _pack(words), words)])
            used.update(words)
            cursor.execute(
                "INSERT INTO bench_text SELECT max(id), %s FROM ingestion_indexedpage",
                [" ".join(words)],
            )
    return used


def _copy_pages(pages: int, made: Iterator[Sequence[str]]) -> set[str]:
    """Insert the pages by copies that the server makes, and return their words."""
    from django.db import connection

    from ingestion.search import indexes

    used: set[str] = set()
    base = min(BASE_PAGES, pages)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX indexed_pages_by_token")
        cursor.execute(
            "CREATE UNLOGGED TABLE bench_base (number int, words bytea, tokens tsvector, text text)"
        )
        with cursor.copy("COPY bench_base FROM STDIN") as copy:
            for number, words in enumerate(made):
                used.update(words)
                vector = indexes.make_tsvector(0, words).removeprefix("'=0' ")
                copy.write_row((number, _pack(words), vector, " ".join(words)))
        say("made the pages")
        cursor.execute(
            """CREATE UNLOGGED TABLE bench_keys AS SELECT row_number() OVER (ORDER BY id) - 1 AS n,
            id, site_id FROM ingestion_document"""
        )
        cursor.execute("ALTER TABLE bench_keys ADD PRIMARY KEY (n)")
        # Copies of a page are far from each other, in documents of different sites.
        cursor.execute(
            f"""INSERT INTO ingestion_indexedpage (document_id, site_id, page, words, tokens)
            SELECT key.id, key.site_id, page % {PAGES_PER_DOCUMENT} + 1, base.words,
            base.tokens || ('''=' || key.site_id || '''')::tsvector
            FROM generate_series(0, {pages - 1}) AS page
            JOIN bench_keys AS key ON key.n = page / {PAGES_PER_DOCUMENT}
            JOIN bench_base AS base ON base.number = (page * 7919::bigint) % {base}
            ORDER BY page"""  # noqa: S608 - numbers of this module
        )
        say("copied the pages")
        cursor.execute("SET maintenance_work_mem = '1GB'")
        cursor.execute(
            "CREATE INDEX indexed_pages_by_token ON ingestion_indexedpage USING gin (tokens)"
        )
        say("built the index of tokens")
        cursor.execute(
            f"""CREATE UNLOGGED TABLE bench_text AS SELECT page.id AS page_id, base.text
            FROM ingestion_indexedpage AS page JOIN bench_keys AS key ON key.id = page.document_id
            JOIN bench_base AS base ON base.number =
            ((key.n * {PAGES_PER_DOCUMENT} + page.page - 1) * 7919) % {base} ORDER BY page.id"""  # noqa: S608
        )
        cursor.execute("ALTER TABLE bench_text ADD PRIMARY KEY (page_id)")
        cursor.execute("DROP TABLE bench_base")
    return used


def say(text: str) -> None:
    """Print progress with the time of this process."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def make_queries(count: int, vocabulary: Sequence[str]) -> dict[str, list[str]]:
    """Return queries by kind."""
    chance = random.Random(2)
    texts = [words for words, _ in zip(make_pages(200, vocabulary), range(200), strict=True)]
    tail = vocabulary[VOCABULARY // 4 :]
    common = vocabulary[:50]
    middle = [word for word in vocabulary[500:20_000] if len(word) > 6]
    known = set(vocabulary)

    def misspell(word: str) -> str:
        while True:
            at = chance.randrange(1, len(word))
            wrong = word[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :]
            if wrong not in known:
                return wrong

    def phrase() -> str:
        words = chance.choice(texts)
        at = chance.randrange(len(words) - 3)
        return f'"{" ".join(words[at : at + 3])}"'

    makers: dict[str, Callable[[], str]] = {
        "rare word": lambda: chance.choice(tail),
        "common word": lambda: chance.choice(common),
        "two words": lambda: f"{chance.choice(middle)} {chance.choice(common)}",
        "phrase": phrase,
        "misspelt word": lambda: misspell(chance.choice(middle)),
        "no result": lambda: "".join(chance.choices("qxwky", k=9)),
    }
    return {kind: [makers[kind]() for _ in range(count)] for kind in KINDS}


class QueryClock:
    """Measures the time by the clock, and of the processor in this process and the server's."""

    def __init__(self) -> None:
        from django.db import connection

        self._server: Path | None = None
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self._server = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def _used(self) -> float:
        server = int(self._server.read_text().split()[0]) / 1e9 if self._server else 0.0
        return time.process_time() + server

    def measure(self, work: Callable[[], object]) -> tuple[float, float]:
        """Return the milliseconds that some work takes, by the clock and of the processor."""
        used, begun = self._used(), time.perf_counter()
        work()
        return 1_000 * (time.perf_counter() - begun), 1_000 * (self._used() - used)


def search_as_page(person: Any, text: str) -> None:
    """Search as the page does: the documents, the pages, and the words around the matches."""
    from ingestion.search import selection
    from ingestion.search.query import parse_query
    from web.documents.search import list_searchable, list_searchable_sites

    found = selection.find_pages(
        list_searchable(person),
        parse_query(text),
        sites=list_searchable_sites(person),
        limit=RESULTS,
    )
    if not all(page.page.document.site.site_id and page.found.snippet for page in found.pages):
        raise RuntimeError(f"a page that was found for {text} has no words")


def scan_texts(person: Any, text: str) -> None:
    """Find the newest pages whose text contains each word or phrase, without an index of words."""
    from django.db import connection

    from ingestion.models import IndexedPage
    from web.documents.search import list_searchable

    operator = "ILIKE" if connection.vendor == "postgresql" else "LIKE"
    words = [text.strip('"')] if text.startswith('"') else text.split()
    condition = " AND ".join([f"text {operator} %s"] * len(words))
    where = f"id IN (SELECT page_id FROM bench_text WHERE {condition})"  # noqa: S608
    rows = IndexedPage.objects.filter(document__in=list_searchable(person))
    rows = rows.extra(where=[where], params=[f"%{word}%" for word in words])  # noqa: S610
    list(rows.order_by("-pk").values_list("pk", flat=True)[:RESULTS])


def measure(queries: Mapping[str, Sequence[str]], baseline_queries: int) -> dict[str, Any]:
    """Return the times of each query by side, person and kind."""
    from django.contrib.auth.models import Group

    from sites.models import Membership, Site, User

    sites = list(Site.objects.order_by("?")[:COORDINATOR_SITES])
    coordinator = User.objects.create(username="coordinator")
    Membership.objects.bulk_create(Membership(user=coordinator, site=site) for site in sites)
    reviewer = User.objects.create(username="reviewer", is_staff=True)
    reviewer.groups.set(Group.objects.filter(name="QA reviewers"))
    clock = QueryClock()
    gc.freeze()  # as config.wsgi does
    times: dict[str, Any] = {}
    for name, person in (("coordinator", coordinator), ("QA", reviewer)):
        for kind, texts in queries.items():
            for text in texts[:2]:
                search_as_page(person, text)  # the first queries read files from the disk
            ours = [clock.measure(partial(search_as_page, person, text)) for text in texts]
            some = texts[:baseline_queries]
            theirs = [clock.measure(partial(scan_texts, person, text)) for text in some]
            times[f"{name}: {kind}"] = {"ours": ours, "scan": theirs}
            say(f"{name}: {kind}: {max(ours)[0]:.0f} ms at most, a scan {max(theirs)[0]:.0f}")
    return times


def main() -> None:
    """Fill the database, measure, and print the times."""
    documents, count = map(int, sys.argv[1:3])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    vocabulary = make_vocabulary(random.Random(1))
    add_documents(documents)
    say("added the documents")
    add_pages(documents, vocabulary)
    queries = make_queries(count, vocabulary)
    print(json.dumps(measure(queries, baseline_queries=3)))


if __name__ == "__main__":
    main()
