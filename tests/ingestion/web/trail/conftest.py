"""Staff of each role, a packet to look at, and an office that does its work at once."""

import pytest
from django.contrib.auth.models import Group

from ingestion.web.trail import office
from tests.factories import make_user
from tests.ingestion.web.scenes import FILED, REJECTED, make_packet
from tests.ingestion.web.trail.desk import Desk


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)


@pytest.fixture
def as_role(client, db):
    """`as_role("Operations")` signs in somebody of that group; "" an administrator."""

    def sign_in(role):
        name = role.partition(" ")[0].lower() or "admin"
        user = make_user(name, is_staff=True, is_superuser=not role, printed_name="Rafael Duarte")
        user.groups.set(Group.objects.filter(name=role))
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def affairs(as_role):
    return as_role("Regulatory affairs")


@pytest.fixture
def closed(monkeypatch):
    """Nobody was connected at start."""
    monkeypatch.setattr(office, "_connected", [])


@pytest.fixture
def desk(closed, tmp_path):
    desk = Desk(tmp_path)
    office.connect(desk.office)
    return desk
