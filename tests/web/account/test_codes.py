"""Multi-factor authentication: setup, sign-in with a code, and roles that require it."""

import time

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.ledger.queries import list_entries
from sites.models import User
from tests.factories import make_user

pytestmark = pytest.mark.django_db
WHY = "Her phone fell into the sea; she came by."


def code_of(person, *, confirmed=True, later=0):
    """Return the code of the app, `later` steps in the future, because each code works once."""
    device = TOTPDevice.objects.get(user=person, confirmed=confirmed)
    totp = TOTP(device.bin_key)
    totp.time = time.time() + later * 30
    return f"{totp.token():06}"


def set_up(client, person, **given):
    client.get("/account/code/")
    typed = {"code": code_of(person, confirmed=False), "password": "correct horse"}
    return client.post("/account/code/", typed | given)


@pytest.fixture
def with_code(client, mara):
    """Set up a device for Mara, and return her recovery codes."""
    client.force_login(mara)
    answer = set_up(client, mara)
    client.post("/logout/")
    return answer.context["codes"]


def password(client, **given):
    return client.post("/login/", {"username": "mara", "password": "correct horse"} | given)


@pytest.mark.requirement("R21")
def test_the_setup_shows_a_qr_code_a_key_and_recovery_codes(client, mara):
    client.force_login(mara)
    page = client.get("/account/code/").content.decode()
    assert "<svg" in page
    assert "style=" not in page.split("<main")[1]
    answer = set_up(client, mara)
    codes = answer.context["codes"]
    assert len(set(codes)) == 10
    assert all(code in answer.content.decode() for code in codes)
    mara.refresh_from_db()
    assert mara.second_factor_since
    assert client.get("/").status_code == 200, "who has just shown a code is asked for no other"


@pytest.mark.requirement("R21")
def test_the_setup_is_recorded_without_the_key(client, mara, with_code):
    entry = next(each for each in list_entries(mara.actor_name) if each.event == "user.changed")
    assert entry.detail["changes"]["key"] == {"old": None, "new": "(not shown)"}
    key = TOTPDevice.objects.get(user=mara).key
    assert key not in str(entry)


def test_recovery_codes_are_stored_as_hashes(with_code):
    kept = set(StaticToken.objects.values_list("token", flat=True))
    assert not kept & {code.replace(" ", "") for code in with_code}


@pytest.mark.parametrize("given", [{"code": "000000"}, {"password": "wrong"}])
def test_the_setup_needs_the_code_and_the_password(client, mara, given):
    client.force_login(mara)
    assert set_up(client, mara, **given).status_code == 400
    mara.refresh_from_db()
    assert mara.second_factor_since is None


@pytest.mark.requirement("R21")
def test_the_password_alone_is_no_longer_sufficient_to_sign_in(client, mara, with_code):
    answer = password(client, next="/packets/new/")
    assert answer.url == "/login/code/?next=/packets/new/"
    assert client.get("/").url == "/login/?next=/"
    done = client.post(answer.url, {"code": code_of(mara, later=1)})
    assert done.url == "/packets/new/"
    assert client.get("/").status_code == 200
    assert list_entries(mara.actor_name)[-1].detail["second_factor"] == "an app"


def test_each_code_works_once(client, mara, with_code):
    code = code_of(mara, later=1)
    password(client)
    client.post("/login/code/", {"code": code})
    client.post("/logout/")
    password(client)
    assert client.post("/login/code/", {"code": code}).status_code == 400


def test_each_recovery_code_works_once(client, mara, with_code):
    for status in (302, 400):
        password(client)
        typed = with_code[0].lower().replace(" ", "")
        assert client.post("/login/code/", {"code": typed}).status_code == status
        client.post("/logout/")
    assert "a recovery code" in str([each.detail for each in list_entries(mara.actor_name)])


@pytest.mark.requirement("R19")
def test_wrong_codes_cause_a_lockout(client, mara, with_code):
    password(client)
    for _ in range(5):
        answer = client.post("/login/code/", {"code": "000000"})
    assert answer.status_code == 429
    assert client.post("/login/code/", {"code": code_of(mara, later=1)}).status_code == 429
    password(client)
    assert client.post("/login/code/", {"code": code_of(mara, later=1)}).status_code == 429


def test_the_code_page_requires_the_password_first(client, db):
    assert client.get("/login/code/").url == "/login/"


def test_a_session_without_the_code_ends_when_the_code_is_set_up(client, mara):
    elsewhere = Client()
    elsewhere.force_login(mara)
    client.force_login(mara)
    set_up(client, mara)
    assert elsewhere.get("/").url == "/login/?next=/"
    assert client.get("/").status_code == 200


@pytest.fixture
def quentin(client, settings):
    settings.OTP_REQUIRED_ROLES = ["QA reviewers"]
    person = make_user("quentin", is_staff=True)
    person.groups.add(Group.objects.get(name="QA reviewers"))
    client.force_login(person)
    return person


@pytest.mark.requirement("R21")
def test_people_whose_role_requires_a_code_must_set_it_up_first(client, quentin):
    for page in ("/admin/", "/account/", "/admin/audit/"):
        assert client.get(page).url.startswith("/account/code/?next=")
    assert client.post("/admin/ingestion/document/").url.startswith("/account/code/")
    set_up(client, quentin)
    assert client.get("/admin/").status_code == 200


@pytest.mark.requirement("R21")
def test_a_code_can_be_required_for_administrators_and_coordinators(client, mara, settings):
    settings.OTP_REQUIRED_ROLES = ["Site coordinators"]
    client.force_login(mara)
    assert client.get("/").url == "/account/code/?next=/"


@pytest.mark.requirement("R21")
def test_an_administrator_removes_a_code_with_a_reason(client, mara, with_code):
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    form = {"action": "reset_second_factor", "_selected_action": [mara.pk], "index": 0}
    ada.post("/admin/clinical_sites/user/", form | {"reason_for_change": WHY})
    assert password(client).url == "/"
    entry = [each for each in list_entries(mara.actor_name) if each.event == "user.changed"][-1]
    assert entry.detail["reason"] == WHY
    assert entry.detail["changes"]["key"] == {"old": "(not shown)", "new": None}
    assert not StaticToken.objects.exists()


def test_nobody_can_see_keys_in_the_admin(client, db):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True))
    for page in ("otp_totp/totpdevice", "otp_static/staticdevice"):
        assert client.get(f"/admin/{page}/").status_code == 404


def test_a_new_setup_invalidates_the_old_code_and_its_recovery_codes(client, mara, with_code):
    password(client)
    client.post("/login/code/", {"code": with_code[0]})
    client.get("/account/code/")
    new = code_of(mara, confirmed=False)
    client.post("/account/code/", {"code": new, "password": "correct horse"})
    client.post("/logout/")
    password(client)
    assert client.post("/login/code/", {"code": with_code[1]}).status_code == 400
    assert User.objects.get(pk=mara.pk).second_factor_since
