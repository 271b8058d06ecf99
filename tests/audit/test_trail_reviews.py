"""Tests that reviews of the trail are append-only, recorded in the ledger, and due regularly."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.utils import timezone

from audit import trail_reviews
from audit.electronic_signatures import ElectronicSignature
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.ledger.log import LedgerError
from audit.models import AppendOnly, AuditReview
from audit.trail_reviews import DAY, Outcome, ReviewScope
from tests.audit.support import write, write_many

RAFAEL = ElectronicSignature(Actor("user:7", "staff"), "Rafael Duarte", "review")
TODAY = timezone.now().date()


def sign(since=TODAY - DAY, to=TODAY, **scope):
    return trail_reviews.sign_review(
        ReviewScope(since, to, **scope), findings="I saw nothing.", outcome=Outcome.OPEN, by=RAFAEL
    )


def set_start_of_trail(monkeypatch, days_ago):
    moment = datetime.combine(TODAY - timedelta(days=days_ago), time(9), UTC)
    monkeypatch.setattr(queries, "get_first_recorded_at", lambda: moment)


def make_review(since, to, *, signed=0, site=""):
    """Store a review of a period. `since`, `to` and `signed` are numbers of days before today."""
    AuditReview.objects.create(
        period_from=TODAY - timedelta(days=since),
        period_to=TODAY - timedelta(days=to),
        site=site,
        findings="I saw nothing.",
        outcome=Outcome.NOTHING_FOUND,
        entries=0,
        last_seq=0,
        reviewer="user:7",
        printed_name="Rafael Duarte",
        meaning="review",
        signed_at=timezone.now() - timedelta(days=signed),
    )


@pytest.mark.requirement("R13")
@pytest.mark.requirement("R25")
def test_a_review_is_an_entry_with_printed_name_and_meaning(db):
    write_many(3, site="0203")
    write(site="0204", subject="document:2")
    review = sign(site="0203")
    entry = queries.find_entries(limit=1)[0]
    assert (entry.event, entry.subject, entry.site) == (
        "ledger.reviewed",
        f"review:{review.pk}",
        "0203",
    )
    assert (entry.actor, entry.role, entry.code) == ("user:7", "staff", "OPEN")
    detail = entry.detail
    assert (detail["printed_name"], detail["meaning"]) == ("Rafael Duarte", "review")
    assert (detail["findings"], detail["entries"], detail["last_seq"]) == ("I saw nothing.", 3, 4)
    assert entry.occurred_at == review.signed_at


@pytest.mark.requirement("R13")
def test_a_review_and_its_entry_are_saved_together_or_not_at_all(db, settings):
    write()
    settings.AUDIT_TRAIL = "another"
    with pytest.raises(LedgerError):
        sign()
    assert not AuditReview.objects.exists()


def test_a_review_cannot_be_changed_or_removed(db):
    review = sign()
    refused = [
        review.save,
        review.delete,
        AuditReview.objects.all().delete,
        lambda: AuditReview.objects.update(findings=""),
        lambda: AuditReview.objects.bulk_create([]),
    ]
    for attempt in refused:
        with pytest.raises(AppendOnly):
            attempt()


def test_a_period_consists_of_whole_utc_days(db):
    scope = ReviewScope(date(2026, 3, 1), date(2026, 3, 31))
    assert scope.search.since == datetime(2026, 3, 1, tzinfo=UTC)
    assert scope.search.until == datetime(2026, 4, 1, tzinfo=UTC)


def test_no_review_of_an_empty_trail_is_due(db):
    due = trail_reviews.compute_review_due()
    assert due.on is None
    assert not due.is_overdue(TODAY)


@pytest.mark.requirement("R13")
def test_a_trail_without_reviews_becomes_overdue(db, monkeypatch, settings):
    settings.AUDIT_REVIEW_DAYS = 30
    set_start_of_trail(monkeypatch, 29)
    assert trail_reviews.compute_review_due().on == TODAY
    assert not trail_reviews.compute_review_due().is_overdue(TODAY)
    set_start_of_trail(monkeypatch, 30)
    assert trail_reviews.compute_review_due().is_overdue(TODAY)
    assert trail_reviews.compute_review_due().covered_until is None


@pytest.mark.parametrize(
    ("reviews", "covered"),
    [
        ([{"since": 40, "to": 11}], 11),
        ([{"since": 40, "to": 21}, {"since": 20, "to": 11}], 11),
        ([{"since": 20, "to": 11}, {"since": 40, "to": 21}], 11),
        ([{"since": 40, "to": 21}, {"since": 19, "to": 11}], 21),  # one day was not reviewed
        ([{"since": 60, "to": 21}, {"since": 50, "to": 30}], 21),
        ([{"since": 40, "to": 0}], 1),  # today is not over
        ([{"since": 40, "to": 5, "signed": 5}], 6),
        ([{"since": 40, "to": 11, "site": "0203"}], None),
        ([{"since": 39, "to": 11}], None),
    ],
    ids=["one", "two", "any-order", "gap", "within", "today", "its-day", "a-site", "begins-late"],
)
def test_reviews_without_a_gap_determine_the_next_due_date(db, monkeypatch, reviews, covered):
    set_start_of_trail(monkeypatch, 40)
    for each in reviews:
        make_review(**each)
    due = trail_reviews.compute_review_due()
    assert due.covered_until == (None if covered is None else TODAY - timedelta(days=covered))
    assert due.on == due.since - DAY + timedelta(days=30)


@pytest.mark.requirement("R26")
def test_a_changed_review_is_reported(db):
    review = sign(site="0203")
    assert trail_reviews.list_changes_since_review(review) == []
    review.findings = "I saw a great deal."
    assert trail_reviews.list_changes_since_review(review) == ["findings"]
