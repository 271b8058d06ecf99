"""Tests of the roles that the ledger records with each action of a person."""

import pytest
from django.contrib.auth.models import Group

from audit.ledger.queries import find_entries as latest
from ingestion.roles import ROLES
from sites.accounts import password_changes
from sites.models import User
from sites.roles import NAMES, NO_ROLE, get_role_label
from tests.factories import make_site, make_staff, make_user

pytestmark = pytest.mark.django_db

GROUPS = {
    "QA reviewers": "QA reviewer",
    "QA leads": "QA lead",
    "Regulatory affairs": "regulatory affairs",
    "Operations": "operations",
    "Auditors": "auditor",
}


def recorded_role(person: User) -> str:
    """Change the person's password, and return the role in the ledger entry of that change."""
    password_changes.change_own_password(person, "horse battery staple")
    return latest(limit=1)[0].role


@pytest.mark.parametrize(("group", "name"), GROUPS.items())
def test_an_entry_names_the_role_of_each_group(group, name):
    assert recorded_role(make_staff(group)) == name


def test_an_entry_names_coordinators_and_administrators():
    assert recorded_role(make_user(sites=(make_site(),))) == "site coordinator"
    assert recorded_role(make_user(is_staff=True, is_superuser=True)) == "administrator"


def test_several_roles_are_named_in_a_fixed_order():
    lead = make_staff("QA leads")
    lead.groups.add(Group.objects.get(name="Operations"), Group.objects.get(name="QA reviewers"))
    assert recorded_role(lead) == "QA lead, QA reviewer, operations"


def test_an_auditor_has_no_other_role():
    auditor = make_staff("Auditors")
    auditor.groups.add(Group.objects.get(name="QA leads"))
    assert recorded_role(auditor) == "auditor"


def test_staff_without_a_group_have_no_role():
    assert recorded_role(make_user(is_staff=True)) == NO_ROLE


def test_an_action_is_recorded_with_the_first_role_that_has_its_permission():
    lead = make_staff("QA leads")
    lead.groups.add(Group.objects.get(name="Operations"), Group.objects.get(name="QA reviewers"))
    assert lead.role_with("ingestion.review_document") == "QA lead"
    assert lead.role_with("ingestion.retry_document") == "operations"
    assert lead.role_with("audit.export_ledger") == lead.role, (
        "none of the roles has this permission"
    )


def test_every_group_has_a_role_name():
    assert ROLES.keys() <= NAMES.keys()


def test_role_names_of_earlier_releases_have_labels():
    assert get_role_label("staff") == "staff, role not recorded"
    assert get_role_label("ops") == "operations"
    assert get_role_label("QA lead") == "QA lead"
