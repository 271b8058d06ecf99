"""Requests every list and the pages behind it, with a database as after ten years.

`python -m bench.sides.pages --fill --sites 500 --documents 100000` fills the empty database that
the environment names. Without `--fill`, it requests each page repeatedly, and prints the
milliseconds until the last byte, including the database: median, 95th percentile, queries. With
`--beyond 300`, it exits with 1 if a 95th percentile is higher. `--json FILE` writes the percentiles
there.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import django
from django.utils import timezone

from bench.installation.filled import fill_database

ROUNDS = 40
STAFF = (  # pages of an administrator, who sees everything except the review
    "/sites/", "/sites/?page=5", "/sites/?incomplete=on", "/sites/?due=on", "/figures/",
    "/sites/1000/",
    "/admin/ops/", "/admin/ops/stuck/",
    "/admin/audit/", "/admin/audit/?before=500000", "/admin/audit/?site=1003",
    "/admin/audit/?event=document.rejected", "/admin/audit/?doc_id=cv&site=1003",
    "/admin/audit/?person=bench", "/admin/audit/?since=2020-01-01&until=2020-02-01",
    "/admin/audit/site/1003/", "/admin/audit/document/{held}/", "/admin/audit/packet/{packet}/",
    "/admin/audit/verify/", "/admin/audit/export/", "/admin/audit/reviews/",
    "/packets/{packet}/", "/documents/{held}/", "/access/",
    "/admin/", "/admin/ingestion/document/", "/admin/ingestion/document/?p={half}",
    "/admin/ingestion/document/?state__exact=REJECTED", "/admin/ingestion/document/?q=cv",
    "/admin/ingestion/document/?site__id__exact=3", "/admin/ingestion/document/?o=-3",
    "/admin/ingestion/finding/", "/admin/ingestion/decision/", "/admin/ingestion/batch/",
    "/admin/ingestion/batch/?q=BAT-1", "/admin/ingestion/packet/",
    "/admin/ingestion/packet/?q=1003", "/admin/ingestion/chunk/",
    "/admin/audit/entry/", "/admin/audit/entry/?p={entries_half}", "/admin/audit/entry/?site=1003",
    "/admin/audit/entry/?event=document.rejected", "/admin/audit/entry/?q=document:77",
    "/admin/clinical_sites/site/", "/admin/clinical_sites/user/",
    "/admin/clinical_sites/portal/", "/admin/clinical_sites/membership/",
    "/admin/django_q/failure/", "/admin/django_q/success/",
)  # fmt: skip
REVIEW = (  # pages of a QA lead
    "/admin/review/",
    "/admin/review/?page=9",
    "/admin/review/?only=overdue",
    "/admin/review/?site=1003",
    "/admin/review/?what=rejected",
    "/admin/review/{held}/",
)
SITE_STAFF = ("/", "/?page=4", "/packets/new/")  # pages of a coordinator, and of `monitor`
LISTS = ("/api/v1/documents", "/api/v1/batches", "/api/v1/sites")
SHAPES = (*STAFF, *SITE_STAFF, *SITE_STAFF, *LISTS)  # of `every_page`, with placeholders


def measure_pages(rounds: int) -> dict[str, float]:
    """Return the 95th percentile of each page in milliseconds."""
    from ingestion.operations import site_summaries

    begun = time.perf_counter()
    counted = site_summaries.refresh_summaries()
    print(f"counted {counted} sites: {1000 * (time.perf_counter() - begun):.0f} ms")
    return {
        f"{role} {shape}": measure_page(client, f"{role:<12} {page}", page, rounds)
        for (client, role, page), shape in zip(every_page(), SHAPES, strict=True)
    }


def every_page() -> Iterator[tuple[Any, str, str]]:
    """Yield each page with a client that is signed in, and the role of its person."""
    from django.contrib.auth.models import Group
    from django.test import Client

    from ingestion.models import Document
    from sites.models import ApiToken, TokenScope, User

    held = Document.objects.filter(state="IN_REVIEW").select_related("packet").earliest("pk")
    chief, _ = User.objects.get_or_create(username="bench", is_staff=True, is_superuser=True)
    lead, _ = User.objects.get_or_create(username="bench-lead", is_staff=True)
    lead.groups.set(Group.objects.filter(name="QA leads"))
    for person, role, pages in (
        (chief, "staff", [_fill_in(page, held) for page in STAFF]),
        (lead, "QA lead", [_fill_in(page, held) for page in REVIEW]),
        (User.objects.get(username="person-1000-0"), "coordinator", SITE_STAFF),
        (User.objects.get(username="monitor"), "monitor", SITE_STAFF),
    ):
        client = Client()
        client.force_login(person)
        yield from ((client, role, page) for page in pages)
    own = {"user": chief, "scopes": [TokenScope.READ], "last_used_at": timezone.now()}
    token = ApiToken(approved_at=timezone.now(), name="bench", **own)
    program = Client(headers={"Authorization": f"Bearer {token.generate_secret()}"})
    token.save()
    yield from ((program, "program", page) for page in LISTS)


def _fill_in(page: str, held: Any) -> str:
    """Fill in the addresses. `half` is the middle of the admin's pages, with most skipped rows."""
    from audit.ledger import queries
    from ingestion.models import Document

    last, _hash = queries.get_last_entry() or (0, "")
    half, entries_half = Document.objects.count() // 50 // 2 or 1, last // 100 // 2 or 1
    own = {"held": held.pk, "packet": held.packet.reference}
    return page.format(**own, half=half, entries_half=entries_half)


def measure_page(client: Any, name: str, page: str, rounds: int) -> float:
    """Print the measurements of a page, and return its 95th percentile in milliseconds."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    _time_request(client, page)  # the first request compiles templates
    durations = [_time_request(client, page) for _ in range(rounds)]
    with CaptureQueriesContext(connection) as captured:
        _time_request(client, page)
    slowest = quantiles(durations, n=20, method="inclusive")[-1]
    print(f"{name:<62} {median(durations):5.0f} {slowest:5.0f} {len(captured):4}", flush=True)
    return slowest


def _time_request(client: Any, page: str) -> float:
    begun = time.perf_counter()
    response = client.get(page, secure=True)
    if response.status_code != 200:
        raise SystemExit(f"{page} answered {response.status_code}")
    _ = b"".join(response) if response.streaming else response.content
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    django.setup()
    parser = argparse.ArgumentParser()
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--sites", type=int, default=500)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--beyond", type=float, help="milliseconds")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.fill:
        fill_database(given.sites, given.documents)
    else:
        percentiles = measure_pages(given.rounds)
        if given.json:
            given.json.write_text(json.dumps(percentiles))
        sys.exit(given.beyond is not None and max(percentiles.values()) >= given.beyond)
