"""An administrator may open every form that is signed, and signs in no name but their own (R23)."""

import pytest

from audit.ledger.queries import EntrySearch, count_entries
from ingestion.models import Document
from ingestion.review.decisions import get_version
from tests.config import doors
from tests.config.test_doors import house

__all__ = ["house"]

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R23")]
OF_QA = {"review_sign", "trail_review_new"}
WHY = "The chair confirmed it by mail today."


def forms(house):
    """Address, what is filled in, and the event that it leads to."""
    document = Document.objects.get(pk=house.known["pk"])
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


@pytest.mark.parametrize(
    "form", ["certified_copies", "review_sign", "access_review", "trail_review_new"]
)
def test_it_is_their_own_name_or_none(house, form):
    """Decisions and reviews of QA are no administrator's at all, under whatever name."""
    administrator = house.client(doors.ADMIN)
    address, filled_in, event = forms(house)[form]
    before = count_entries(EntrySearch(event=event))
    for who in (doors.LEAD, doors.AFFAIRS, doors.OWN):
        theirs = {"username": house.people[who].username, "password": "correct horse"}
        refused = administrator.post(address, filled_in | theirs).status_code
        assert refused == (403 if form in OF_QA else 400)
    assert count_entries(EntrySearch(event=event)) == before
    own = {"username": "ada", "password": "correct horse"}
    answer = administrator.post(address, filled_in | own).status_code
    assert answer == (403 if form in OF_QA else 302)
    assert count_entries(EntrySearch(event=event)) == before + (form not in OF_QA)


def test_not_even_a_lead_decides_about_what_they_sent(house):
    document = Document.objects.get(pk=house.known["pk"])
    document.batch.submitted_by = house.people[doors.LEAD]
    document.batch.save()
    page = house.client(doors.LEAD).get(f"/admin/review/{document.pk}/sign/?action=withdraw")
    assert page.status_code == 403
