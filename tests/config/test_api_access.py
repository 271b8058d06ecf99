"""Access to the API with each scope, with wrong tokens, and with sessions (R15, R17)."""

import pytest
from django.test import Client

from tests.config import access_table
from tests.config.access_table import API_ACCESS
from tests.config.addresses import addresses, path_to
from tests.config.test_access import METHODS, body, installation

__all__ = ["installation"]

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R15"), pytest.mark.requirement("R17")]
SCOPES = [
    access_table.READ,
    access_table.DOWNLOAD,
    access_table.SUBMIT,
    access_table.OPERATE,
    access_table.JOBS,
]


def _asked(installation):
    """Yield each address with each method and the scopes that permit it."""
    for address in addresses():
        if address.name in API_ACCESS:
            for method in METHODS:
                opened_by = API_ACCESS[address.name].get(method, set())
                yield method, path_to(address, installation.known), opened_by


def _ask(secret, method, path):
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    headers["x-reason"] = "The site says that its copy is damaged."
    return Client(raise_request_exception=False).generic(method, path, headers=headers)


def _find_disclosures(installation, answer, path):
    text = body(answer).replace(path, "")
    return [sign for sign in installation.signs if sign in text]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("who", [access_table.NOBODY, access_table.OWN, access_table.ADMIN])
def test_sessions_cannot_open_the_api(installation, who):
    client = installation.client(who)
    for method, path, opened_by in _asked(installation):
        answer = client.generic(method, path)
        assert answer.status_code == (401 if opened_by else 405), f"{method} {path}"
        assert not _find_disclosures(installation, answer, path)


def test_unknown_tokens_are_refused(installation, settings):
    settings.API_BAD_TOKENS_PER_MINUTE = 1_000
    for method, path, opened_by in _asked(installation):
        answer = _ask(f"{installation.tokens['own'][:-1]}?", method, path)
        assert answer.status_code == (401 if opened_by else 405), f"{method} {path}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_can_do_what_its_scopes_permit(installation, scope):
    for method, path, opened_by in _asked(installation):
        answer = _ask(installation.tokens[scope], method, path)
        body(answer)
        status = answer.status_code
        if scope in opened_by:
            assert status not in {401, 403, 405}, f"{method} {path}"
            assert status < 500, f"{method} {path}"
        else:
            assert status == (403 if opened_by else 405), f"{method} {path}"


@pytest.mark.slow
def test_objects_of_another_site_are_not_found(installation):
    for method, path, opened_by in _asked(installation):
        answer = _ask(installation.tokens["other"], method, path)
        is_list = path.count("/") == 3
        if not is_list and opened_by - {access_table.OPERATE, access_table.JOBS}:
            assert answer.status_code == 404, f"{method} {path}"
        assert answer.status_code < 500
        assert not _find_disclosures(installation, answer, path), f"{method} {path}"


def test_a_token_of_a_person_who_lost_the_role_is_refused(installation):
    installation.people[access_table.OPS].groups.clear()
    assert _ask(installation.tokens["ops"], "GET", "/api/v1/documents").status_code == 401


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", ["/", "/admin/", "/sites/", "/help/", "/account/"])
def test_a_token_opens_no_page(installation, path):
    answer = _ask(installation.tokens["ops"], "GET", path)
    assert "/login/?next=" in answer.url
