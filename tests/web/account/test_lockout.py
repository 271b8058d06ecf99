"""Lockouts: too many failures end in a wait, and nobody can lock out other people."""

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from sites.accounts import lockout, sign_in_log
from sites.models import User
from sites.models.usage_counters import Tries
from tests.factories import make_user

pytestmark = pytest.mark.django_db
WHY = "She called from the ward and is locked out."


def sign_in(client, name="mara", *, typed="correct horse", address="192.0.2.7"):
    form = {"username": name, "password": typed}
    return client.post("/login/", form, REMOTE_ADDR=address)


def fail(client, times, **how):
    for _ in range(times):
        answer = sign_in(client, **({"typed": "wrong"} | how))
    return answer


def let_pass(minutes):
    for row in Tries.objects.all():
        Tries.objects.filter(pk=row.pk).update(ends_at=row.ends_at - timedelta(minutes=minutes))


def without_times(answer):
    return re.sub(r"[\dT:.+-]{5,}", "", answer.content.decode().split("<main")[1])


def entered():
    sign_in_log.record_failures(timezone.now() + timedelta(minutes=1))
    return [entry for entry in latest() if entry.event == "signin.locked"]


@pytest.mark.requirement("R19")
def test_the_fifth_failure_causes_a_lockout_and_the_page_shows_its_end(client, mara):
    assert fail(client, 4).status_code == 200
    answer = fail(client, 1)
    assert answer.status_code == 429
    until = lockout.get_locked_until(lockout.AttemptCount(lockout.Kind.NAME, "mara"))
    assert f"{until:%H:%M} UTC" in answer.content.decode()
    assert re.search(r"in \d+ minutes?", answer.content.decode())
    assert 0 < int(answer["Retry-After"]) <= 900


@pytest.mark.requirement("R19")
def test_the_correct_password_does_not_end_a_lockout(client, mara):
    fail(client, 5)
    assert sign_in(client).status_code == 429
    assert client.get("/").status_code == 302
    let_pass(15)
    assert sign_in(client).url == "/"


def test_unknown_user_names_are_locked_in_the_same_way(client, mara):
    known, unknown = fail(client, 5), fail(Client(), 5, name="nobody")
    assert unknown.status_code == known.status_code == 429
    assert without_times(unknown) == without_times(known)


def test_attempts_during_a_lockout_do_not_extend_it(client, mara):
    fail(client, 5)
    until = Tries.objects.get(kind="name").ends_at
    fail(client, 3)
    assert Tries.objects.get(kind="name").ends_at == until


@pytest.mark.parametrize("name", ["MARA", "Mara"])
def test_upper_case_letters_do_not_avoid_a_lockout(client, mara, name):
    fail(client, 3)
    assert fail(client, 2, name=name).status_code == 429


def test_old_failures_are_forgotten(client, mara):
    fail(client, 4)
    let_pass(15)
    assert fail(client, 4).status_code == 200


def test_a_successful_sign_in_resets_the_failures(client, mara):
    fail(client, 4)
    sign_in(client)
    client.post("/logout/")
    assert fail(client, 4).status_code == 200


@pytest.mark.requirement("R19")
def test_a_stranger_cannot_lock_a_person_out_of_a_known_browser(client, mara):
    sign_in(client)
    client.post("/logout/")
    assert fail(Client(), 5, address="203.0.113.9").status_code == 429
    assert sign_in(client).url == "/"
    assert sign_in(Client()).status_code == 429, "anybody else's browser still has to wait"


def test_a_known_browser_has_the_same_number_of_attempts(client, mara):
    sign_in(client)
    client.post("/logout/")
    assert fail(client, 5).status_code == 429
    assert sign_in(client).status_code == 429


def test_a_browser_is_known_only_for_the_people_who_signed_in_with_it(client, mara):
    sign_in(client)
    client.post("/logout/")
    make_user("otto")
    fail(Client(), 5, name="otto")
    assert sign_in(client, "otto").status_code == 429


def test_a_forged_cookie_makes_no_browser_known(client, mara):
    client.cookies["known"] = "forged:by:hand"
    fail(client, 5)
    assert Tries.objects.get(kind="name").is_locked


@pytest.mark.requirement("R19")
def test_failures_with_many_names_lock_the_address(client, mara, settings):
    settings.LOCKOUT_ADDRESS_FAILURES = 8
    for number in range(8):
        fail(client, 1, name=f"guess-{number}")
    assert sign_in(client).status_code == 429
    assert sign_in(Client(), address="198.51.100.1").url == "/"


def test_a_successful_sign_in_does_not_reset_the_failures_of_the_address(client, mara, settings):
    settings.LOCKOUT_ADDRESS_FAILURES = 8
    make_user("otto")
    for number in range(8):
        sign_in(Client(), "otto")
        fail(client, 1, name=f"guess-{number}")
    assert sign_in(client).status_code == 429


