"""The nightly look at what is on file: which documents run out soon, and which have.

Each warning (90, 30 and 7 days before the last day, and once it has passed) is noted once, as a
finding and an entry in the ledger. The document itself stays as it is: filed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.models import Document, Extraction, Finding, ValidityOverride
from ingestion.rules.checks.validity import get_last_valid_day
from ingestion.rules.checks.validity_terms import ValidityTerms
from ingestion.rules.document_types import RULES_VERSION, TYPES
from ingestion.rules.findings import Facts

EXPIRY_ACTOR = Actor.software("expiries", "worker")
DOCUMENTS_PER_PAGE = 200  # documents that are looked at together, and noted in one transaction
_RAN_OUT = ("EXPIRED_DOCUMENT", "STALE_DOCUMENT")
_EVENTS = {"EXPIRES_SOON": "document.expires_soon", "EXPIRED_DOCUMENT": "document.ran_out"}


@dataclass(frozen=True, slots=True)
class RecordedNotice:
    soon: int
    over: int


@dataclass(frozen=True, slots=True)
class ExpiryNotice:
    """That a document runs out, so many days before its last one; 0 when that has passed."""

    document: Document
    last: date
    days_before: int
    facts: Facts

    @property
    def code(self) -> str:
        return "EXPIRES_SOON" if self.days_before else "EXPIRED_DOCUMENT"


def record_expiries(*, today: date | None = None, dry_run: bool = False) -> RecordedNotice:
    """Note what is due and was not noted before. Idempotent; may be interrupted, and goes on."""
    today = today or timezone.now().date()
    soon = over = 0
    for page in _pages(today):
        due = _due(page, today)
        noted = due if dry_run or not due else _keep(due)
        soon += sum(notice.days_before > 0 for notice in noted)
        over += sum(notice.days_before == 0 for notice in noted)
    return RecordedNotice(soon, over)


def _pages(today: date) -> Iterator[list[Extraction]]:
    """By the last day on record; and whatever a study has terms of its own for, as of today."""
    longest = max(max(kind.validity.warn_days, default=0) for kind in TYPES.values())
    yield from _in_pages(_on_file().filter(expires__lte=today + timedelta(days=longest)))
    for override in ValidityOverride.objects.all():
        kind, study = override.document_type, override.study_id
        own = _on_file().filter(document__document_type=kind, document__site__study=study)
        yield from _in_pages(own)


def _in_pages(rows: "QuerySet[Extraction]") -> Iterator[list[Extraction]]:
    keys = list(rows.order_by("document_id").values_list("pk", flat=True))
    for start in range(0, len(keys), DOCUMENTS_PER_PAGE):
        chosen = Extraction.objects.filter(pk__in=keys[start : start + DOCUMENTS_PER_PAGE])
        page = chosen.order_by("document_id").select_related("document__site__study")
        yield _in_place(list(page.defer("words", "pages", "signature")))


def _on_file() -> "QuerySet[Extraction]":
    """The last reading of each filed document.

    Without those of which it is noted that the last day on record has passed: they pile up.
    """
    later = Extraction.objects.filter(
        document=OuterRef("document"), attempt__gt=OuterRef("attempt")
    )
    told = Finding.objects.filter(
        document=OuterRef("document"), runs_out=OuterRef("expires"), days_before=0
    )
    rows = Extraction.objects.filter(document__state=DocumentState.ARCHIVED)
    return rows.exclude(Exists(later)).exclude(Exists(told))


def _in_place(read: list[Extraction]) -> list[Extraction]:
    """Of types that are known, and without those whose place a newer version has taken.

    Asked for a page at a time: no index leads from one version to the next.
    """
    sites, names = ({getattr(each.document, of) for each in read} for of in ("site_id", "doc_id"))
    on_file = Document.objects.on_file().order_by().filter(site__in=sites, doc_id__in=names)
    newest = {row[:2]: row[2] for row in on_file.values_list("site", "doc_id").annotate(Max("pk"))}
    return [
        each
        for each in read
        if each.document.document_type in TYPES
        and each.document_id == newest.get((each.document.site_id, each.document.doc_id))
    ]


def _due(read: list[Extraction], today: date) -> list[ExpiryNotice]:
    """Under the terms of today, without what is noted already.

    The documents were read before their notices: whoever notes one meanwhile moves the document's
    number on, and `_keep` passes it over.
    """
    terms = _terms(read)
    found = [_notice(each, terms[each.document_id], today) for each in read]
    noted = _noted(terms)
    return [
        notice
        for notice in found
        if notice and (notice.document.pk, notice.last, notice.days_before) not in noted
    ]


def _terms(read: Iterable[Extraction]) -> dict[int, ValidityTerms]:
    """By document."""
    sites = {each.document_id: each.document.site for each in read}
    rows = ValidityOverride.objects.filter(study__in={site.study_id for site in sites.values()})
    own = {(row.study_id, row.document_type): row.override for row in rows}
    terms = {}
    for each in read:
        kind, site = TYPES[each.document.document_type], sites[each.document_id]
        override = own.get((site.study_id, kind.slug))
        terms[each.document_id] = ValidityTerms.of(kind, override, site.activated_on)
    return terms


def _notice(read: Extraction, terms: ValidityTerms, today: date) -> ExpiryNotice | None:
    last = get_last_valid_day(terms, {value.name: value for value in read.values})
    if last is None:
        return None
    left, document = (last - today).days, read.document
    step = terms.due_warning(left)
    if step is None:
        return None
    if step:
        return ExpiryNotice(document, last, step, {"expires": last.isoformat(), "days": left})
    filed = (document.settled_at or document.received_at).date()
    facts = {"expires": last.isoformat(), "filed": filed.isoformat()}
    return ExpiryNotice(document, last, 0, facts)


def _noted(terms: dict[int, ValidityTerms]) -> set[tuple[int, date, int]]:
    """What is on record of these documents, by the nights before and by the filing itself."""
    findings = Finding.objects.filter(document__in=terms, code__in=("EXPIRES_SOON", *_RAN_OUT))
    noted = set()
    for finding in findings:
        key, last, step = finding.document_id, finding.runs_out, finding.days_before
        if last is None and "expires" in finding.facts:
            last = date.fromisoformat(finding.facts["expires"])
            step = terms[key].due_warning(int(finding.facts.get("days", -1)))
        if last is not None and step is not None:
            noted.add((key, last, step))
    return noted


def _keep(due: Iterable[ExpiryNotice]) -> list[ExpiryNotice]:
    """Findings and entries, all of the page or none. Answers those that were ours to note."""
    kept = []
    with ledger():
        for notice in due:
            document = notice.document
            if document.change_if_current({}):
                seen = {"code": notice.code, "page": 0, "facts": dict(notice.facts)}
                detail = {"findings": [seen], "days_before": notice.days_before}
                document.record_at_revision(
                    _EVENTS[notice.code],
                    by=EXPIRY_ACTOR,
                    code=notice.code,
                    rules=RULES_VERSION,
                    detail=detail,
                )
                kept.append(notice)
        Finding.objects.bulk_create(_finding(notice) for notice in kept)
    # Noted and on record. Had we died before, the next run would find them not noted.
    return kept


def _finding(notice: ExpiryNotice) -> Finding:
    return Finding(
        document=notice.document,
        code=notice.code,
        facts=dict(notice.facts),
        rules_version=RULES_VERSION,
        attempt=notice.document.revision,
        runs_out=notice.last,
        days_before=notice.days_before,
    )
