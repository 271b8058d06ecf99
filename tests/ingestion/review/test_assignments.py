"""Tests of the review queue, its deadlines and assignments."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ledger.queries import list_entries
from ingestion.models import Action, Document
from ingestion.review import assignments, decisions, review_requests
from ingestion.review.assignments import QueueFilter
from tests.ingestion.review.reviewers import decide
from tests.web.scenes import FILED, IN_REVIEW, REJECTED

FRIDAY = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
moments = st.integers(0, 60 * 24 * 365).map(lambda minutes: FRIDAY + timedelta(minutes=minutes))


def listed(**wanted):
    return [document.pk for document in assignments.filter_queue(QueueFilter(**wanted))]


def waited(document, **ago):
    Document.objects.filter(pk=document.pk).update(settled_at=timezone.now() - timedelta(**ago))


def test_weekends_do_not_count_as_working_days():
    assert assignments.compute_due_at(FRIDAY) == datetime(2026, 11, 24, 15, 0, tzinfo=UTC)
    assert assignments.compute_due_at(FRIDAY + timedelta(days=1)) == assignments.compute_due_at(
        FRIDAY + timedelta(days=2)
    )
    assert assignments.compute_due_at(FRIDAY + timedelta(days=2)) == datetime(
        2026, 11, 25, tzinfo=UTC
    )
    assert assignments.compute_due_at(FRIDAY - timedelta(days=1)) == datetime(
        2026, 11, 23, 15, 0, tzinfo=UTC
    )


@given(since=moments, now=moments)
@settings(max_examples=300)
def test_the_overdue_threshold_is_the_inverse_of_the_due_time(since, now):
    assert (assignments.compute_due_at(since) <= now) == (
        since <= assignments.compute_overdue_before(now)
    )


@pytest.mark.django_db
class TestQueue:
    def test_the_queue_starts_with_the_longest_wait(self, sent):
        newer, older = sent(IN_REVIEW), sent(IN_REVIEW, content=b"%PDF-1.7 older")
        waited(older, days=1)
        assert listed() == [older.pk, newer.pk]
        assert assignments.count_waiting() == 2

    def test_the_queue_contains_undecided_documents_only(self, sent, rafael):
        sent(FILED)
        rejected = sent(REJECTED, content=b"%PDF-1.7 unsigned")
        assert listed() == []
        assert listed(rejected=True) == [rejected.pk]
        decide(rejected, Action.CONFIRM, rafael)
        assert listed(rejected=True) == []

    def test_replaced_documents_are_not_in_the_queue_of_rejections(self, sent):
        sent(REJECTED)
        sent(FILED, content=b"%PDF-1.7 signed")
        assert listed(rejected=True) == []

    def test_the_queue_can_be_filtered_by_code_site_and_deadline(self, sent):
        document, other = sent(IN_REVIEW), sent(IN_REVIEW, content=b"%PDF-1.7 other")
        waited(other, days=30)
        assert listed(code="SITE_MISMATCH") == [other.pk, document.pk]
        assert listed(code="PHI_SUSPECTED") == []
        assert listed(site="0203") == [other.pk, document.pk]
        assert listed(site="0417") == []
        assert listed(overdue=True) == [other.pk]

    def test_review_requests_are_listed_until_they_are_answered(self, sent, mara, ines):
        document = sent(REJECTED)
        review_requests.request_review(document, "It is signed on the back.", user=mara)
        assert listed(asked=True) == [document.pk]
        decide(Document.objects.get(), Action.CONFIRM, ines)
        assert listed(asked=True) == []

    def test_an_assignment_is_recorded(self, sent, ines, rafael):
        document = sent(IN_REVIEW)
        assert assignments.assign(document, rafael, by=rafael)
        assert not assignments.assign(document, rafael, by=rafael)
        assert listed(mine=rafael) == [document.pk]
        assert assignments.assign(document, ines, by=ines)
        assert listed(mine=rafael) == []
        entry = list_entries(document.subject)[-1]
        assert entry.event == "document.assigned"
        assert (entry.detail["assigned_to"], entry.detail["before"]) == (
            ines.actor_name,
            rafael.actor_name,
        )

    def test_an_assignment_does_not_invalidate_an_open_form(self, sent, ines, rafael):
        document = sent(IN_REVIEW)
        seen = decisions.get_version(document)
        assignments.assign(document, rafael, by=rafael)
        decide(document, Action.RELEASE, ines, made_on=seen)

    def test_a_decided_document_cannot_be_assigned(self, sent, rafael):
        assert not assignments.assign(sent(FILED), rafael, by=rafael)

    def test_a_reviewer_is_told_who_has_the_page_open(self, sent, ines, rafael):
        document = sent(IN_REVIEW)
        assert assignments.record_opening(document, rafael) is None
        assert assignments.record_opening(document, rafael) is None
        assert assignments.record_opening(document, ines) == rafael
        document.assignment.refresh_from_db()
        long_ago = timezone.now() - timedelta(hours=1)
        type(document.assignment).objects.update(opened_at=long_ago)
        assert assignments.record_opening(document, rafael) is None
