"""Tests of review requests."""

import pytest

from audit.ledger.queries import list_entries
from ingestion.models import ReviewRequest
from ingestion.review import review_requests
from ingestion.rules.findings import RuleFinding
from tests.factories import make_read

pytestmark = pytest.mark.django_db


def rejected(site):
    return make_read(site, "cv", RuleFinding("SIGNATURE_MISSING", 1, {"page": 1}), state="REJECTED")


def test_a_rejected_document_goes_to_review_with_the_text_of_the_site(site, mara):
    document = rejected(site)
    review_requests.request_review(document, " It is signed on the back. ", user=mara)
    document.refresh_from_db()
    assert (document.state, document.code) == ("IN_REVIEW", "SIGNATURE_MISSING")
    entry = list_entries(document.subject)[-1]
    assert (entry.event, entry.actor) == ("document.review_asked", mara.actor_name)
    assert entry.detail["words"] == "It is signed on the back."
    assert [finding.code for finding in document.current_findings] == ["SIGNATURE_MISSING"]


def test_a_review_can_be_requested_once(site, mara):
    document = rejected(site)
    review_requests.request_review(document, "It is signed.", user=mara)
    with pytest.raises(review_requests.ReviewRequestRefused, match="already requested"):
        review_requests.request_review(document, "It really is signed.", user=mara)
    assert ReviewRequest.objects.count() == 1


def test_no_review_of_a_filed_document_can_be_requested(site, mara):
    with pytest.raises(review_requests.ReviewRequestRefused, match="is: Filed"):
        review_requests.request_review(make_read(site, "cv"), "Look again.", user=mara)
