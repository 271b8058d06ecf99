"""A default deployment passes Django's checks, and every response has security headers."""

import io

import pytest
from django.core.management import call_command
from django.test import Client

from tests.api.conftest import make_token
from tests.config import production
from tests.factories import make_site, make_user
from tests.ingestion.review.reviewers import sender
from tests.web.scenes import FILED

FILE_POLICY = {"default-src 'none'", "frame-ancestors 'none'", "sandbox"}
POLICY = {
    "default-src 'self'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
    "font-src 'self'", "connect-src 'self'", "object-src 'none'", "base-uri 'none'",
    "form-action 'self'", "frame-ancestors 'none'",
}  # fmt: skip
A_YEAR = 31_536_000


class Secured(Client):
    def generic(self, *args, **options):
        return super().generic(*args, **options | {"secure": True})


@pytest.fixture(scope="module")
def guards(tmp_path_factory):
    return production.guards(tmp_path_factory.mktemp("data"))


@pytest.fixture
def deployed(settings, tmp_path, guards):
    """`deployed(user)` returns a client of the person over HTTPS."""
    for name, value in guards.items():
        setattr(settings, name, value)
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.SPOOL_DIR.mkdir()

    def browser(user=None, **options):
        client = Secured(raise_request_exception=False, **options)
        if user:
            client.force_login(user, "sites.backends.People")
        return client

    return browser


@pytest.fixture
def document(db, settings, deployed):
    site = make_site("0203")
    return sender(site, make_user("mara", sites=(site,)), settings.SPOOL_DIR)(FILED)


def sender_of(document):
    return document.batch.submitted_by


@pytest.mark.requirement("R15")
def test_the_deployment_checks_report_only_the_missing_independent_anchor(db, settings, tmp_path):
    settings.AUDIT_KEY_FILE, settings.ANCHOR_DIR = tmp_path / "keys/audit.pem", tmp_path / "anchors"
    call_command("audit_keys", "create", stdout=io.StringIO())
    completed = production.run(tmp_path, "manage.py", "check", "--deploy")
    assert completed.returncode == 0, completed.stderr
    assert production.warnings(completed) == ["audit.W011"]


@pytest.mark.slow
def test_a_deployment_without_a_secret_key_is_refused(settings, tmp_path):
    completed = production.run(tmp_path, "manage.py", "check", "--deploy", SECRET_KEY="")
    assert completed.returncode == 1
    assert "config.E001" in completed.stderr


def assert_guarded(answer):
    assert answer.getvalue() or answer.status_code == 302  # read to its end: its file is closed
    sent = answer.headers
    is_page = sent.get("Content-Type", "text/html").startswith("text/html")
    assert set(sent["Content-Security-Policy"].split("; ")) == (POLICY if is_page else FILE_POLICY)
    assert sent["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in sent["Permissions-Policy"]
    assert sent["X-Content-Type-Options"] == "nosniff"
    assert sent["X-Frame-Options"] == "DENY"
    assert sent["Referrer-Policy"] == "same-origin"
    assert sent["Cross-Origin-Opener-Policy"] == "same-origin"
    assert sent["Strict-Transport-Security"] == f"max-age={A_YEAR}; includeSubDomains; preload"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/login/", 200), ("/", 302), ("/admin/", 302), ("/nothing/here/", 404),
        ("/api/v1/documents", 401), ("/api/v1/nothing", 404), ("/api/v1/docs", 200),
        ("/healthz", 200),
    ],
)  # fmt: skip
def test_every_response_to_a_stranger_has_security_headers(db, deployed, path, status):
    answer = deployed().get(path)
    assert answer.status_code == status
    assert_guarded(answer)


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/admin/review/", 403)])
def test_every_page_and_every_refusal_has_security_headers(document, deployed, path, status):
    answer = deployed(sender_of(document)).get(path)
    assert answer.status_code == status
    assert_guarded(answer)


def test_a_form_without_its_token_is_refused_with_security_headers(document, deployed):
    answer = deployed(enforce_csrf_checks=True).post("/login/", {"username": "mara"})
    assert answer.status_code == 403
    assert_guarded(answer)


def test_an_internal_error_has_security_headers_and_discloses_nothing(document, deployed, settings):
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    answer = deployed(sender_of(document)).get(f"/documents/{document.pk}/file/")
    assert answer.status_code == 500
    assert_guarded(answer)
    assert "AUDIT_TRAIL" not in answer.content.decode()


@pytest.mark.parametrize("what", ["/documents/{}/file/", "/packets/{}/receipt/"])
def test_a_file_is_an_attachment_with_the_declared_media_type(document, deployed, what):
    key = document.pk if "documents" in what else document.packet.reference
    answer = deployed(sender_of(document)).get(what.format(key))
    assert answer.status_code == 200
    assert_guarded(answer)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_file_for_programs_is_an_attachment_with_the_declared_media_type(document, deployed):
    _, secret = make_token(site=document.site)
    path = f"/api/v1/documents/{document.pk}/content"
    answer = deployed().get(path, headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    assert_guarded(answer)
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_plain_http_is_redirected_to_https(db, deployed):
    answer = Client().get("/login/")
    assert (answer.status_code, answer.url) == (301, "https://testserver/login/")


def test_no_cookie_is_sent_over_plain_http_or_to_another_site(document, deployed):
    browser = deployed()
    browser.post("/login/", {"username": "mara", "password": "correct horse"})
    cookies = browser.cookies
    assert {"sessionid", "known"} <= cookies.keys()
    for name, cookie in cookies.items():
        assert cookie["secure"], name
        assert cookie["samesite"] in {"Lax", "Strict"}, name
        # transport.js reads that one, and it opens nothing by itself.
        assert cookie["httponly"] or name == "csrftoken", name
