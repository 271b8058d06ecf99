"""One's own password, and those that others give: changed at the first sign-in, on record."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import timeline
from config import settings as real
from sites.models import User
from tests.factories import make_user

NEW = "a heron in the reeds"
WHY = "He forgot it; he called from the ward."


def form(**given):
    return {"old": "correct horse", "new": NEW, "repeated": NEW} | given


@pytest.mark.requirement("R19")
def test_a_changed_password_is_on_record_without_the_password(signed_in, mara):
    assert signed_in.post("/password/", form()).url == "/"
    mara.refresh_from_db()
    assert mara.check_password(NEW)
    (entry,) = timeline(mara.actor_name)
    assert (entry.event, entry.actor) == ("user.changed", mara.actor_name)
    assert entry.detail["changes"]["password"] == {"old": "(not shown)", "new": "(not shown)"}
    assert NEW not in str(entry)


@pytest.mark.requirement("R18")
def test_other_sessions_end_and_this_one_goes_on(signed_in, mara):
    elsewhere = Client()
    elsewhere.force_login(mara)
    signed_in.post("/password/", form())
    assert signed_in.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


@pytest.mark.parametrize(
    ("given", "said"),
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
def test_what_is_refused_is_said_and_changes_nothing(signed_in, mara, given, said):
    answer = signed_in.post("/password/", form(**given))
    assert answer.status_code == 400
    assert said in answer.content.decode()
    mara.refresh_from_db()
    assert mara.check_password("correct horse")
    assert timeline(mara.actor_name) == []


def test_a_form_that_came_back_is_on_record_without_what_was_typed(signed_in, mara):
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
def test_a_password_that_somebody_else_chose_has_to_be_changed_first(client, mara):
    """As administrators did in earlier releases."""
    mara.set_password(NEW)
    mara.password_is_temporary = True
    mara.save()
    answer = client.post("/login/", {"username": "mara", "password": NEW}, follow=True)
    assert answer.redirect_chain[-1][0] == "/password/?next=/"
    assert client.get("/packets/new/").url == "/password/?next=/packets/new/"
    page = client.post("/password/?next=/packets/new/", form(old=NEW, new="four grey herons",
                                                             again="four grey herons"))  # fmt: skip
    assert page.url == "/packets/new/"
    assert client.get("/packets/new/").status_code == 200


@pytest.mark.requirement("R19")
def test_a_password_that_is_too_old_has_to_be_changed(signed_in, mara, settings):
    settings.PASSWORD_DAYS = 90
    long_ago = timezone.now() - timedelta(days=91)
    User.objects.filter(pk=mara.pk).update(password_changed_at=long_ago)
    assert signed_in.get("/").url == "/password/?next=/"
    settings.PASSWORD_DAYS = 0
    assert signed_in.get("/").status_code == 200


def test_argon2_is_what_passwords_are_kept_with():
    assert real.PASSWORD_HASHERS[0].endswith("Argon2PasswordHasher")


def test_a_password_is_changed_by_whoever_is_signed_in_and_nobody_else(client, db):
    assert client.get("/password/").url == "/login/?next=/password/"
