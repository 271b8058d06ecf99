"""The ledger says what a person acted as, in the words of the field."""

import pytest
from django.contrib.auth.models import Group

from audit.ledger.queries import find_entries as latest
from ingestion.roles import ROLES
from sites.accounts import password_changes
from sites.models import User
from sites.roles import NAMES, NO_ROLE, role_label
from tests.factories import make_site, make_staff, make_user

pytestmark = pytest.mark.django_db

GROUPS = {
    "QA reviewers": "QA reviewer",
    "QA leads": "QA lead",
    "Regulatory affairs": "regulatory affairs",
    "Operations": "operations",
    "Auditors": "auditor",
}


def role_on_record(person: User) -> str:
    """The role of the entry that the person's own change leaves."""
    password_changes.change_own(person, "horse battery staple")
    return latest(limit=1)[0].role


@pytest.mark.parametrize(("group", "name"), GROUPS.items())
def test_an_entry_names_the_role_of_each_group(group, name):
    assert role_on_record(make_staff(group)) == name


def test_an_entry_names_coordinators_and_administrators():
    assert role_on_record(make_user(sites=(make_site(),))) == "site coordinator"
    assert role_on_record(make_user(is_staff=True, is_superuser=True)) == "administrator"


def test_several_roles_are_named_in_one_order():
    lead = make_staff("QA leads")
    lead.groups.add(Group.objects.get(name="Operations"), Group.objects.get(name="QA reviewers"))
    assert role_on_record(lead) == "QA lead, QA reviewer, operations"


def test_an_auditor_is_nothing_else():
    auditor = make_staff("Auditors")
    auditor.groups.add(Group.objects.get(name="QA leads"))
    assert role_on_record(auditor) == "auditor"


def test_staff_without_a_group_have_no_role():
    assert role_on_record(make_user(is_staff=True)) == NO_ROLE


def test_who_acts_with_a_permission_acts_in_the_first_role_that_gives_it():
    lead = make_staff("QA leads")
    lead.groups.add(Group.objects.get(name="Operations"), Group.objects.get(name="QA reviewers"))
    assert lead.role_with("ingestion.review_document") == "QA lead"
    assert lead.role_with("ingestion.retry_document") == "operations"
    assert lead.role_with("audit.export_ledger") == lead.role, "none of theirs gives it"


def test_every_group_of_the_product_has_a_name():
    assert ROLES.keys() <= NAMES.keys()


def test_words_of_earlier_releases_are_explained():
    assert role_label("staff") == "staff, role not recorded"
    assert role_label("ops") == "operations"
    assert role_label("QA lead") == "QA lead"
