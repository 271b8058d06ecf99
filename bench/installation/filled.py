"""Fills an empty database with the data of a product in its tenth year.

It has sites, packets, documents and their entries. Every site needs twelve documents and has sent
each of them many times, with ten entries for each. The newest documents are in the review queue,
rejected or filed, and all earlier ones are filed.
"""

import random
import uuid
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone

from audit.ledger.actors import Actor

DOCUMENTS_PER_SITE = 12  # that each site needs
COORDINATORS_PER_SITE = 2
DOCUMENTS_PER_TRANSACTION = 2_000
STATES = ("ARCHIVED",) * 7 + ("REJECTED", "REJECTED", "IN_REVIEW")
CODES = {"REJECTED": "SIGNATURE_MISSING", "IN_REVIEW": "SITE_MISMATCH"}
DECIDED = {"ARCHIVED": "filed", "REJECTED": "rejected", "IN_REVIEW": "sent_to_review"}
EVENTS = (
    "received", "checking", "downloaded", "checking", "downloaded", "checking", "assigned",
    "viewed", "viewed",
)  # fmt: skip
PERIOD = timedelta(days=3_650)  # over which the documents are spread


def fill_database(sites: int, documents: int, *, first: int = 1000) -> None:
    """Add so many sites, numbered from `first`, and so many documents."""
    from django.db import connection

    from ingestion.rules.document_types import TYPES

    random.seed(documents)
    kinds, now = list(TYPES)[:DOCUMENTS_PER_SITE], timezone.now()
    site_rows = add_sites(range(first, first + sites), kinds)
    _add_people(site_rows)
    versions = -(-documents // (sites * DOCUMENTS_PER_SITE))
    rows: list[Any] = []
    for version in range(versions):
        at = now - PERIOD + (version + 1) * PERIOD / versions
        for packet in _add_packets(site_rows, at):
            count = min(DOCUMENTS_PER_SITE, documents)
            documents -= count
            newest = version == versions - 1
            rows += [_make_document(packet, kind, at, newest) for kind in kinds[:count]]
            if len(rows) >= DOCUMENTS_PER_TRANSACTION:
                _save_documents(rows, now.date())
                rows = []
    _save_documents(rows, now.date())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def add_sites(numbers: range, kinds: Sequence[str]) -> list[Any]:
    from ingestion.models import RequiredDocument
    from sites.models import Portal, Site, Study

    study, is_new = Study.objects.get_or_create(protocol_number="SLX-301")
    if is_new:
        RequiredDocument.objects.bulk_create(
            RequiredDocument(study=study, document_type=kind) for kind in kinds
        )
    portals = Portal.objects.bulk_create(
        Portal(key=f"p{n}", base_url="https://portal.example.org/") for n in numbers
    )
    common = {"study": study, "country": "Ireland"}
    return Site.objects.bulk_create(
        Site(portal=portal, site_id=f"{n}", name=f"Hospital {n}", **common)
        for n, portal in zip(numbers, portals, strict=True)
    )


def _add_people(site_rows: Sequence[Any]) -> None:
    """Add the coordinators of each site, and the account `monitor` with access to all sites."""
    from sites.models import Membership, User

    trained = {"training_acknowledged_at": timezone.now(), "policy_acknowledged_at": timezone.now()}
    people = User.objects.bulk_create(
        User(username=f"person-{site.site_id}-{n}", printed_name="Mara Field", **trained)
        for site in site_rows
        for n in range(COORDINATORS_PER_SITE)
    )
    common = [(person, site_rows[n // COORDINATORS_PER_SITE]) for n, person in enumerate(people)]
    monitor, _ = User.objects.get_or_create(username="monitor", defaults=trained)
    all_pairs = common + [(monitor, site) for site in site_rows]
    Membership.objects.bulk_create(Membership(user=user, site=site) for user, site in all_pairs)


def _add_packets(site_rows: Sequence[Any], at: datetime) -> Iterator[Any]:
    """Yield a new packet of each site, with its batch and its chunk of work."""
    from audit.ledger.log import ledger, record
    from ingestion.models import Batch, BatchSource, Chunk, Packet

    batches = Batch.objects.bulk_create(
        Batch(
            reference=f"BAT-{uuid.uuid4().hex[:12]}", source=BatchSource.UPLOAD, state="COMPLETED",
            created_at=at, finished_at=at,
        )
        for _ in site_rows
    )  # fmt: skip
    with ledger():
        for batch in batches:
            common: dict[str, Any] = {"subject": batch.subject, "to_state": batch.state}
            record("batch.completed", n=1, by=Actor.software("bench"), **common)
    pairs = list(zip(batches, site_rows, strict=True))
    Chunk.objects.bulk_create(
        Chunk(batch=batch, site=site, state="DONE", rank=n, attempts=1)
        for n, (batch, site) in enumerate(pairs)
    )
    yield from Packet.objects.bulk_create(
        Packet(batch=batch, site=site, reference=f"PKT-{batch.reference[4:]}", created_at=at)
        for batch, site in pairs
    )


def _make_document(packet: Any, kind: str, at: datetime, newest: bool) -> Any:
    from ingestion.models import Document

    settled = at - timedelta(hours=random.uniform(0, 24 * 90))
    state = random.choice(STATES) if newest else "ARCHIVED"
    return Document(
        packet=packet, batch=packet.batch, site=packet.site, doc_id=kind, document_type=kind,
        filename=f"{kind}.pdf", url="https://portal.example.org/x", schema_version="v2.1",
        sha256=uuid.uuid4().hex * 2, size=100_000, state=state, code=CODES.get(state, ""),
        revision=len(EVENTS) + 1, received_at=settled - timedelta(minutes=2), settled_at=settled,
    )  # fmt: skip


def _save_documents(rows: Sequence[Any], today: date) -> None:
    from audit.ledger.log import ledger
    from ingestion.models import Document, Extraction, Finding

    with ledger():
        for row in Document.objects.bulk_create(rows):
            _record_entries(row)
    common = {"page": 1, "is_primary": True, "rules_version": "1", "attempt": len(EVENTS) + 1}
    Finding.objects.bulk_create(
        Finding(document=row, code=row.code, **common) for row in rows if row.code
    )
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


def _record_entries(row: Any) -> None:
    from audit.ledger.log import record

    common = {"site": row.site.site_id, "doc_id": row.doc_id, "by": Actor.software("bench")}
    common |= {"correlation_id": str(row.correlation_id), "sha256": row.sha256}
    for n, event in enumerate(EVENTS, 1):
        record(f"document.{event}", subject=row.subject, n=n, **common)
    if row.code:  # the code of its finding
        common |= {"code": row.code, "rules": "1"}
        common["detail"] = {"findings": [{"code": row.code, "page": 1, "facts": {}}]}
    record(
        f"document.{DECIDED[row.state]}",
        subject=row.subject,
        n=len(EVENTS) + 1,
        to_state=row.state,
        **common,
    )
