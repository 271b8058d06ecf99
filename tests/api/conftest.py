"""Fixtures: programs with tokens of two sites and of operations."""

import json
import uuid

import pytest
from django.test import Client
from django.utils import timezone

from api.http.problems import MEDIA_TYPE
from sites.models import ApiToken, TokenScope
from tests.factories import make_site, make_user
from tests.ledger_check import _the_ledger_holds  # noqa: F401 - an autouse fixture


@pytest.fixture(autouse=True)
def _storage(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.STATIC_ROOT = tmp_path / "static"  # WhiteNoise warns if it is missing
    settings.STATIC_ROOT.mkdir()


def make_token(*scopes, **columns):
    """Return a new token and its secret."""
    token = ApiToken(
        approved_at=timezone.now(),
        name="the site's document system",
        scopes=list(scopes or TokenScope),
        **columns,
    )
    secret = token.generate_secret()
    token.save()
    return token, secret


class Program:
    """A client with a token and without cookies. CSRF checks are enforced."""

    def __init__(self, token, secret):
        self.token, self.secret = token, secret
        self._client = Client(enforce_csrf_checks=True)

    def request(self, method, path, **options):
        headers = {"authorization": f"Bearer {self.secret}"} | options.pop("headers", {})
        address = path if path.startswith("/") else f"/api/v1/{path}"
        return self._client.generic(method, address, headers=headers, **options)

    def get(self, path, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("GET", path, headers=headers)

    def submit(self, body, *, key="", **headers):
        """POST /packets with a manifest."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers = {"idempotency-key": key or uuid.uuid4().hex} | headers
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        return self.request(
            "POST", "packets", data=data, content_type="application/json", headers=headers
        )

    def submit_files(self, packet, *, key="", **parts):
        """POST /packets with files."""
        data = {"packet": json.dumps(packet), **parts}
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        headers["authorization"] = f"Bearer {self.secret}"
        return self._client.post("/api/v1/packets", data, headers=headers)


@pytest.fixture
def program(site):
    return Program(*make_token(TokenScope.READ, TokenScope.DOWNLOAD, TokenScope.SUBMIT, site=site))


@pytest.fixture
def other_program(site):
    """A program with a token of another site."""
    return Program(
        *make_token(TokenScope.READ, TokenScope.DOWNLOAD, TokenScope.SUBMIT, site=make_site("0999"))
    )


@pytest.fixture
def ops(db):
    person = make_user("olga", is_staff=True, is_superuser=True)
    return Program(*make_token(user=person))


def line(site, **changes):
    """Return a line of a manifest."""
    doc_id = changes.get("doc_id", "cv-1")
    return {
        "site_id": site.site_id,
        "doc_id": doc_id,
        "url": f"{site.portal.base_url}{doc_id}.pdf",
        "schema_version": "v2.1",
        "document_type": "cv",
    } | changes


@pytest.fixture
def make_line():
    return line


def check_problem(response, status):
    """Check that the response is a problem with this status, and return its body."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == MEDIA_TYPE
    assert "no-store" in response["Cache-Control"]
    body = response.json()
    assert body["status"] == status
    assert body["request_id"] == response["X-Request-ID"]
    assert {"type", "title", "detail", "instance"} <= body.keys()
    return body
