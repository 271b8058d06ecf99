"""Signed reviews of the audit trail, and when they are due."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.ledger import queries
from tests.web.trail.conftest import text

PAGE, NEW = "/admin/audit/reviews/", "/admin/audit/reviews/new/"
TODAY = timezone.now().date()


def given(**fields):
    """Return the data of the form. Tests pass only the values that matter to them."""
    return {
        "since": f"{TODAY - timedelta(days=30)}",
        "until": f"{TODAY}",
        "site": "",
        "filters": "",
        "findings": "I looked for sign-ins at night, and saw none.",
        "outcome": "nothing_found",
        "username": "regulatory",
        "password": "correct horse",
        **fields,
    }


def reviewed():
    return [entry for entry in queries.find_entries() if entry.event == "ledger.reviewed"]


@pytest.fixture
def long_ago(monkeypatch):
    """Move the first entries into the past, so that a review is overdue."""
    monkeypatch.setattr(
        queries, "get_first_recorded_at", lambda: datetime(2026, 1, 5, 9, tzinfo=UTC)
    )


def test_an_empty_trail_needs_no_review(affairs):
    page = text(affairs.get(PAGE))
    assert "No review is due" in page
    assert "No review has been signed yet" in page


def test_the_page_shows_when_the_next_review_is_due(affairs, packet):
    due = TODAY + timedelta(days=29)
    page = text(affairs.get(PAGE))
    assert f"The next review is due on {due.day} {due:%b %Y}" in page


@pytest.mark.requirement("R13")
def test_an_overdue_review_is_shown_and_reported_by_status(affairs, packet, long_ago, capsys):
    assert "A review has been overdue since 3 Feb 2026" in text(affairs.get(PAGE))
    call_command("status")
    output = capsys.readouterr().out
    assert "2026-02-03" in output
    assert "ledger review overdue    True" in output


def test_the_form_begins_where_the_last_review_ended(affairs, packet, long_ago):
    form = affairs.get(NEW).context["form"]
    assert f"{form['since'].value()}" == "2026-01-05"
    assert form["until"].value() == TODAY - timedelta(days=1)
    assert not form["username"].value()


@pytest.mark.requirement("R13")
@pytest.mark.requirement("R25")
def test_a_signed_review_is_listed_with_name_time_and_meaning(affairs, packet, long_ago):
    answer = affairs.post(NEW, given(since="2026-01-05"), follow=True)
    for page in (text(answer), text(affairs.get(PAGE))):
        assert "Rafael Duarte (regulatory affairs)" in page
        assert f"{timezone.now():%b %Y, %H}:" in page
        assert "review" in page
    assert "I looked for sign-ins at night" in text(answer)
    entry = reviewed()[0]
    assert entry.detail["printed_name"] == "Rafael Duarte"
    assert entry.detail["meaning"] == "review"
    assert "overdue" not in text(affairs.get(PAGE))


@pytest.mark.requirement("R24")
@pytest.mark.parametrize(
    "wrong", [{"password": "wrong horse"}, {"username": "another"}, {"password": ""}]
)
def test_a_review_needs_the_persons_own_name_and_password_and_keeps_the_entered_text(
    affairs, packet, wrong
):
    answer = affairs.post(NEW, given(**wrong))
    assert answer.status_code == 400
    assert "I looked for sign-ins at night" in answer.content.decode()
    assert "correct horse" not in answer.content.decode()
    assert not reviewed()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"until": f"{TODAY + timedelta(days=1)}"}, "The last day cannot be in the future"),
        ({"since": f"{TODAY}", "until": f"{TODAY - timedelta(days=1)}"}, "The end date is before"),
        ({"findings": "no"}, "at least 10 characters"),
        ({"site": "none"}, "Site none does not exist"),
        ({"outcome": "fine"}, "not one of the available choices"),
    ],
    ids=["future", "order", "findings", "site", "outcome"],
)
def test_an_invalid_review_is_explained(affairs, packet, wrong, message):
    answer = affairs.post(NEW, given(**wrong))
    assert answer.status_code == 400
    assert message in text(answer)
    assert not reviewed()


def test_a_review_can_be_limited_to_one_site(affairs, packet):
    page = text(affairs.post(NEW, given(site="0203"), follow=True))
    assert "Site 0203" in page
    assert reviewed()[0].site == "0203"


def test_qa_can_review_the_trail(as_role, packet):
    client = as_role("QA reviewers", name="qa", printed_name="Rafael Duarte")
    assert client.post(NEW, given(username="qa")).status_code == 302


def test_other_roles_cannot_review_the_trail(client, as_role, mara, packet):
    assert client.get(PAGE).url == f"/login/?next={PAGE}"
    for forbidden in (mara, None):
        client.force_login(mara) if forbidden else as_role("Operations")
        assert client.get(PAGE).status_code == 403
        assert client.post(NEW, given()).status_code == 403
    assert not reviewed()


def test_a_review_that_does_not_exist_is_not_found(affairs):
    assert affairs.get(f"{PAGE}7/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_reviews(
    affairs, packet, django_assert_max_num_queries
):
    for _ in range(25):
        affairs.post(NEW, given())
    with django_assert_max_num_queries(
        10
    ):  # two of them: is this an auditor, and the roles of who signed
        assert "Older reviews" in text(affairs.get(PAGE))
