"""Staff of each role, a packet, and a worker for jobs of the ledger."""

import pytest
from django.contrib.auth.models import Group

from audit import background_jobs
from audit.ledger.actors import Actor
from audit.signing import key_rotation
from tests.factories import make_user
from tests.web.scenes import FILED, REJECTED, make_packet


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)


@pytest.fixture
def as_role(client, db):
    """`as_role("Operations")` signs in a person with this role; "" stands for administrators."""

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


@pytest.fixture(autouse=True)
def own_folders(settings, tmp_path):
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.EXPORT_DIR = tmp_path / "exports"


@pytest.fixture
def work(db):
    """`work()` runs the waiting jobs, as a worker does."""
    key_rotation.create_key(by=Actor.software("tests", "operations"))

    def work():
        while background_jobs.run_next_job():
            pass

    return work
