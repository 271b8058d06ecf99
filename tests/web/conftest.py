"""People of one site, and people of other sites."""

import pytest
from django.contrib.auth.models import Group

from tests.factories import make_site, make_staff, make_user
from tests.ingestion.review.reviewers import sender
from tests.ledger_check import _the_ledger_holds  # noqa: F401 - an autouse fixture


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"
    settings.STATIC_ROOT = tmp_path / "static"  # WhiteNoise walks through it, and warns without it
    settings.STATIC_ROOT.mkdir()
    settings.GUESS_SECONDS = 0  # detection takes seconds, and only its own tests need it


@pytest.fixture
def signed_in(client, mara):
    client.force_login(mara)
    return client


@pytest.fixture
def sent(site, mara, tmp_path):
    return sender(site, mara, tmp_path)


@pytest.fixture
def as_role(client, db):
    """`as_role("Operations")` signs in a person with this role; "" stands for administrators."""

    def sign_in(role, **columns):
        user = make_user(is_staff=True, is_superuser=not role, **columns)
        user.groups.set(Group.objects.filter(name=role))
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def stranger(client):
    """Return a client of a coordinator of another site."""
    client.force_login(make_user("stranger", sites=(make_site("0999"),)))
    return client


@pytest.fixture
def ines(db):
    return make_staff("Regulatory affairs", "ines")


def text(response):
    """Return the text of a page with single spaces. The page has to have status 200."""
    assert response.status_code == 200
    return " ".join(response.content.decode().split())
