"""The interface as every wrong program, and as people who have nothing but a session (R15, R17)."""

import pytest
from django.test import Client

from tests.config import doors
from tests.config.addresses import addresses, path_to
from tests.config.doors import INTERFACE
from tests.config.test_doors import METHODS, body, house

__all__ = ["house"]

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R15"), pytest.mark.requirement("R17")]
SCOPES = [doors.READ, doors.DOWNLOAD, doors.SUBMIT, doors.OPERATE]


def _asked(house):
    """Every address by every method, and the scopes of which one opens it."""
    for address in addresses():
        if address.name in INTERFACE:
            for method in METHODS:
                opened_by = INTERFACE[address.name].get(method, set())
                yield method, path_to(address, house.known), opened_by


def _ask(secret, method, path):
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    headers["x-reason"] = "The site says that its copy is damaged."
    return Client(raise_request_exception=False).generic(method, path, headers=headers)


def _told(house, answer, path):
    text = body(answer).replace(path, "")
    return [sign for sign in house.signs if sign in text]


@pytest.mark.parametrize("who", [doors.NOBODY, doors.OWN, doors.ADMIN])
def test_no_session_opens_it(house, who):
    client = house.client(who)
    for method, path, opened_by in _asked(house):
        answer = client.generic(method, path)
        assert answer.status_code == (401 if opened_by else 405), f"{method} {path}"
        assert not _told(house, answer, path)


def test_a_token_that_is_not_known_opens_nothing(house, settings):
    settings.API_BAD_TOKENS_PER_MINUTE = 1_000
    for method, path, opened_by in _asked(house):
        answer = _ask(f"{house.tokens['own'][:-1]}?", method, path)
        assert answer.status_code == (401 if opened_by else 405), f"{method} {path}"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_opens_what_its_scope_says(house, scope):
    for method, path, opened_by in _asked(house):
        answer = _ask(house.tokens[scope], method, path)
        body(answer)
        status = answer.status_code
        if scope in opened_by:
            assert status not in {401, 403, 405}, f"{method} {path}"
            assert status < 500, f"{method} {path}"
        else:
            assert status == (403 if opened_by else 405), f"{method} {path}"


def test_another_sites_objects_do_not_exist(house):
    for method, path, opened_by in _asked(house):
        answer = _ask(house.tokens["other"], method, path)
        is_list = path.count("/") == 3
        if not is_list and opened_by - {doors.OPERATE}:
            assert answer.status_code == 404, f"{method} {path}"
        assert answer.status_code < 500
        assert not _told(house, answer, path), f"{method} {path}"


def test_who_lost_their_role_has_no_token_either(house):
    house.people[doors.OPS].groups.clear()
    assert _ask(house.tokens["ops"], "GET", "/api/v1/documents").status_code == 401


@pytest.mark.parametrize("path", ["/", "/admin/", "/sites/", "/help/", "/account/"])
def test_a_token_opens_no_page(house, path):
    answer = _ask(house.tokens["ops"], "GET", path)
    assert "/login/?next=" in answer.url
