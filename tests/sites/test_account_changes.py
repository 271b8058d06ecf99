"""Tests of the ledger entries of accounts that commands create and change."""

import subprocess
import sys

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from audit.ledger.actors import add_process, drop_process
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from ingestion import roles
from sites.models import Membership, User
from tests.audit.support import write
from tests.factories import make_site
from tests.ingestion.hosts import environment

NEW = "horse battery staple"


def manage(settings, *command, **variables):
    """Run a management command in its own process, as in a shell."""
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env=environment(settings) | variables,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("R09")
def test_createsuperuser_records_the_new_administrator_and_the_user_of_the_system(settings):
    manage(
        settings, "createsuperuser", "--noinput", "--username", "ada", "--email", "a@b.example",
        SUDO_USER="otto", DJANGO_SUPERUSER_PASSWORD=NEW,
    )  # fmt: skip
    person = User.objects.get(username="ada")
    assert person.check_password(NEW)
    (entry,) = list_entries(person.actor_name)
    assert (entry.event, entry.role) == ("user.created", "operations")
    assert drop_process(entry.actor) == "system:createsuperuser"
    assert entry.detail["os_user"] == "otto"
    assert entry.detail["host"]
    changes = entry.detail["changes"]
    assert changes["is_superuser"] == {"old": None, "new": "True"}
    assert changes["email"]["new"] == "a@b.example"
    assert changes["password"] == {"old": "(not shown)", "new": "(not shown)"}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.requirement("R40")
def test_changes_by_a_command_are_recorded_with_the_command_and_the_user_of_the_system(
    settings, tmp_path
):
    site_file = tmp_path / "sites.json"
    site_file.write_text(
        '[{"study": "SLX-301", "site_id": "0203", "name": "St. Brigid\'s", "country": "Ireland",'
        ' "portal": {"base_url": "https://portal.example/"}}]'
    )
    manage(settings, "load_sites", str(site_file), SUDO_USER="", USER="otto")
    entries = latest()
    (actor,) = {entry.actor for entry in entries}
    assert drop_process(actor) == "system:load_sites"
    own, other = (name.partition("@")[2] for name in (add_process("system:tests"), actor))
    assert own.split("/")[0] == other.split("/")[0], "the same host"
    assert own != other, "another process"
    assert {entry.detail["os_user"] for entry in entries} == {"otto"}


@pytest.mark.django_db
@pytest.mark.requirement("R09")
def test_demo_users_records_each_account_once_and_later_only_differences(settings):
    settings.DEBUG = True
    make_site("0001")
    call_command("demo_users")
    assert [entry.event for entry in latest()] == ["user.created"] * 9
    call_command("demo_users")
    assert len(latest()) == 9, "the second run changed nothing"
    mara = User.objects.get(username="mara")
    mara.groups.set(Group.objects.filter(name="Operations"))
    Membership.objects.all().delete()
    call_command("demo_users")
    changes = list_entries(mara.actor_name)[-1].detail["changes"]
    assert changes == {
        "groups": {"old": ["Operations"], "new": []},
        "sites": {"old": [], "new": ["0001"]},
    }


@pytest.mark.django_db
@pytest.mark.requirement("R09")
@pytest.mark.requirement("R35")
def test_a_change_of_a_role_by_an_upgrade_is_recorded(monkeypatch):
    write()
    narrower = {**roles.ROLES, "Operations": frozenset({"ingestion.retry_document"})}
    monkeypatch.setattr(roles, "ROLES", narrower)
    roles.install()
    entry = latest(limit=1)[0]
    assert (entry.event, entry.detail["object"]) == ("group.changed", "Operations")
    changes = entry.detail["changes"]["permissions"]
    assert changes["new"] == ["ingestion.retry_document"]
    assert "clinical_sites.change_portal" in changes["old"]
    roles.install()
    assert len(latest()) == 2, "the second call changed nothing"


@pytest.mark.django_db
def test_the_roles_of_a_new_installation_cause_no_entries():
    Group.objects.all().delete()
    roles.install()
    assert Group.objects.count() == len(roles.ROLES)
    assert latest() == []
