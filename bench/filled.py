"""A product in its tenth year: sites, packets, documents and their entries, in an empty database.

Every site has needed twelve documents since, and sent each again and again; ten entries tell what
became of each. The newest stand in the queue, are rejected or on file; what came before is on file.
"""

import random
import uuid
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone

KINDS = 12  # documents that each site needs
PEOPLE_EACH = 2  # coordinators of one site
AT_ONCE = 2_000  # documents in one transaction
STATES = ("ARCHIVED",) * 7 + ("REJECTED", "REJECTED", "IN_REVIEW")
CODES = {"REJECTED": "SIGNATURE_MISSING", "IN_REVIEW": "SITE_MISMATCH"}
DECIDED = {"ARCHIVED": "filed", "REJECTED": "rejected", "IN_REVIEW": "sent_to_review"}
EVENTS = (
    "received", "checking", "downloaded", "checking", "downloaded", "checking", "assigned",
    "viewed", "viewed",
)  # fmt: skip
YEARS = timedelta(days=3_650)


def fill(sites: int, documents: int, *, first: int = 1000) -> None:
    """Sites are numbered from `first`, so that more can be added."""
    from django.db import connection

    from ingestion.rules.document_types import TYPES

    random.seed(documents)
    kinds, now = list(TYPES)[:KINDS], timezone.now()
    places = _places(range(first, first + sites), kinds)
    _people(places)
    versions = -(-documents // (sites * KINDS))
    rows: list[Any] = []
    for version in range(versions):
        at = now - YEARS + (version + 1) * YEARS / versions
        for packet in _packets(places, at):
            fit = min(KINDS, documents)
            documents -= fit
            newest = version == versions - 1
            rows += [_document(packet, kind, at, newest) for kind in kinds[:fit]]
            if len(rows) >= AT_ONCE:
                _keep(rows, now.date())
                rows = []
    _keep(rows, now.date())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _places(numbers: range, kinds: Sequence[str]) -> list[Any]:
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
    own = {"study": study, "country": "Ireland"}
    return Site.objects.bulk_create(
        Site(portal=portal, site_id=f"{n}", name=f"Hospital {n}", **own)
        for n, portal in zip(numbers, portals, strict=True)
    )


def _people(places: Sequence[Any]) -> None:
    """Two at each site; `monitor` sees all of them, as a contract research organisation does."""
    from sites.models import Membership, User

    trained = {"training_acknowledged_at": timezone.now(), "policy_acknowledged_at": timezone.now()}
    people = User.objects.bulk_create(
        User(username=f"person-{place.site_id}-{n}", printed_name="Mara Field", **trained)
        for place in places
        for n in range(PEOPLE_EACH)
    )
    own = [(person, places[n // PEOPLE_EACH]) for n, person in enumerate(people)]
    monitor, _ = User.objects.get_or_create(username="monitor", defaults=trained)
    all_pairs = own + [(monitor, place) for place in places]
    Membership.objects.bulk_create(Membership(user=user, site=site) for user, site in all_pairs)


def _packets(places: Sequence[Any], at: datetime) -> Iterator[Any]:
    """One of each site, with its batch and its portion of work."""
    from audit.ledger.log import ledger, record
    from ingestion.models import Batch, BatchSource, Chunk, Packet

    batches = Batch.objects.bulk_create(
        Batch(
            reference=f"BAT-{uuid.uuid4().hex[:12]}", source=BatchSource.UPLOAD, state="COMPLETED",
            created_at=at, finished_at=at,
        )
        for _ in places
    )  # fmt: skip
    with ledger():
        for batch in batches:
            own: dict[str, Any] = {"subject": batch.subject, "to_state": batch.state}
            record("batch.completed", n=1, actor="system:bench", **own)
    pairs = list(zip(batches, places, strict=True))
    Chunk.objects.bulk_create(
        Chunk(batch=batch, site=site, state="DONE", rank=n, attempts=1)
        for n, (batch, site) in enumerate(pairs)
    )
    yield from Packet.objects.bulk_create(
        Packet(batch=batch, site=site, reference=f"PKT-{batch.reference[4:]}", created_at=at)
        for batch, site in pairs
    )


def _document(packet: Any, kind: str, at: datetime, newest: bool) -> Any:
    from ingestion.models import Document

    settled = at - timedelta(hours=random.uniform(0, 24 * 90))
    state = random.choice(STATES) if newest else "ARCHIVED"
    return Document(
        packet=packet, batch=packet.batch, site=packet.site, doc_id=kind, document_type=kind,
        filename=f"{kind}.pdf", url="https://portal.example.org/x", schema_version="v2.1",
        sha256=uuid.uuid4().hex * 2, size=100_000, state=state, code=CODES.get(state, ""),
        transitions=len(EVENTS) + 1, received_at=settled - timedelta(minutes=2), settled_at=settled,
    )  # fmt: skip


def _keep(rows: Sequence[Any], today: date) -> None:
    from audit.ledger.log import ledger
    from ingestion.models import Document, Extraction, Finding

    with ledger():
        for row in Document.objects.bulk_create(rows):
            _enter(row)
    own = {"page": 1, "is_primary": True, "rules_version": "1", "attempt": len(EVENTS) + 1}
    Finding.objects.bulk_create(
        Finding(document=row, code=row.code, **own) for row in rows if row.code
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


def _enter(row: Any) -> None:
    from audit.ledger.log import record

    own = {"site": row.site.site_id, "doc_id": row.doc_id, "actor": "system:bench"}
    own |= {"correlation_id": str(row.correlation_id), "sha256": row.sha256}
    for n, event in enumerate(EVENTS, 1):
        record(f"document.{event}", subject=row.subject, n=n, **own)
    if row.code:  # as its finding says
        own |= {"code": row.code, "rules": "1"}
        own["detail"] = {"findings": [{"code": row.code, "page": 1, "facts": {}}]}
    record(
        f"document.{DECIDED[row.state]}",
        subject=row.subject,
        n=len(EVENTS) + 1,
        to_state=row.state,
        **own,
    )
