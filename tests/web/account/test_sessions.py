"""Sessions end after inactivity and after their maximum length, even if pages poll."""

import pytest
from django.test import Client

from audit.ledger.queries import list_entries
from sites.accounts import sessions
from tests.factories import make_user
from tests.web.scenes import make_packet

FRAGMENT = {"X-Fragment": "1"}


def pass_(client, *, idle=0, since=0):
    """Move the last activity and the sign-in into the past by so many seconds."""
    session = client.session
    session[sessions.ACTIVE_KEY] -= idle
    session[sessions.BEGAN_KEY] -= since
    session.save()


def is_in(client):
    return client.get("/").status_code == 200


@pytest.mark.requirement("R20")
def test_an_inactive_person_is_signed_out_after_fifteen_minutes(signed_in, mara):
    pass_(signed_in, idle=15 * 60 + 60)
    answer = signed_in.get("/", follow=True)
    assert answer.redirect_chain[-1][0] == "/login/?next=/"
    assert "because you were inactive" in answer.content.decode()
    (entry,) = list_entries(mara.actor_name)
    assert (entry.event, entry.code, entry.actor) == ("user.session_ended", "IDLE", mara.actor_name)


def test_an_active_person_stays_signed_in(signed_in):
    for _ in range(3):
        pass_(signed_in, idle=14 * 60)
        assert is_in(signed_in)


@pytest.mark.requirement("R20")
def test_every_session_ends_after_its_maximum_length(signed_in, mara):
    pass_(signed_in, since=12 * 3600 + 1)
    assert not is_in(signed_in)
    assert list_entries(mara.actor_name)[-1].code == "TOO_OLD"


@pytest.mark.requirement("R20")
def test_automatic_requests_do_not_extend_a_session(signed_in, mara, site):
    packet = make_packet(site, mara, None)
    page = f"/packets/{packet.reference}/"
    pass_(signed_in, idle=14 * 60)
    assert signed_in.get(page, headers=FRAGMENT).status_code == 200
    pass_(signed_in, idle=2 * 60)
    assert signed_in.get(page, headers=FRAGMENT).status_code == 302


def test_asking_for_the_remaining_time_does_not_extend_a_session(signed_in, mara):
    pass_(signed_in, idle=10 * 60)
    status = signed_in.get("/session/", headers=FRAGMENT).json()
    assert status["person"] == mara.actor_name
    assert 4 * 60 < status["seconds"] <= 5 * 60 + sessions.WRITE_INTERVAL_SECONDS
    pass_(signed_in, idle=6 * 60)
    assert signed_in.get("/session/", headers=FRAGMENT).json() == {"person": ""}


def test_extending_a_session_needs_a_post_request(signed_in):
    pass_(signed_in, idle=14 * 60)
    assert signed_in.post("/session/").json()["seconds"] > 14 * 60


def test_extending_a_session_does_not_exceed_the_maximum_length(signed_in):
    pass_(signed_in, idle=60, since=12 * 3600 - 100)
    assert signed_in.post("/session/").json()["seconds"] <= 100


def test_sessions_of_an_earlier_release_end(signed_in):
    session = signed_in.session
    del session[sessions.ACTIVE_KEY], session[sessions.BEGAN_KEY]
    session.save()
    assert not is_in(signed_in)


def test_pages_load_the_session_script_and_the_sign_in_page_does_not(signed_in):
    assert 'id="session"' in signed_in.get("/").content.decode()
    assert 'id="session"' not in Client().get("/login/").content.decode()


def test_the_session_row_is_not_written_for_every_request():
    session = {sessions.ACTIVE_KEY: 1_000}
    sessions.record_activity(session, 1_000 + sessions.WRITE_INTERVAL_SECONDS - 1)
    assert session[sessions.ACTIVE_KEY] == 1_000
    sessions.record_activity(session, 1_000 + sessions.WRITE_INTERVAL_SECONDS)
    assert session[sessions.ACTIVE_KEY] == 1_000 + sessions.WRITE_INTERVAL_SECONDS


def test_the_admin_has_the_same_limits(client, db):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    assert 'id="session"' in client.get("/admin/").content.decode()
    pass_(client, idle=15 * 60 + 60)
    assert client.get("/admin/").status_code == 302


@pytest.fixture
def browser(mara):
    """Return a function that signs Mara in with another browser."""

    def opened():
        client = Client()
        client.force_login(mara)
        return client

    return opened


@pytest.mark.requirement("R18")
def test_the_oldest_of_too_many_sessions_ends_with_a_message(browser, mara, settings):
    settings.SESSIONS_AT_A_TIME = 2
    first, second, third = browser(), browser(), browser()
    assert (is_in(second), is_in(third)) == (True, True)
    answer = first.get("/", follow=True)
    assert "because you signed in elsewhere" in answer.content.decode()
    entry = list_entries(mara.actor_name)[-1]
    assert (entry.event, entry.code) == ("user.session_ended", "ELSEWHERE")
    assert (is_in(second), is_in(third)) == (True, True)


def test_an_ended_session_frees_its_place(browser, settings):
    settings.SESSIONS_AT_A_TIME = 2
    stays, leaves = browser(), browser()
    leaves.post("/logout/")
    forgotten = browser()
    pass_(forgotten, idle=3600)
    assert not is_in(forgotten)
    browser()
    assert is_in(stays)


def test_saving_an_older_copy_of_an_account_ends_no_session(browser, mara):
    client = browser()
    mara.email = "mara@example.org"
    mara.save()
    assert is_in(client)


def test_sessions_of_other_people_are_not_affected(signed_in, settings):
    settings.SESSIONS_AT_A_TIME = 1
    Client().force_login(make_user("another"))
    assert is_in(signed_in)
