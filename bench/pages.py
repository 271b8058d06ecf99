"""The pages that count: the matrix of required documents, its figures, the dashboard.

`python -m bench.pages --sites 500 --documents 100000` fills the empty database that the environment
names (rows alone, and an entry for each document), then asks each page again and again, and prints
what it took. Run by hand: docs/benchmarks.md.
"""

import argparse
import random
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median, quantiles
from typing import Any

import django

AT_ONCE = 5_000  # rows in one statement, and entries in one transaction
STATES = ("ARCHIVED",) * 7 + ("REJECTED", "REJECTED", "IN_REVIEW")
CODES = {"REJECTED": "SIGNATURE_MISSING", "IN_REVIEW": "SITE_MISMATCH"}


def fill(sites: int, documents: int) -> None:
    """Sites with twelve required documents each, of which there are many versions."""
    from ingestion.models import Batch, Packet, RequiredDocument, Source
    from ingestion.rules.types import TYPES
    from sites.models import Portal, Site, Study

    study = Study.objects.create(protocol_number="SLX-301")
    kinds = list(TYPES)[:12]
    RequiredDocument.objects.bulk_create(
        RequiredDocument(study=study, document_type=kind) for kind in kinds
    )
    portals = Portal.objects.bulk_create(
        Portal(key=f"p{n}", base_url="https://portal.example.org/") for n in range(sites)
    )
    places = Site.objects.bulk_create(
        Site(study=study, portal=portal, site_id=f"{1000 + n}", name=f"Hospital {n}", country="Ireland")
        for n, portal in enumerate(portals)
    )
    batch = Batch.objects.create(reference="BAT-1", source=Source.MANIFEST, state="COMPLETED")
    packets = Packet.objects.bulk_create(
        Packet(batch=batch, site=site, reference=f"PKT-{site.pk}") for site in places
    )
    for start in range(0, documents, AT_ONCE):
        _fill_documents(packets, kinds, range(start, min(start + AT_ONCE, documents)))


def _fill_documents(packets: list[Any], kinds: list[str], numbers: range) -> None:
    from audit.log import ledger, record
    from django.utils import timezone

    from ingestion.models import Batch, Document, Extraction

    now = timezone.now()
    rows = []
    batch = Batch.objects.create(reference=f"B{numbers.start}", source="manifest", state="COMPLETED")
    for number in numbers:
        packet = packets[number % len(packets)]
        state = STATES[number % len(STATES)]
        at = now - timedelta(hours=random.uniform(0, 24 * 90))
        kind = kinds[number // len(packets) % len(kinds)]
        rows.append(
            Document(
                batch=batch, packet=packet, site=packet.site, doc_id=f"{kind}",
                document_type=kind, filename=f"{kind}.pdf", sha256=uuid.uuid4().hex * 2, state=state,
                code=CODES.get(state, ""), size=100_000, transitions=2, received_at=at - timedelta(minutes=2),
                settled_at=at, schema_version="v2.1", url="https://portal.example.org/x",
            )
        )  # fmt: skip
    # A batch names a document once: here many versions of a site are in one.
    _drop_constraint()
    with ledger():
        made = Document.objects.bulk_create(rows)
        for row in made:
            record("document.filed", subject=row.subject, n=1, site=row.site.site_id, doc_id=row.doc_id,
                   actor="system:bench", to_state=row.state)
    Extraction.objects.bulk_create(
        Extraction(
            document=row, attempt=2, rules_version="1",
            dated=(row.settled_at - timedelta(days=random.randrange(60))).date(),
            expires=now.date() + timedelta(days=random.randrange(900)),
            fields=[
                {"name": name, "value": value, "page": 1, "source": "native", "confidence": 100.0, "box": None}
                for name, value in (("investigator", "Margaret Whitfield"), ("expiry_date", "2027-05-01"))
            ],
        )
        for row in made
        if row.state != "REJECTED"
    )  # fmt: skip


def _drop_constraint() -> None:
    from django.db import connection

    from ingestion.models import Document

    if Document._meta.constraints:
        for constraint in list(Document._meta.constraints):
            if constraint.name == "a_batch_names_a_document_once":
                with connection.schema_editor() as editor:
                    editor.remove_constraint(Document, constraint)
                Document._meta.constraints.remove(constraint)


if __name__ == "__main__":
    django.setup()
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, default=500)
    parser.add_argument("--documents", type=int, default=100_000)
    given = parser.parse_args()
    fill(given.sites, given.documents)
