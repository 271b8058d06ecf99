"""Reviews of the trail by people (ICH E6(R3) 4.2.3; EU Annex 11, 9): made, listed, and when due.

A review covers whole days of UTC. What no review of the whole trail covers is due: reviews of one
site stand beside them, and put nothing off.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.conf import settings
from django.db.models import QuerySet

from audit import electronic_signatures
from audit.electronic_signatures import ElectronicSignature
from audit.ledger import queries
from audit.ledger.log import ledger, record
from audit.ledger.queries import EntrySearch
from audit.models import AuditReview

Outcome = AuditReview.Outcome
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ReviewScope:
    """What was looked at."""

    period_from: date
    period_to: date  # included
    site: str = ""  # "" is the whole trail
    filters: str = ""  # what was left out of sight, in words

    @property
    def search(self) -> EntrySearch:
        return EntrySearch(
            sites=[self.site] if self.site else [],
            since=datetime.combine(self.period_from, time(), UTC),
            until=datetime.combine(self.period_to + DAY, time(), UTC),
        )


@dataclass(frozen=True, slots=True)
class ReviewDue:
    """`covered_until` is the last day that is reviewed without a gap; None: none is."""

    covered_until: date | None
    since: date | None  # the first day that is not; None: nothing is on record to be reviewed
    on: date | None  # when it has to be done by

    def is_overdue(self, today: date) -> bool:
        return self.on is not None and today > self.on


def sign_review(
    scope: ReviewScope, *, findings: str, outcome: Outcome, by: ElectronicSignature
) -> AuditReview:
    """Keep a review, and enter it in the ledger, in one transaction."""
    last_seq, _head = queries.last_entry() or (0, "")
    with ledger():
        review: AuditReview = AuditReview.objects.create(
            period_from=scope.period_from,
            period_to=scope.period_to,
            site=scope.site,
            filters=scope.filters,
            findings=findings,
            outcome=outcome,
            entries=queries.count_entries(scope.search),
            last_seq=last_seq,
            reviewer=by.signer.name,
            printed_name=by.printed_name,
            meaning=by.meaning,
            signed_at=by.at,
        )
        _enter(review, by)
    return review


def _enter(review: AuditReview, by: ElectronicSignature) -> None:
    record(
        "ledger.reviewed",
        subject=_subject(review),
        by=by.signer,
        site=review.site,
        code=review.outcome.upper(),
        occurred_at=review.signed_at,
        detail=by.over(_facts(review)),
    )


def _facts(review: AuditReview) -> dict[str, str | int]:
    """What is signed, in the ledger's words."""
    return {
        "period_from": f"{review.period_from}",
        "period_to": f"{review.period_to}",
        "site": review.site,
        "filters": review.filters,
        "findings": review.findings,
        "outcome": review.outcome,
        "entries": review.entries,
        "last_seq": review.last_seq,
    }


def changed_since_signing(review: AuditReview) -> list[str]:
    """What its signature does not hold for any more, by name; nothing: it holds (R26)."""
    entries = queries.timeline(_subject(review))
    return (
        electronic_signatures.changed_since_signing(entries[0], _facts(review))
        if entries
        else [electronic_signatures.SIGNATURE_KEY]
    )


def signer_account(review: AuditReview) -> str:
    """Return what the signature says about the signer's account; "" where it says nothing."""
    entries = queries.timeline(_subject(review))
    detail = (entries[0].detail if entries else None) or {}
    return str(detail.get(electronic_signatures.ACCOUNT_KEY, ""))


def signer_roles(signed: Iterable[AuditReview]) -> dict[int, str]:
    """Return the role that each of these was signed in, by primary key. One query."""
    by_subject = {_subject(review): review.pk for review in signed}
    return {by_subject[entry.subject]: entry.role for entry in queries.timeline(*by_subject)}


def _subject(review: AuditReview) -> str:
    return f"review:{review.pk}"


def list_reviews() -> "QuerySet[AuditReview]":
    """All of them, newest first."""
    return AuditReview.objects.all()


def find_review(pk: int) -> AuditReview | None:
    return AuditReview.objects.filter(pk=pk).first()


def review_due() -> ReviewDue:
    """Two queries. The first review is due AUDIT_REVIEW_DAYS after the trail began."""
    began = queries.first_recorded_at()
    if began is None:
        return ReviewDue(None, None, None)
    day_before = began.astimezone(UTC).date() - DAY
    covered = _covered(day_before)
    on = covered + timedelta(days=settings.AUDIT_REVIEW_DAYS)
    return ReviewDue(covered if covered > day_before else None, covered + DAY, on)


def _covered(until: date) -> date:
    whole = AuditReview.objects.filter(site="").order_by("period_from", "pk")
    for since, to, signed_at in whole.values_list("period_from", "period_to", "signed_at"):
        if since <= until + DAY:
            # The day of the signing was not over: what came later that day nobody saw.
            until = max(until, min(to, signed_at.astimezone(UTC).date() - DAY))
    return until
