"""A session ends when nothing is done, and after a day's work; polls keep none going."""

import pytest
from django.test import Client

from audit.ledger.queries import timeline
from sites.accounts import sessions
from tests.factories import make_user
from tests.web.scenes import make_packet

FRAGMENT = {"X-Fragment": "1"}


def pass_(client, *, idle=0, since=0):
    """As if the last thing was done, and the sign-in was, so many seconds earlier."""
    session = client.session
    session[sessions.SEEN] -= idle
    session[sessions.BEGAN] -= since
    session.save()


def is_in(client):
    return client.get("/").status_code == 200


@pytest.mark.requirement("R20")
def test_who_does_nothing_for_a_quarter_of_an_hour_is_signed_out(signed_in, mara):
    pass_(signed_in, idle=15 * 60 + 60)
    answer = signed_in.get("/", follow=True)
    assert answer.redirect_chain[-1][0] == "/login/?next=/"
    assert "because you were inactive" in answer.content.decode()
    (entry,) = timeline(mara.actor_name)
    assert (entry.event, entry.code, entry.actor) == ("user.session_ended", "IDLE", mara.actor_name)


def test_who_does_something_stays(signed_in):
    for _ in range(3):
        pass_(signed_in, idle=14 * 60)
        assert is_in(signed_in)


@pytest.mark.requirement("R20")
def test_however_busy_a_session_ends_after_a_days_work(signed_in, mara):
    pass_(signed_in, since=12 * 3600 + 1)
    assert not is_in(signed_in)
    assert timeline(mara.actor_name)[-1].code == "TOO_OLD"


@pytest.mark.requirement("R20")
def test_a_page_that_asks_for_news_keeps_no_session_going(signed_in, mara, site):
    packet = make_packet(site, mara, None)
    page = f"/packets/{packet.reference}/"
    pass_(signed_in, idle=14 * 60)
    assert signed_in.get(page, headers=FRAGMENT).status_code == 200
    pass_(signed_in, idle=2 * 60)
    assert signed_in.get(page, headers=FRAGMENT).status_code == 302


def test_asking_how_long_is_left_is_nothing_that_is_done(signed_in, mara):
    pass_(signed_in, idle=10 * 60)
    said = signed_in.get("/session/", headers=FRAGMENT).json()
    assert said["person"] == mara.actor_name
    assert 4 * 60 < said["seconds"] <= 5 * 60 + sessions.GRAIN
    pass_(signed_in, idle=6 * 60)
    assert signed_in.get("/session/", headers=FRAGMENT).json() == {"person": ""}


def test_staying_signed_in_takes_a_post(signed_in):
    pass_(signed_in, idle=14 * 60)
    assert signed_in.post("/session/").json()["seconds"] > 14 * 60


def test_staying_signed_in_does_not_outlast_the_day(signed_in):
    pass_(signed_in, idle=60, since=12 * 3600 - 100)
    assert signed_in.post("/session/").json()["seconds"] <= 100


def test_a_session_from_before_these_rules_is_over(signed_in):
    session = signed_in.session
    del session[sessions.SEEN], session[sessions.BEGAN]
    session.save()
    assert not is_in(signed_in)


def test_pages_bring_the_question_and_the_sign_in_does_not(signed_in):
    assert 'id="session"' in signed_in.get("/").content.decode()
    assert 'id="session"' not in Client().get("/login/").content.decode()


def test_the_session_row_is_not_written_for_every_request():
    session = {sessions.SEEN: 1_000}
    sessions.touch(session, 1_000 + sessions.GRAIN - 1)
    assert session[sessions.SEEN] == 1_000
    sessions.touch(session, 1_000 + sessions.GRAIN)
    assert session[sessions.SEEN] == 1_000 + sessions.GRAIN


def test_the_admin_has_the_same_limits(client, db):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    assert 'id="session"' in client.get("/admin/").content.decode()
    pass_(client, idle=15 * 60 + 60)
    assert client.get("/admin/").status_code == 302


@pytest.fixture
def browser(mara):
    """Another one in which she signs in, each time it is called."""

    def opened():
        client = Client()
        client.force_login(mara)
        return client

    return opened


@pytest.mark.requirement("R18")
def test_of_too_many_sessions_of_one_person_the_first_ends_and_says_why(browser, mara, settings):
    settings.SESSIONS_AT_A_TIME = 2
    first, second, third = browser(), browser(), browser()
    assert (is_in(second), is_in(third)) == (True, True)
    answer = first.get("/", follow=True)
    assert "because you signed in elsewhere" in answer.content.decode()
    entry = timeline(mara.actor_name)[-1]
    assert (entry.event, entry.code) == ("user.session_ended", "ELSEWHERE")
    assert (is_in(second), is_in(third)) == (True, True)


def test_who_signs_out_or_is_signed_out_leaves_the_place_to_the_next(browser, settings):
    settings.SESSIONS_AT_A_TIME = 2
    stays, leaves = browser(), browser()
    leaves.post("/logout/")
    forgotten = browser()
    pass_(forgotten, idle=3600)
    assert not is_in(forgotten)
    browser()
    assert is_in(stays)


def test_whoever_saves_an_account_that_was_read_before_ends_no_session(browser, mara):
    client = browser()
    mara.email = "mara@example.org"
    mara.save()
    assert is_in(client)


def test_one_persons_sessions_are_nothing_to_anothers(signed_in, settings):
    settings.SESSIONS_AT_A_TIME = 1
    Client().force_login(make_user("somebody"))
    assert is_in(signed_in)
