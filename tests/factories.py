"""Creates rows with defaults for everything, so that a test names only what it depends on."""

import uuid
from dataclasses import replace
from datetime import date, timedelta
from itertools import count

from django.contrib.auth.models import Group
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.bound_rows import KINDS
from audit.verification.row_check import record_as_found
from ingestion.core.states import ChunkState, DocumentState
from ingestion.intake import registration
from ingestion.intake.submission import Submission
from ingestion.intake.submission_schemas import ManifestLine
from ingestion.models import Batch, BatchSource, Chunk, Document
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.checks.validity import get_expiry_date
from ingestion.rules.checks.verdict import DocumentVerdict
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.values import FieldValue
from sites.models import Membership, Portal, Site, Study, User
from sites.portal_origin import parse_origin
from tests import steps

_numbers = count(1)
OPS = Actor("system:tests", "ops")


def make_site(site_id: str = "", **portal) -> Site:
    site_id = site_id or str(1000 + next(_numbers))
    study, _ = Study.objects.get_or_create(protocol_number="SLX-301")
    terms = {
        "base_url": f"http://127.0.0.1:9/{site_id}/",
        "rate_per_second": 1000.0,
        "burst": 100,
        "max_in_flight": 8,
        "timeout_seconds": 10.0,
        "allow_http": True,
        "allow_private_hosts": True,
    }
    terms |= portal
    approved = {"approved_origin": parse_origin(terms["base_url"])}
    row = Portal.objects.create(key=f"site-{site_id}", **approved | terms)
    return Site.objects.create(
        study=study, portal=row, site_id=site_id, name="St. Brigid's Hospital", country="Ireland"
    )


def make_user(name: str = "", *, sites: tuple[Site, ...] = (), **columns) -> User:
    """Create an account that may use its role: trained, verified, with the policy acknowledged.

    It has no ledger entries, so that a test counts only its own. `put_on_record` adds them.
    """
    name = name or f"person-{next(_numbers)}"
    now = timezone.now()
    eligible = {
        "training_acknowledged_at": now,
        "policy_acknowledged_at": now,
        "identity_verified_at": now,
        "password_changed_at": now,
    }
    user = User(username=name, **eligible | columns)
    user.set_password("correct horse")
    user.save()
    for site in sites:
        Membership.objects.create(user=user, site=site)
    return user


def put_on_record() -> None:
    """Record the accounts and tokens in the ledger. Factories create them without entries."""
    for kind in list(KINDS.values()):
        record_as_found(kind, "Made by a test.")


def make_staff(role: str, name: str = "", **columns) -> User:
    """Create a staff account with a role, without which it would see no records."""
    user = make_user(name, is_staff=True, **columns)
    user.groups.set([Group.objects.get(name=role)])
    return user


def make_batch(site: Site | None = None, documents: int = 1, **columns) -> Batch:
    """Register a batch as a manifest does."""
    site = site or make_site()
    lines = [
        ManifestLine(
            site_id=site.site_id,
            doc_id=f"doc-{number}",
            url=f"{site.portal.base_url}doc-{number}.pdf",
            schema_version="v2.1",
            document_type=columns.get("document_type", "cv"),
        )
        for number in range(1, documents + 1)
    ]
    submission = Submission(
        BatchSource.MANIFEST,
        OPS,
        priority=columns.get("priority", 5),
        idempotency_key=columns.get("idempotency_key", ""),
    )
    return registration.register_manifest(lines, submission)


def make_leased(documents: int = 1, site: Site | None = None) -> tuple[Chunk, uuid.UUID]:
    """Register a batch whose chunk a worker has leased. Returns the chunk and the lease."""
    batch = make_batch(site, documents)
    lease = uuid.uuid4()
    chunk = batch.chunks.get()
    Chunk.objects.filter(pk=chunk.pk).update(
        state=ChunkState.RUNNING,
        attempts=1,
        lease_id=lease,
        lease_owner="here:1:1",
        lease_expires_at=timezone.now() + timedelta(minutes=5),
    )
    chunk.refresh_from_db()
    return chunk, lease


def make_filed(site: Site, doc_id: str, sha256: str) -> Document:
    """Create a filed document."""
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    Document.objects.filter(pk=document.pk).update(doc_id=doc_id)
    steps.start_checking(document.pk, lease, sha256=sha256, size=10)
    steps.conclude(document.pk, lease, verdict(), pages=1)
    document.refresh_from_db()
    return document


def make_read(
    site: Site, kind: str, *found, doc_id="", state="ARCHIVED", confidence=100.0, **values
) -> Document:
    """Create a document from which these values were read, with its expiry date by its type."""
    chunk, lease = make_leased(site=site)
    document = chunk.documents.get()
    named = {"doc_id": doc_id or kind, "document_type": kind, "filename": f"{kind}.pdf"}
    Document.objects.filter(pk=document.pk).update(**named)
    fields = tuple(_read(name, str(value), confidence) for name, value in values.items())
    last = get_expiry_date(
        SiteFacts("").terms(TYPES[kind]), {value.name: value for value in fields}
    )
    steps.start_checking(document.pk, lease, sha256=uuid.uuid4().hex * 2, size=10)
    decided = replace(verdict(state, *found), document_type=kind, fields=fields, expires=last)
    steps.conclude(document.pk, lease, decided, pages=1)
    document.refresh_from_db()
    return document


def _read(name: str, value: str, confidence: float) -> FieldValue:
    day = date.fromisoformat(value) if name.endswith("_date") else None
    return FieldValue(name, value, 1, "native", confidence, day=day)


def verdict(state="ARCHIVED", *findings):
    """Return a verdict as the rules would."""
    return DocumentVerdict(
        document_type="cv",
        findings=tuple(findings),
        primary=findings[0] if findings else None,
        state=DocumentState(state),
    )
