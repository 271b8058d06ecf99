"""Administrators can sign only in their own name (R23)."""

import pytest

from audit.ledger.queries import EntrySearch, count_entries
from ingestion.models import Document
from ingestion.review.decisions import get_version
from tests.config import access_table
from tests.config.test_access import installation

__all__ = ["installation"]

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R23")]
OF_QA = {"review_sign", "trail_review_new"}
WHY = "The chair confirmed it by mail today."


def forms(installation):
    """Return the address, the data and the event of each form."""
    document = Document.objects.get(pk=installation.known["pk"])
    day = f"{document.received_at:%Y-%m-%d}"
    made_on = get_version(document)
    return {
        "certified_copies": (
            f"/documents/{document.pk}/copies/", {"reason": WHY}, "document.certified",
        ),
        "review_sign": (
            f"/admin/review/{document.pk}/sign/?action=withdraw",
            {"reason": WHY, "made_on": made_on},
            "document.withdrawn",
        ),
        "access_review": (
            "/access/", {"outcome": "in_order", "findings": WHY}, "access.reviewed",
        ),
        "trail_review_new": (
            "/admin/audit/reviews/new/",
            {"since": day, "until": day, "findings": WHY, "outcome": "nothing_found"},
            "ledger.reviewed",
        ),
    }  # fmt: skip


def test_people_can_sign_only_in_their_own_name(installation):
    """Administrators cannot sign decisions and reviews of QA in any name."""
    administrator = installation.client(access_table.ADMIN)
    for form, (address, filled_in, event) in forms(installation).items():
        before = count_entries(EntrySearch(event=event))
        for who in (access_table.LEAD, access_table.AFFAIRS, access_table.OWN):
            theirs = {"username": installation.people[who].username, "password": "correct horse"}
            refused = administrator.post(address, filled_in | theirs).status_code
            assert refused == (403 if form in OF_QA else 400), form
        assert count_entries(EntrySearch(event=event)) == before, form
        own = {"username": "ada", "password": "correct horse"}
        answer = administrator.post(address, filled_in | own).status_code
        assert answer == (403 if form in OF_QA else 302), form
        assert count_entries(EntrySearch(event=event)) == before + (form not in OF_QA), form


def test_a_qa_lead_cannot_decide_about_a_document_that_they_sent(installation):
    document = Document.objects.get(pk=installation.known["pk"])
    document.batch.submitted_by = installation.people[access_table.LEAD]
    document.batch.save()
    page = installation.client(access_table.LEAD).get(
        f"/admin/review/{document.pk}/sign/?action=withdraw"
    )
    assert page.status_code == 403
