"""Each kind of person requests each address with each method (R15)."""

import pytest

from tests.config import access_table
from tests.config.access_table import ACCESS, API_ACCESS
from tests.config.addresses import addresses, path_to
from tests.config.installation import make_installation

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.requirement("R15"),
    pytest.mark.only_on("sqlite", reason="no rule depends on the database"),
]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
FORMS_USE = ("GET", "POST")
OTHERS = pytest.param(("HEAD", "PUT", "DELETE"), marks=pytest.mark.slow)
READING = ("GET", "HEAD")
PEOPLE = sorted(access_table.EVERYBODY)
# That strangers are refused is tested always. How people with a role are is a slower proof.
REFUSED = [
    pytest.param(who, marks=[] if who in access_table.STRANGERS else pytest.mark.slow)
    for who in PEOPLE
]
# Between them they open every page.
WHO_OPEN_ALL = {access_table.OWN, access_table.ADMIN}
WELCOME = [
    pytest.param(who, marks=[] if who in WHO_OPEN_ALL else pytest.mark.slow) for who in PEOPLE
]
FOR_MACHINES = {"healthz", "readyz", "metrics"} | {
    name for name in ACCESS if name.startswith(("api:", "fhir_"))
}


@pytest.fixture
def installation(settings, tmp_path, caplog):
    caplog.set_level("CRITICAL", "django.request")  # writing down each refusal takes longest
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR, settings.EXPORT_DIR = tmp_path / "previews", tmp_path / "exports"
    settings.ANCHOR_DIR, settings.AUDIT_KEY_FILE = tmp_path / "anchors", tmp_path / "keys" / "a.pem"
    settings.GUESS_SECONDS = 0
    settings.SPOOL_DIR.mkdir()
    return make_installation()


def test_every_address_has_a_list_of_roles_that_can_open_it():
    found = {address.name for address in addresses()}
    assert found == ACCESS.keys() | API_ACCESS.keys()


@pytest.mark.parametrize("who", REFUSED)
@pytest.mark.parametrize("methods", [FORMS_USE, OTHERS], ids=" ".join)
def test_nobody_can_open_an_address_without_permission(installation, who, methods):
    client, wrong = installation.client(who), []
    for name, path in _pages(installation):
        for method in methods:
            if not _may(who, method, name):
                answer = client.generic(method, path)
                if not _is_refused(answer, who, method, name):
                    wrong.append(f"{answer.status_code} {method} {path} ({name})")
                wrong += _find_disclosures(answer, who, installation, f"{method} {path}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("who", WELCOME)
def test_everybody_can_open_the_addresses_of_their_role(installation, who):
    """Otherwise the table could permit people whom the pages refuse."""
    client, wrong = installation.client(who), []
    for method in FORMS_USE:
        for name, path in _pages(installation):
            if _may(who, method, name):
                answer = client.generic(method, path)
                if not _is_let_in(answer, name):
                    wrong.append(f"{answer.status_code} {method} {path} ({name})")
                wrong += _find_disclosures(answer, who, installation, f"{method} {path}")
                if name.endswith("logout"):
                    client = installation.client(who)
    assert not wrong, "\n".join(wrong)


def _pages(installation):
    for address in addresses():
        if address.name in ACCESS:
            query = installation.queries.get(address.name, "")
            yield address.name, path_to(address, installation.known) + query


def _may(who, method, name):
    """Return whether the table permits the request. Methods besides GET and POST do nothing."""
    rule = ACCESS[name]
    if method in READING:
        return who in rule.see
    return who in (rule.send if method == "POST" else rule.see | rule.send)


def _is_refused(answer, who, method, name):
    rule, status = ACCESS[name], answer.status_code
    if name in FOR_MACHINES:  # sessions are not looked at
        return status in {rule.refused, 405} and status != 403
    if rule.refused == 401:  # nobody follows a redirect there
        return status in {401, 403, 404, 405}
    if status == 302 and name.startswith("admin:") and who not in access_table.STAFF:
        # The first leads to the second; and who is signed out already, to the rule.
        first = "/admin/" if name == "admin:logout" else "/admin/login/"
        return answer.url.startswith((first, "/login/"))
    if who in access_table.OUTSIDE:
        return status == 405 if who in rule.see | rule.send else _is_sign_in(answer)
    if who == access_table.AUDITOR and method not in READING:
        return status == 403
    return status in {rule.refused, 405}


def _is_sign_in(answer):
    return answer.status_code == 302 and answer.url.startswith("/login/")


def _is_let_in(answer, name):
    if _is_sign_in(answer):
        return name in {"login_code", "logout", "admin:logout"}
    return answer.status_code < 500 and answer.status_code not in {401, 403, 404, 405}


def _find_disclosures(answer, who, installation, asked):
    """Return what a response discloses about the site to a person without access."""
    text = body(answer).replace(asked.split()[1], "")
    if who in access_table.SEE_NOTHING:
        yield from (f"{asked} tells of {sign}" for sign in installation.signs if sign in text)


def body(answer):
    """Read the response to its end, which closes its file."""
    content = b"".join(answer) if answer.streaming else answer.content
    return content.decode(errors="replace")
