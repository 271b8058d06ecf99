"""The account page: training and policy are required before work, and user names never change."""

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.test import Client

from audit.ledger.queries import list_entries
from sites.accounts import step_up
from sites.eligibility import Missing, list_missing_for_signature, list_missing_for_upload
from sites.models import User
from sites.models.base_user import AccountIsPermanent
from tests.factories import make_user
from tests.web.scenes import send

pytestmark = pytest.mark.django_db
WHY = "Passport seen at the site visit of 3 November."


@pytest.fixture
def new(site, client):
    unfit = dict.fromkeys(
        ["training_acknowledged_at", "policy_acknowledged_at", "identity_verified_at"]
    )
    person = make_user("new", sites=(site,), **unfit)
    client.force_login(person)
    return person


def fresh(person):
    return User.objects.get(pk=person.pk)


@pytest.mark.requirement("R36")
def test_people_without_training_cannot_upload(client, new):
    assert send(client).status_code == 403
    assert "Confirm on your account page" in client.get("/packets/new/").content.decode()
    client.post("/account/training/")
    assert client.get("/packets/new/").status_code == 200
    entry = list_entries(new.actor_name)[-1]
    assert entry.actor == new.actor_name
    assert entry.detail["changes"]["training_acknowledged_at"]["old"] is None


@pytest.mark.requirement("R27")
@pytest.mark.requirement("R36")
@pytest.mark.requirement("R37")
def test_the_reasons_why_a_person_cannot_sign_are_listed(client, new):
    assert list_missing_for_signature(new) == [Missing.TRAINING, Missing.POLICY, Missing.IDENTITY]
    client.post("/account/training/")
    client.post("/account/policy/", {"next": "/packets/new/"})
    assert list_missing_for_signature(fresh(new)) == [Missing.IDENTITY]
    with pytest.raises(step_up.NotSigned, match="verify your identity before you can sign"):
        step_up.confirm(fresh(new), username="new", password="correct horse")


@pytest.mark.requirement("R37")
def test_the_policy_is_accepted_once_after_reading_it(client, new):
    assert (
        "as legally binding as your handwritten signature"
        in client.get("/account/policy/").content.decode()
    )
    client.post("/account/policy/")
    at = fresh(new).policy_acknowledged_at
    client.post("/account/policy/")
    assert fresh(new).policy_acknowledged_at == at


@pytest.mark.requirement("R21")
def test_people_whose_role_requires_a_code_cannot_sign_without_it(settings):
    settings.OTP_REQUIRED_ROLES = ["QA reviewers"]
    ines = make_user("ines", is_staff=True)
    ines.groups.add(Group.objects.get(name="QA reviewers"))
    assert list_missing_for_signature(ines) == [Missing.SECOND_FACTOR]


@pytest.mark.requirement("R34")
def test_auditors_cannot_sign_or_upload():
    vera = make_user("vera", is_staff=True)
    vera.groups.add(Group.objects.get(name="Auditors"))
    assert list_missing_for_signature(vera) == list_missing_for_upload(vera) == [Missing.READ_ONLY]


def person_form(person, **given):
    return {"printed_name": "New", "email": "", "is_active": "on", "identity_evidence": "",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0,
            "reason_for_change": WHY} | given  # fmt: skip


@pytest.mark.requirement("R23")
def test_nobody_can_verify_their_own_identity():
    person = make_user("ada", is_staff=True, is_superuser=True, identity_verified_at=None)
    ada = Client()
    ada.force_login(person)
    form = person_form(person, identity_evidence=WHY, is_staff="on", is_superuser="on")
    ada.post(f"/admin/clinical_sites/user/{person.pk}/change/", form)
    assert fresh(person).identity_verified_at is None


@pytest.mark.requirement("R36")
def test_an_administrator_can_request_training_again(mara):
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    form = {"action": "train_again", "_selected_action": [mara.pk], "index": 0}
    ada.post("/admin/clinical_sites/user/", form | {"reason_for_change": WHY})
    assert list_missing_for_upload(fresh(mara)) == [Missing.TRAINING]


@pytest.mark.requirement("R18")
@pytest.mark.parametrize("name", ["mara", "MARA", "Mara"])
def test_user_names_are_never_used_again(mara, name):
    mara.is_active = False
    mara.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        make_user(name)


@pytest.mark.requirement("R18")
def test_the_admin_reports_that_a_user_name_was_used(mara):
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    new = "a heron in the reeds"
    form = {"username": "MARA", "usable_password": "true", "password1": new, "password2": new,
            "printed_name": "", "email": "",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    page = ada.post("/admin/clinical_sites/user/add/", form)
    assert page.status_code == 200
    assert User.objects.filter(username__iexact="mara").count() == 1


@pytest.mark.requirement("R18")
def test_accounts_can_be_neither_renamed_nor_deleted(mara):
    person = fresh(mara)
    person.username = "other"
    with pytest.raises(AccountIsPermanent):
        person.save()
    with pytest.raises(AccountIsPermanent):
        person.delete()


def test_the_account_page_lists_open_tasks(client, new):
    page = client.get("/account/").content.decode()
    for sentence in ("Confirm training", "Read the policy", "Request verification"):
        assert sentence in page
    assert "To do<" not in client.get("/account/").content.decode().split("Sign-in")[1]


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("page", ["/account/", "/account/code/", "/account/policy/", "/access/"])
def test_strangers_are_redirected_to_sign_in(page):
    assert Client().get(page).url == f"/login/?next={page}"
