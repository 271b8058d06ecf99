"""Tests of the validation of passwords: common and published ones are refused."""

import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from sites.models import User
from tests.socket_servers import serving

MARA = User(username="mara", printed_name="Mara Lindqvist", email="mara@site.example")
GOOD = "a heron in the reeds"


def error_codes(password):
    try:
        validate_password(password, MARA)
    except ValidationError as refused:
        return {error.code for error in refused.error_list}
    return set()


@pytest.mark.requirement("R19")
@pytest.mark.parametrize(
    "password",
    [
        "Password1234!",
        "P@ssw0rd1234",
        "passwordpassword",
        "qwertyuiop12",
        "abcdefghijkl",
        "letmeinletmein",
        "iloveyou1234",
        "Welcome2Hospital",
        "SiteLedger2026",
        "lindqvist2026",
    ],
)
def test_a_variant_of_a_common_password_is_refused(password):
    assert "password_guessable" in error_codes(password)


@pytest.mark.parametrize("password", [GOOD, "Tr0ub4dour&3xyz", "x9$Kp2!vQw7z", "ünïcode reiher 7"])
def test_a_password_that_is_hard_to_guess_is_accepted(password):
    assert error_codes(password) == set()


@pytest.fixture
def service(settings):
    """Run a breach service. Yield its known passwords with counts, and the requested paths."""
    known = {GOOD: 17, "x9$Kp2!vQw7z": 0}
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            lines = []
            for password, count in known.items():
                digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
                if digest.startswith(self.path[-5:]):
                    lines.append(f"{digest[5:]}:{count}")
            self.send_response(200 if known else 503)
            self.end_headers()
            self.wfile.write("\r\n".join(["0" * 35 + ":3", *lines]).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    settings.PASSWORD_BREACH_SERVICE = f"http://127.0.0.1:{server.server_port}/range/"
    with serving(server):
        yield known, requests


def test_a_published_password_is_refused_and_not_sent_to_the_service(service):
    _known, requests = service
    assert error_codes(GOOD) == {"password_published"}
    digest = hashlib.sha1(GOOD.encode(), usedforsecurity=False).hexdigest().upper()
    assert requests == [f"/range/{digest[:5]}"]


def test_a_password_with_a_count_of_zero_is_accepted(service):
    assert error_codes("x9$Kp2!vQw7z") == set()


def test_an_unavailable_service_is_logged_and_refuses_no_password(service, settings, caplog):
    known, _requests = service
    known.clear()
    assert error_codes(GOOD) == set()
    assert "the breach service did not answer" in caplog.text
    settings.PASSWORD_BREACH_SERVICE = "http://127.0.0.1:9/range"
    assert error_codes(GOOD) == set()


def test_no_breach_service_is_used_by_default(settings):
    assert settings.PASSWORD_BREACH_SERVICE == ""
    assert error_codes(GOOD) == set()
