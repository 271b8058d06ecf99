"""Staff of each role, and some documents."""

import pytest
from django.contrib.auth.models import Group

from tests.factories import make_site, make_user
from tests.web.scenes import FILED, REJECTED, make_packet


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.STATIC_ROOT = tmp_path / "static"  # WhiteNoise walks through it, and warns without it
    settings.STATIC_ROOT.mkdir()


@pytest.fixture
def site(db):
    return make_site("0203")


@pytest.fixture
def packet(site):
    return make_packet(site, make_user("mara", sites=(site,)), FILED, REJECTED)


@pytest.fixture
def as_role(client, db):
    """`as_role("Operations")` signs in a person with this role; "" stands for administrators."""

    def sign_in(role):
        user = make_user(is_staff=True, is_superuser=not role)
        user.groups.set(Group.objects.filter(name=role))
        client.force_login(user)
        return client

    return sign_in
