"""The access review: roles of accounts, who assigned them, and the signature of the reviewer."""

import csv
import hashlib
import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from sites import account_changes
from sites.accounts import access_review
from tests.factories import make_user

pytestmark = pytest.mark.django_db
FINDINGS = "I compared the list with the delegation logs."
WHY = "She begins as a reviewer today."


@pytest.fixture
def rafael():
    person = make_user("rafael", is_staff=True, printed_name="Rafael Duarte")
    person.groups.add(Group.objects.get(name="Regulatory affairs"))
    return person


@pytest.fixture
def ra(client, rafael):
    client.force_login(rafael)
    return client


def signed(client, **given):
    form = {"outcome": "in_order", "findings": FINDINGS, "username": "rafael"}
    return client.post("/access/", form | {"password": "correct horse"} | given)


def rows():
    out = io.StringIO()
    call_command("access_review", stdout=out)
    return {row["user_name"]: row for row in csv.DictReader(io.StringIO(out.getvalue()))}


@pytest.mark.requirement("R22")
def test_the_list_contains_every_active_account(mara, rafael):
    make_user("gone", is_active=False)
    assert set(rows()) == {"mara", "rafael"}
    assert rows()["mara"]["sites"] == "0203"
    assert rows()["rafael"]["roles"] == "Regulatory affairs"


def test_a_page_shows_some_accounts_and_the_signature_covers_all(mara, ra, monkeypatch):
    monkeypatch.setattr("web.account.access_review.ACCOUNTS_PER_PAGE", 1)
    first, last = (ra.get("/access/", {"page": n}).content.decode() for n in (1, 2))
    assert "2 active accounts" in first
    assert ("mara" in first, "mara" in last) == (True, False)
    assert signed(ra).status_code == 302
    (review,) = access_review.list_reviews()
    assert review.accounts == 2


@pytest.mark.requirement("R09")
@pytest.mark.requirement("R22")
def test_each_role_shows_who_assigned_it_and_when(rafael):
    ada, ines = Client(), make_user("ines", is_staff=True)
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True, printed_name="Ada Hartmann"))
    form = {"printed_name": "Ines", "email": "", "is_active": "on", "is_staff": "on",
            "groups": [Group.objects.get(name="QA reviewers").pk], "identity_evidence": "",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    ada.post(f"/admin/clinical_sites/user/{ines.pk}/change/", form | {"reason_for_change": WHY})
    granted = rows()["ines"]["granted"]
    assert granted.startswith(f"QA reviewers by Ada Hartmann {timezone.now():%Y-%m-%d}")
    assert "not on record" in rows()["rafael"]["granted"]


def test_a_role_that_was_assigned_twice_shows_the_last_assignment(rafael):
    for groups in (["QA reviewers"], [], ["QA reviewers"]):
        with account_changes.record_changes(rafael):
            rafael.groups.set(Group.objects.filter(name__in=groups))
    (found,) = (each for each in access_review.list_accounts() if each.person == rafael)
    (grant,) = found.grants
    assert grant.at == latest()[0].recorded_at


@pytest.mark.requirement("R22")
def test_lockouts_codes_and_training_are_in_the_list(mara, rafael):
    for _ in range(5):
        Client().post("/login/", {"username": "mara", "password": "wrong"})
    assert rows()["mara"]["locked_until"].endswith("Z")
    assert rows()["rafael"]["locked_until"] == ""
    assert rows()["mara"]["training_acknowledged"]
    assert rows()["mara"]["code_at_sign_in_since"] == ""


def test_names_cannot_become_formulas_of_a_spreadsheet(db):
    make_user("mallory", printed_name='=HYPERLINK("http://evil.example")')
    assert rows()["mallory"]["printed_name"].startswith("'=")


@pytest.mark.requirement("R22")
def test_a_signed_review_records_the_checksum_of_the_list(ra, mara, rafael):
    listed = ra.get("/access/people.csv").content
    assert signed(ra).url == "/access/"
    entry = next(each for each in latest() if each.event == "access.reviewed")
    assert (entry.actor, entry.code) == (rafael.actor_name, "IN_ORDER")
    assert entry.sha256 == hashlib.sha256(listed).hexdigest()
    assert entry.detail["printed_name"] == "Rafael Duarte"
    assert entry.detail["user_names"] == ["mara", "rafael"]
    page = ra.get("/access/").content.decode()
    assert FINDINGS in page
    assert "Rafael Duarte (regulatory affairs), " in page


def test_a_wrong_password_signs_nothing_and_keeps_the_entered_text(ra):
    answer = signed(ra, password="wrong")
    assert answer.status_code == 400
    assert FINDINGS in answer.content.decode()
    assert access_review.list_reviews() == []


@pytest.mark.requirement("R22")
def test_an_overdue_review_is_shown(ra, rafael, settings):
    with account_changes.record_changes(rafael):
        rafael.email = "r@example.org"
        rafael.save()
    assert "The next access review is due" in ra.get("/access/").content.decode()
    settings.ACCESS_REVIEW_DAYS = 1
    assert access_review.compute_due_date() == timezone.now().date() + timedelta(days=1)
    settings.ACCESS_REVIEW_DAYS = -1
    assert "The access review has been overdue since" in ra.get("/access/").content.decode()
    errors = io.StringIO()
    call_command("access_review", stdout=io.StringIO(), stderr=errors)
    assert "overdue" in errors.getvalue()


@pytest.mark.requirement("R15")
def test_coordinators_and_other_staff_cannot_see_the_access_review(signed_in, client):
    assert signed_in.get("/access/").status_code == 403
    client.force_login(make_user("olu", is_staff=True))
    assert client.get("/access/people.csv").status_code == 403


def test_the_number_of_queries_does_not_grow_with_the_accounts(
    mara, rafael, django_assert_max_num_queries
):
    for number in range(20):
        make_user(f"person-{number}")
    with django_assert_max_num_queries(7):
        access_review.format_csv(access_review.list_accounts())