@pytest.mark.requirement("R19")
def test_a_lockout_is_recorded_once_and_raises_an_alarm(client, mara, caplog):
    raised = []
    lockout.locked.connect(
        lambda lock, **_signal: raised.append(lock), weak=False, dispatch_uid="t"
    )
    try:
        fail(client, 8)
    finally:
        lockout.locked.disconnect(dispatch_uid="t")
    assert [(lock.name, lock.user, lock.address) for lock in raised] == [
        ("mara", mara.actor_name, "192.0.2.7")
    ]
    assert "locked out after too many failures" in caplog.text
    (entry,) = entered()
    assert entry.detail == {
        "name": "mara", "user": mara.actor_name, "address": "192.0.2.7",
        "until": raised[0].until.isoformat(),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.requirement("R05")
def test_lockouts_cannot_fill_the_ledger(db):
    now = timezone.now()
    for number in range(300):
        sign_in_log.count_failure(f"name-{number}", "192.0.2.7", now)
        sign_in_log.count_lockout(f"name-{number}", "192.0.2.7", now)
    assert len(entered()) <= 2 * (sign_in_log.MAX_ROWS_PER_MINUTE + 1)


def test_expired_lockouts_leave_no_rows(client, mara):
    for number in range(10):
        fail(client, 1, name=f"guess-{number}")
    let_pass(15)
    fail(client, 1)
    assert {row.value for row in Tries.objects.all()} == {"mara", "192.0.2.7"}


@pytest.mark.requirement("R19")
def test_an_administrator_unlocks_an_account_with_a_reason(client, mara):
    fail(client, 5)
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    people = "/admin/clinical_sites/user/"
    assert "Locked" in ada.get(people).content.decode()
    form = {"action": "unlock", "_selected_action": [mara.pk], "index": 0}
    ada.post(people, form)
    assert sign_in(client).status_code == 429, "no reason was given"
    ada.post(people, form | {"reason_for_change": WHY})
    assert sign_in(client).url == "/"
    entry = next(each for each in list_entries(mara.actor_name) if each.event == "user.changed")
    assert entry.detail["reason"] == WHY
    assert entry.detail["changes"]["locked_until"]["new"] is None


@pytest.mark.requirement("R24")
def test_wrong_passwords_in_an_open_session_cause_a_lockout(client, mara, site):
    client.force_login(mara)
    wrong = {"old": "wrong", "new": "a heron in the reeds", "repeated": "a heron in the reeds"}
    for _ in range(5):
        answer = client.post("/password/", wrong)
    assert "Too many wrong attempts" in answer.content.decode()
    right = client.post("/password/", wrong | {"old": "correct horse"})
    assert "Too many wrong attempts" in right.content.decode()
    assert [each.event for each in list_entries(mara.actor_name)] == ["user.locked"]


def at_once(attempt, count):
    """Call `attempt` in several threads at the same time, and return all results."""

    def one():
        try:
            return attempt()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as threads:
        return [each.result() for each in [threads.submit(one) for _ in range(count)]]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("R19")
def test_simultaneous_attempts_are_counted_before_a_password_is_checked():
    person = make_user("mara")
    looked_at = Counter()
    all_have_begun = threading.Event()

    def proof():
        looked_at["password"] += 1  # of the proofs that are let through, all wait here together
        all_have_begun.wait(2)
        return False

    def attempt():
        with pytest.raises(lockout.ProofRefused) as refused:
            lockout.require_proof(person, proof)
        return refused.value.until

    until = at_once(attempt, 12)
    assert looked_at["password"] == 5
    assert sum(each is not None for each in until) >= 8  # the fifth, and those not looked at
    assert Tries.objects.get(kind=lockout.Kind.PERSON).is_locked


@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("R19")
def test_no_more_than_the_limit_of_simultaneous_sign_ins_is_checked(monkeypatch):
    make_user("mara")
    looked_at = []
    check = User.check_password
    monkeypatch.setattr(
        User, "check_password", lambda self, typed: looked_at.append(typed) or check(self, typed)
    )
    answers = at_once(lambda: sign_in(Client(), typed="wrong").status_code, 12)
    assert len(looked_at) == 5
    assert answers.count(429) >= 8  # the fifth failure, and those that were not looked at
    assert sign_in(Client()).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_simultaneous_sign_ins_of_several_people_do_not_lock_their_address(settings):
    settings.LOCKOUT_ADDRESS_FAILURES = 6
    names = [make_user(f"person-{number}").username for number in range(6)]
    queue = iter(names * 2)
    answers = at_once(lambda: sign_in(Client(), next(queue)).status_code, 4)
    answers += [sign_in(Client(), name).status_code for name in names]
    assert set(answers) == {302}
    assert not Tries.objects.filter(failures__gt=0).exists()


def test_a_correct_password_that_awaits_a_code_is_no_failure(client, mara, settings):
    User.objects.filter(pk=mara.pk).update(second_factor_since=timezone.now())
    for _ in range(7):
        assert sign_in(Client()).status_code == 302
    assert not Tries.objects.filter(failures__gt=0).exists()
