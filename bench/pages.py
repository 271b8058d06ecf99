"""The pages that count: the matrix of required documents, its figures, the dashboard.

`python -m bench.pages --fill --sites 500 --documents 100000` fills the empty database that the
environment names, with rows and an entry for each document. Without `--fill` it asks each page of
it again and again, and prints milliseconds of processor time: median, 95th percentile, queries.
"""

import argparse
import random
import time
import uuid
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from statistics import median, quantiles
from typing import Any

import django

KINDS = 12  # documents that each site needs; the others are older versions of them
AT_ONCE = 5_000  # rows in one statement, and entries in one transaction
ROUNDS = 20
STATES = ("ARCHIVED",) * 7 + ("REJECTED", "REJECTED", "IN_REVIEW")
CODES = {"REJECTED": "SIGNATURE_MISSING", "IN_REVIEW": "SITE_MISMATCH"}
PAGES = (
    "/sites/", "/sites/?page=5", "/sites/?incomplete=on", "/sites/?due=on", "/sites.csv",
    "/figures/", "/admin/ops/", "/admin/ops/stuck/",
)  # fmt: skip


def fill(sites: int, documents: int) -> None:
    from django.utils import timezone

    from ingestion.rules.types import TYPES

    packets, kinds, now = _places(sites, list(TYPES)[:KINDS]), list(TYPES)[:KINDS], timezone.now()
    rows: list[Any] = []
    for number in range(documents):
        version, which = divmod(number, sites * KINDS)
        packet, kind = packets[which % sites], kinds[which // sites]
        rows.append(_document(packet, _batch(version), kind, now))
        if len(rows) == AT_ONCE or number == documents - 1:
            _keep(rows, now.date())
            rows = []


def _places(sites: int, kinds: Sequence[str]) -> list[Any]:
    """A packet for each site: that documents of several batches share it matters to no page."""
    from ingestion.models import Packet, RequiredDocument
    from sites.models import Portal, Site, Study

    study = Study.objects.create(protocol_number="SLX-301")
    RequiredDocument.objects.bulk_create(
        RequiredDocument(study=study, document_type=kind) for kind in kinds
    )
    portals = Portal.objects.bulk_create(
        Portal(key=f"p{n}", base_url="https://portal.example.org/") for n in range(sites)
    )
    own = {"study": study, "country": "Ireland"}
    places = Site.objects.bulk_create(
        Site(portal=portal, site_id=f"{1000 + n}", name=f"Hospital {n}", **own)
        for n, portal in enumerate(portals)
    )
    return Packet.objects.bulk_create(
        Packet(batch=_batch(0), site=site, reference=f"PKT-{site.pk}") for site in places
    )


_batches: dict[int, Any] = {}


def _batch(version: int) -> Any:
    """One for each version of all documents, for a batch names a document once."""
    from ingestion.models import Batch, Source

    if version not in _batches:
        terms = {"source": Source.MANIFEST, "state": "COMPLETED"}
        _batches[version] = Batch.objects.create(reference=f"BAT-{version}", **terms)
    return _batches[version]


def _document(packet: Any, batch: Any, kind: str, now: datetime) -> Any:
    from ingestion.models import Document

    settled, state = now - timedelta(hours=random.uniform(0, 24 * 90)), random.choice(STATES)
    return Document(
        packet=packet, batch=batch, site=packet.site, doc_id=kind, document_type=kind,
        filename=f"{kind}.pdf", url="https://portal.example.org/x", schema_version="v2.1",
        sha256=uuid.uuid4().hex * 2, size=100_000, state=state, code=CODES.get(state, ""),
        transitions=2, received_at=settled - timedelta(minutes=2), settled_at=settled,
    )  # fmt: skip


def _keep(rows: list[Any], today: date) -> None:
    from audit.log import ledger, record
    from ingestion.models import Document, Extraction

    with ledger():
        for row in Document.objects.bulk_create(rows):
            own: dict[str, Any] = {
                "site": row.site.site_id,
                "doc_id": row.doc_id,
                "to_state": row.state,
            }
            record("document.filed", subject=row.subject, n=1, actor="system:bench", **own)
    read = {"page": 1, "source": "native", "confidence": 100.0, "box": None}
    fields = [read | {"name": "investigator", "value": "Margaret Whitfield"}]
    Extraction.objects.bulk_create(
        Extraction(
            document=row, attempt=2, rules_version="1", fields=fields,
            dated=row.settled_at.date() - timedelta(days=random.randrange(60)),
            expires=today + timedelta(days=random.randrange(900)),
        )
        for row in rows
        if row.state != "REJECTED"
    )  # fmt: skip


def ask() -> None:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from ingestion import summaries
    from sites.models import User

    begun = time.process_time()
    counted = summaries.refresh()
    print(f"counted {counted} sites: {1000 * (time.process_time() - begun):.0f} ms")
    person, _ = User.objects.get_or_create(username="bench", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(person)
    for page in PAGES:
        taken = [_ask(client, page) for _ in range(ROUNDS)]
        with CaptureQueriesContext(connection) as queries:
            _ask(client, page)
        slowest = quantiles(taken, n=20)[-1]
        print(f"{page:<24} {median(taken):5.0f} {slowest:5.0f} {len(queries):4}")


def _ask(client: Any, page: str) -> float:
    begun = time.process_time()
    answer = client.get(page)
    if answer.status_code != 200:
        raise SystemExit(f"{page} answered {answer.status_code}")
    _ = b"".join(answer) if answer.streaming else answer.content
    return 1000 * (time.process_time() - begun)


if __name__ == "__main__":
    django.setup()
    parser = argparse.ArgumentParser()
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--sites", type=int, default=500)
    parser.add_argument("--documents", type=int, default=100_000)
    given = parser.parse_args()
    if given.fill:
        fill(given.sites, given.documents)
    else:
        ask()
