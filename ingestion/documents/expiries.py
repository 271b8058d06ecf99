"""Warns before documents on file expire.

Each warning (by default 90, 30 and 7 days before the last day of validity) and the notice after
that day are recorded once, as a finding and an entry in the ledger. The document stays filed. A
scheduled task does it each night.
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
DOCUMENTS_PER_PAGE = 200  # documents that are checked together, and recorded in one transaction
_EXPIRED_CODES = ("EXPIRED_DOCUMENT", "STALE_DOCUMENT")
_EVENTS = {"EXPIRES_SOON": "document.expires_soon", "EXPIRED_DOCUMENT": "document.ran_out"}


@dataclass(frozen=True, slots=True)
class ExpiryCounts:
    """Counts the documents for which a warning or a notice was recorded."""

    expiring: int
    expired: int


@dataclass(frozen=True, slots=True)
class ExpiryNotice:
    """Describes a warning that a document expires, or the notice that it has expired."""

    document: Document
    last: date  # the last day of validity
    days_before: int  # when the warning is due; 0 for the notice
    facts: Facts

    @property
    def code(self) -> str:
        """Return the finding code of the notice: that the document expires, or has expired."""
        return "EXPIRES_SOON" if self.days_before else "EXPIRED_DOCUMENT"

    @property
    def key(self) -> tuple[int, date, int]:
        """Return what identifies the notice: it is recorded once."""
        return self.document.pk, self.last, self.days_before


def record_expiries(*, today: date | None = None, dry_run: bool = False) -> ExpiryCounts:
    """Record the warnings and notices that are due and were not recorded before.

    It may be interrupted and called again. With `dry_run`, it only counts.
    """
    today = today or timezone.now().date()
    expiring = expired = 0
    for page in _read_pages(today):
        due = _find_due(page, today)
        recorded = due if dry_run or not due else _record(due)
        expiring += sum(notice.days_before > 0 for notice in recorded)
        expired += sum(notice.days_before == 0 for notice in recorded)
    return ExpiryCounts(expiring, expired)


def _read_pages(today: date) -> Iterator[list[Extraction]]:
    """Yield pages of extractions of documents on file that may need a warning.

    They are those whose recorded last day is near, and all documents of types for which their study
    overrides the validity.
    """
    longest = max(max(kind.validity.warn_days, default=0) for kind in TYPES.values())
    yield from _split_into_pages(_on_file().filter(expires__lte=today + timedelta(days=longest)))
    for override in ValidityOverride.objects.all():
        kind, study = override.document_type, override.study_id
        own = _on_file().filter(document__document_type=kind, document__site__study=study)
        yield from _split_into_pages(own)


def _on_file() -> "QuerySet[Extraction]":
    """Return the last extraction of each document on file.

    Documents with a notice that their recorded last day has passed are excluded, because their
    number only grows.
    """
    later = Extraction.objects.filter(
        document=OuterRef("document"), attempt__gt=OuterRef("attempt")
    )
    notices = Finding.objects.filter(
        document=OuterRef("document"), runs_out=OuterRef("expires"), days_before=0
    )
    rows = Extraction.objects.filter(document__state=DocumentState.ARCHIVED)
    return rows.exclude(Exists(later)).exclude(Exists(notices))


def _split_into_pages(rows: "QuerySet[Extraction]") -> Iterator[list[Extraction]]:
    """Yield pages of extractions, without documents of unknown types and replaced versions.

    The newest versions are queried page by page, because no index leads from a version to the next.
    """
    keys = list(rows.order_by("document_id").values_list("pk", flat=True))
    for start in range(0, len(keys), DOCUMENTS_PER_PAGE):
        chosen = Extraction.objects.filter(pk__in=keys[start : start + DOCUMENTS_PER_PAGE])
        related = chosen.order_by("document_id").select_related("document__site__study")
        page = list(related.defer("words", "pages", "signature"))
        sites = {each.document.site_id for each in page}
        doc_ids = {each.document.doc_id for each in page}
        on_file = Document.objects.on_file().order_by().filter(site__in=sites, doc_id__in=doc_ids)
        versions = on_file.values_list("site", "doc_id").annotate(Max("pk"))
        newest = {(site, doc_id): key for site, doc_id, key in versions}
        yield [
            each
            for each in page
            if each.document.document_type in TYPES
            and each.document_id == newest.get((each.document.site_id, each.document.doc_id))
        ]


def _find_due(extractions: list[Extraction], today: date) -> list[ExpiryNotice]:
    """Return the notices that are due under today's validity terms and were not recorded before.

    The documents are read before their notices. If another process records one meanwhile, the
    document's number changes, and `_record` skips it.
    """
    studies = {each.document.site.study_id for each in extractions}
    rows = ValidityOverride.objects.filter(study__in=studies)
    overrides = {(row.study_id, row.document_type): row.override for row in rows}
    terms, notices = {}, []
    for each in extractions:
        kind, site = TYPES[each.document.document_type], each.document.site
        override = overrides.get((site.study_id, kind.slug))
        terms[each.document_id] = ValidityTerms.of(kind, override, site.activated_on)
        if notice := _make_notice(each, terms[each.document_id], today):
            notices.append(notice)
    recorded = _find_recorded(terms)
    return [notice for notice in notices if notice.key not in recorded]


def _make_notice(extraction: Extraction, terms: ValidityTerms, today: date) -> ExpiryNotice | None:
    """Return the notice that a document needs today, recorded or not, or None."""
    last = get_last_valid_day(terms, {value.name: value for value in extraction.values})
    if last is None:
        return None
    days_left, document = (last - today).days, extraction.document
    step = terms.due_warning(days_left)
    if step is None:
        return None
    if step:
        return ExpiryNotice(document, last, step, {"expires": last.isoformat(), "days": days_left})
    filed = (document.settled_at or document.received_at).date()
    return ExpiryNotice(
        document, last, 0, {"expires": last.isoformat(), "filed": filed.isoformat()}
    )


def _find_recorded(terms: dict[int, ValidityTerms]) -> set[tuple[int, date, int]]:
    """Return the keys of notices that earlier runs recorded, and of findings of the filing itself.

    `terms` holds the validity terms by the primary key of the document.
    """
    codes = ("EXPIRES_SOON", *_EXPIRED_CODES)
    recorded = set()
    for finding in Finding.objects.filter(document__in=terms, code__in=codes):
        key, last, step = finding.document_id, finding.runs_out, finding.days_before
        if last is None and "expires" in finding.facts:  # The filing found it.
            last = date.fromisoformat(finding.facts["expires"])
            step = terms[key].due_warning(int(finding.facts.get("days", -1)))
        if last is not None and step is not None:
            recorded.add((key, last, step))
    return recorded


def _record(due: Iterable[ExpiryNotice]) -> list[ExpiryNotice]:
    """Record the notices of a page, all of them or none.

    Returns those that this call recorded: a document that was moved meanwhile is skipped. If the
    process dies before the commit, the next run finds the notices due again.
    """
    recorded = []
    with ledger():
        for notice in due:
            document = notice.document
            if document.change_if_current({}):
                finding = {"code": notice.code, "page": 0, "facts": dict(notice.facts)}
                document.record_at_revision(
                    _EVENTS[notice.code],
                    by=EXPIRY_ACTOR,
                    code=notice.code,
                    rules=RULES_VERSION,
                    detail={"findings": [finding], "days_before": notice.days_before},
                )
                recorded.append(notice)
        Finding.objects.bulk_create(
            Finding(
                document=notice.document,
                code=notice.code,
                facts=dict(notice.facts),
                rules_version=RULES_VERSION,
                attempt=notice.document.revision,
                runs_out=notice.last,
                days_before=notice.days_before,
            )
            for notice in recorded
        )
    return recorded
