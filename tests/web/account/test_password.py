"""Changes of passwords, which are recorded, and passwords that must be changed."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from config import settings as real
from sites.models import User
from tests.factories import make_user

NEW = "a heron in the reeds"
WHY = "He forgot it; he called from the ward."


def form(**given):
    return {"old": "correct horse", "new": NEW, "repeated": NEW} | given


@pytest.mark.requirement("R19")
def test_a_password_change_is_recorded_without_the_password(signed_in, mara):
    assert signed_in.post("/password/", form()).url == "/"
    mara.refresh_from_db()
    assert mara.check_password(NEW)
    (entry,) = list_entries(mara.actor_name)
    assert (entry.event, entry.actor) == ("user.changed", mara.actor_name)
    assert entry.detail["changes"]["password"] == {"old": "(not shown)", "new": "(not shown)"}
    assert NEW not in str(entry)


@pytest.mark.requirement("R18")
def test_a_password_change_ends_all_other_sessions(signed_in, mara):
    elsewhere = Client()
    elsewhere.force_login(mara)
    signed_in.post("/password/", form())
    assert signed_in.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"old": "wrong"}, "This is not your current password."),
        ({"repeated": "a heron in the reed"}, "The two passwords differ."),
        ({"new": "too short", "repeated": "too short"}, "at least 12 characters"),
        ({"new": "q1w2e3r4t5y6", "repeated": "q1w2e3r4t5y6"}, "too common"),
        (
            {"new": "correct horse", "repeated": "correct horse"},
            "Choose a password other than",
        ),
        ({"new": "123456789012345", "repeated": "123456789012345"}, "entirely numeric"),
    ],
    ids=["wrong", "differ", "short", "common", "the same", "digits"],
)
def test_a_refused_password_changes_nothing_and_shows_the_reason(signed_in, mara, given, message):
    answer = signed_in.post("/password/", form(**given))
    assert answer.status_code == 400
    assert message in answer.content.decode()
    mara.refresh_from_db()
    assert mara.check_password("correct horse")
    assert list_entries(mara.actor_name) == []


def test_form_errors_are_recorded_without_the_entered_passwords(signed_in, mara):
    signed_in.post("/password/", form(old="my other secret"))
    (entry,) = latest()
    assert (entry.event, entry.reason_code) == ("password.form_came_back", "old:wrong")
    assert "secret" not in str(entry.detail)


@pytest.fixture
def ada(db):
    client = Client()
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    return client


@pytest.mark.requirement("R19")
def test_a_password_set_by_another_person_must_be_changed_first(client, mara):
    """Administrators of earlier releases set such passwords."""
    mara.set_password(NEW)
    mara.password_is_temporary = True
    mara.save()
    answer = client.post("/login/", {"username": "mara", "password": NEW}, follow=True)
    assert answer.redirect_chain[-1][0] == "/password/?next=/"
    assert client.get("/packets/new/").url == "/password/?next=/packets/new/"
    new = "four grey herons"
    data = form(old=NEW, new=new, repeated=new)
    page = client.post("/password/?next=/packets/new/", data)
    assert page.url == "/packets/new/"
    assert client.get("/packets/new/").status_code == 200


@pytest.mark.requirement("R19")
def test_an_expired_password_must_be_changed_first(signed_in, mara, settings):
    settings.PASSWORD_DAYS = 90
    long_ago = timezone.now() - timedelta(days=91)
    User.objects.filter(pk=mara.pk).update(password_changed_at=long_ago)
    assert signed_in.get("/").url == "/password/?next=/"
    settings.PASSWORD_DAYS = 0
    assert signed_in.get("/").status_code == 200


def test_passwords_are_hashed_with_argon2():
    assert real.PASSWORD_HASHERS[0].endswith("Argon2PasswordHasher")


def test_only_signed_in_people_can_change_their_own_password(client, db):
    assert client.get("/password/").url == "/login/?next=/password/"
