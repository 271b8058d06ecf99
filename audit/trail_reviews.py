"""Signs and lists audit trail reviews, and computes when the next one is due.

ICH E6(R3) 4.2.3; EU Annex 11, 9. A review covers whole days of UTC. Only reviews of the whole trail
determine when the next one is due. Reviews of one site are additional.
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
    """The part of the audit trail that a review covers."""

    period_from: date
    period_to: date  # included
    site: str = ""  # "" is the whole trail
    filters: str = ""  # a description of what was filtered out

    @property
    def search(self) -> EntrySearch:
        """Return the search for the entries of the site and of the period, with its last day."""
        return EntrySearch(
            sites=[self.site] if self.site else [],
            since=datetime.combine(self.period_from, time(), UTC),
            until=datetime.combine(self.period_to + DAY, time(), UTC),
        )


@dataclass(frozen=True, slots=True)
class ReviewDue:
    """States when the next review of the whole trail is due, and which days it must cover."""

    covered_until: date | None  # the last day that is reviewed without a gap, if there is one
    since: date | None  # the first day that is not reviewed; None while the trail is empty
    on: date | None  # the last day on which the review is in time

    def is_overdue(self, today: date) -> bool:
        """Return whether the next review should have been signed before this day."""
        return self.on is not None and today > self.on


def sign_review(
    scope: ReviewScope, *, findings: str, outcome: Outcome, by: ElectronicSignature
) -> AuditReview:
    """Save a review and record it in the ledger, in one transaction."""
    last_seq, _head = queries.get_last_entry() or (0, "")
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
        record(
            "ledger.reviewed",
            subject=_subject(review),
            by=by.signer,
            site=review.site,
            code=review.outcome.upper(),
            occurred_at=review.signed_at,
            detail=by.sign(_signed_facts(review)),
        )
    return review


def _signed_facts(review: AuditReview) -> dict[str, str | int]:
    """Return what is signed, under the names that the ledger uses."""
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


def list_changes_since_review(review: AuditReview) -> list[str]:
    """Return the names of what has changed since the review was signed (R26), or an empty list."""
    entries = queries.list_entries(_subject(review))
    if not entries:
        return [electronic_signatures.SIGNATURE_KEY]
    return electronic_signatures.list_signer_changes(entries[0], _signed_facts(review))


def describe_signer_account(review: AuditReview) -> str:
    """Return what the signature states about the signer's account, or "" if it states nothing."""
    entries = queries.list_entries(_subject(review))
    detail = (entries[0].detail if entries else None) or {}
    return str(detail.get(electronic_signatures.ACCOUNT_KEY, ""))


def get_signer_roles(signed: Iterable[AuditReview]) -> dict[int, str]:
    """Return the role of the signer of each of these reviews, by primary key. Takes one query."""
    by_subject = {_subject(review): review.pk for review in signed}
    return {by_subject[entry.subject]: entry.role for entry in queries.list_entries(*by_subject)}


def _subject(review: AuditReview) -> str:
    return f"review:{review.pk}"


def list_reviews() -> "QuerySet[AuditReview]":
    """Return all reviews, newest first."""
    return AuditReview.objects.all()


def find_review(pk: int) -> AuditReview | None:
    """Return the review with this primary key, or None."""
    return AuditReview.objects.filter(pk=pk).first()


def compute_review_due() -> ReviewDue:
    """Return when the next review is due. Takes two queries.

    The first review is due AUDIT_REVIEW_DAYS after the trail began.
    """
    began = queries.get_first_recorded_at()
    if began is None:
        return ReviewDue(None, None, None)
    day_before = began.astimezone(UTC).date() - DAY
    covered = day_before
    reviews = AuditReview.objects.filter(site="").order_by("period_from", "pk")
    for since, until, signed_at in reviews.values_list("period_from", "period_to", "signed_at"):
        if since <= covered + DAY:
            # The day of the signature was not over, and nobody has reviewed its later entries.
            covered = max(covered, min(until, signed_at.astimezone(UTC).date() - DAY))
    on = covered + timedelta(days=settings.AUDIT_REVIEW_DAYS)
    return ReviewDue(covered if covered > day_before else None, covered + DAY, on)
