"""Every address as every person, by every method: let in by the table, or told nothing (R15)."""

import pytest
from django.db import connection

from tests.config import doors
from tests.config.addresses import addresses, path_to
from tests.config.doors import DOORS, INTERFACE
from tests.config.house import make_house

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.requirement("R15"),
    pytest.mark.skipif(connection.vendor == "postgresql", reason="no door depends on the database"),
]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
FORMS_USE = ("GET", "POST")
OTHERS = pytest.param(("HEAD", "PUT", "DELETE"), marks=pytest.mark.slow)
READING = ("GET", "HEAD")
PEOPLE = sorted(doors.EVERYBODY)
# Some are refused in every way between them; how the others are is a slower proof.
REFUSED = [
    pytest.param(who, marks=[] if who in doors.REFUSED_IN_EVERY_WAY else pytest.mark.slow)
    for who in PEOPLE
]
# Between them they open every page.
WHO_OPEN_ALL = {doors.OWN, doors.ADMIN}
WELCOME = [
    pytest.param(who, marks=[] if who in WHO_OPEN_ALL else pytest.mark.slow) for who in PEOPLE
]
FOR_MACHINES = {"healthz", "readyz", "metrics"} | {
    name for name in DOORS if name.startswith("api:")
}


@pytest.fixture
def house(settings, tmp_path, caplog):
    caplog.set_level("CRITICAL", "django.request")  # writing down each refusal takes longest
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR, settings.EXPORT_DIR = tmp_path / "previews", tmp_path / "exports"
    settings.ANCHOR_DIR, settings.AUDIT_KEY_FILE = tmp_path / "anchors", tmp_path / "keys" / "a.pem"
    settings.GUESS_SECONDS = 0
    settings.SPOOL_DIR.mkdir()
    return make_house()


def test_somebody_has_said_of_every_address_who_may_see_it():
    found = {address.name for address in addresses()}
    assert found == DOORS.keys() | INTERFACE.keys()


@pytest.mark.parametrize("who", REFUSED)
@pytest.mark.parametrize("methods", [FORMS_USE, OTHERS], ids=" ".join)
def test_nobody_opens_what_is_not_theirs(house, who, methods):
    client, wrong = house.client(who), []
    for name, path in _pages(house):
        for method in methods:
            if not _may(who, method, name):
                answer = client.generic(method, path)
                if not _is_refused(answer, who, method, name):
                    wrong.append(f"{answer.status_code} {method} {path} ({name})")
                wrong += _told(answer, who, house, f"{method} {path}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("who", WELCOME)
def test_everybody_opens_what_is_theirs(house, who):
    """Else the table would let in people whom the pages do not, and nobody would know."""
    client, wrong = house.client(who), []
    for method in FORMS_USE:
        for name, path in _pages(house):
            if _may(who, method, name):
                answer = client.generic(method, path)
                if not _is_let_in(answer, name):
                    wrong.append(f"{answer.status_code} {method} {path} ({name})")
                wrong += _told(answer, who, house, f"{method} {path}")
                if name.endswith("logout"):
                    client = house.client(who)
    assert not wrong, "\n".join(wrong)


def _pages(house):
    for address in addresses():
        if address.name in DOORS:
            query = house.queries.get(address.name, "")
            yield address.name, path_to(address, house.known) + query


def _may(who, method, name):
    """What is neither of the two methods that people's browsers use is refused or does nothing."""
    door = DOORS[name]
    if method in READING:
        return who in door.see
    return who in (door.send if method == "POST" else door.see | door.send)


def _is_refused(answer, who, method, name):
    door, status = DOORS[name], answer.status_code
    if name in FOR_MACHINES:  # sessions are not looked at
        return status in {door.refused, 405} and status != 403
    if door.refused == 401:  # nobody follows a redirect there
        return status in {401, 403, 404, 405}
    if status == 302 and name.startswith("admin:") and who not in doors.STAFF:
        # The first leads to the second; and who is signed out already, to the door.
        first = "/admin/" if name == "admin:logout" else "/admin/login/"
        return answer.url.startswith((first, "/login/"))
    if who in doors.OUTSIDE:
        return status == 405 if who in door.see | door.send else _is_sign_in(answer)
    if who == doors.AUDITOR and method not in READING:
        return status == 403
    return status in {door.refused, 405}


def _is_sign_in(answer):
    return answer.status_code == 302 and answer.url.startswith("/login/")


def _is_let_in(answer, name):
    if _is_sign_in(answer):
        return name in {"login_code", "logout", "admin:logout"}
    return answer.status_code < 500 and answer.status_code not in {401, 403, 404, 405}


def _told(answer, who, house, asked):
    """What an answer says of the site to somebody who may know nothing of it."""
    text = body(answer).replace(asked.split()[1], "")
    if who in doors.SEE_NOTHING:
        yield from (f"{asked} tells of {sign}" for sign in house.signs if sign in text)


def body(answer):
    """Read to its end, for only then the file behind it is closed."""
    said = b"".join(answer) if answer.streaming else answer.content
    return said.decode(errors="replace")
