"""Tests of the audited admin, with a model of people (relations, passwords) and of portals."""

import pytest
from django.contrib.admin import AdminSite, ModelAdmin, TabularInline
from django.contrib.auth.models import Group
from django.db import models
from django.test import RequestFactory

from audit.change_tracking.audited_admin import LedgerAdminMixin
from audit.ledger import queries
from audit.ledger.middleware import OriginMiddleware
from audit.models import Entry
from audit.verification.verify import verify_ledger
from sites.models import Membership, Portal, Site, Study, User
from tests.factories import make_user

REASON = "The portal was moved to another host."
PORTAL = {
    "key": "berlin",
    "base_url": "https://portal.example",
    "rate_per_second": "1.0",
    "burst": "1",
    "mirror_order": "0",
    "max_in_flight": "2",
    "timeout_seconds": "30.0",
    "secret_header": "Authorization",
}


class PortalAdmin(LedgerAdminMixin, ModelAdmin):
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}
    list_display = ["key", "rate_per_second"]
    list_editable = ["rate_per_second"]

    def ledger_site(self, obj):
        return obj.key


class MembershipInline(TabularInline):
    model = Membership
    extra = 0


class PersonAdmin(LedgerAdminMixin, ModelAdmin):
    fields = ["username", "password", "groups"]
    inlines = [MembershipInline]


@pytest.fixture
def person(db):
    return make_user("ann", printed_name="Ann Berg", is_staff=True, is_superuser=True)


@pytest.fixture
def post(person, rf: RequestFactory, monkeypatch):
    """Send a form to a view of an admin class, with a reason."""

    def send(admin_class, model, view, data, *args):
        sent = {"reason_for_change": REASON} | data
        request = rf.post("/", sent, REMOTE_ADDR="192.0.2.7", headers={"X-Request-ID": "trace-7"})
        request.user = person
        request._dont_enforce_csrf_checks = True
        admin = admin_class(model, AdminSite())
        monkeypatch.setattr(admin, "message_user", lambda *_args, **_options: None)
        view = getattr(admin, f"{view}_view")
        return OriginMiddleware(lambda request: view(request, *args))(request)

    return send


def last():
    return queries.find_entries(limit=1)[0]


@pytest.mark.requirement("R02")
def test_a_change_is_recorded_with_its_person_and_old_and_new_values(post, person):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    post(PortalAdmin, Portal, "change", PORTAL | {"rate_per_second": "2.5"}, str(portal.pk))
    entry = last()
    assert (entry.event, entry.subject, entry.site) == (
        "portal.changed",
        f"portal:{portal.pk}",
        "berlin",
    )
    assert (entry.actor, entry.role) == (person.actor_name, "administrator")
    assert entry.detail["changes"] == {"rate_per_second": {"old": "1.0", "new": "2.5"}}
    names = ("printed_name", "address", "request_id", "reason")
    assert [entry.detail[name] for name in names] == ["Ann Berg", "192.0.2.7", "trace-7", REASON]


@pytest.mark.requirement("R06")
def test_only_changed_fields_are_recorded_each_with_its_values(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    changed = {"rate_per_second": "2.5", "burst": "7"}
    post(PortalAdmin, Portal, "change", PORTAL | changed, str(portal.pk))
    assert last().detail["changes"] == {
        "rate_per_second": {"old": "1.0", "new": "2.5"},
        "burst": {"old": "1", "new": "7"},
    }


def test_each_change_has_its_own_number(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    for rate in ("2.5", "3.5"):
        post(PortalAdmin, Portal, "change", PORTAL | {"rate_per_second": rate}, str(portal.pk))
    assert Portal.objects.get().revision == 2
    assert len(queries.list_entries(f"portal:{portal.pk}")) == 2


def test_saving_without_a_change_records_nothing(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    post(PortalAdmin, Portal, "change", PORTAL, str(portal.pk))
    assert not Entry.objects.exists()
    assert Portal.objects.get().revision == 0


def test_the_old_value_is_that_of_the_row_and_not_of_an_older_form(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example", burst=7)
    post(PortalAdmin, Portal, "change", PORTAL, str(portal.pk))
    assert last().detail["changes"] == {"burst": {"old": "7", "new": "1"}}


def test_additions_and_deletions_are_recorded_with_all_values(post):
    post(PortalAdmin, Portal, "add", PORTAL)
    portal = Portal.objects.get()
    assert (last().event, last().detail["changes"]["key"]) == (
        "portal.created",
        {"old": None, "new": "berlin"},
    )
    post(PortalAdmin, Portal, "delete", {"post": "yes"}, str(portal.pk))
    assert (last().event, last().detail["changes"]["key"]) == (
        "portal.deleted",
        {"old": "berlin", "new": None},
    )
    assert not Portal.objects.exists()


def test_each_row_that_an_action_deletes_is_recorded(post):
    keys = [Portal.objects.create(key=key, base_url="https://portal.example").pk for key in "ab"]
    action = {"action": "delete_selected", "_selected_action": keys, "post": "yes", "index": 0}
    post(PortalAdmin, Portal, "changelist", action)
    assert [entry.event for entry in queries.find_entries()] == ["portal.deleted", "portal.deleted"]


def test_changes_in_an_editable_list_are_recorded(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    row = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": portal.pk, "_save": "Save"}
    post(PortalAdmin, Portal, "changelist", row | {"form-0-rate_per_second": "4.0"})
    assert last().detail["changes"] == {"rate_per_second": {"old": "1.0", "new": "4.0"}}


def memberships(*rows, initial=0):
    form = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": initial}
    for number, row in enumerate(rows):
        form |= {f"memberships-{number}-{name}": value for name, value in row.items()}
    return form


def make_site(number):
    study, _ = Study.objects.get_or_create(protocol_number="ABC-1")
    portal, _ = Portal.objects.get_or_create(key="p", base_url="https://portal.example")
    return Site.objects.create(
        study=study, portal=portal, site_id=number, name="Charité", country="DE"
    )


@pytest.mark.requirement("R09")
def test_changes_of_groups_and_passwords_are_recorded_without_the_password(post):
    ben = make_user("ben", password="old")
    group = Group.objects.create(name="Night shift")
    form = {"username": "ben", "password": "new", "groups": [group.pk]} | memberships()
    post(PersonAdmin, User, "change", form, str(ben.pk))
    assert last().detail["changes"] == {
        "groups": {"old": [], "new": ["Night shift"]},
        "password": {"old": "(not shown)", "new": "(not shown)"},
    }


@pytest.mark.requirement("R09")
def test_added_changed_and_removed_memberships_are_recorded(post):
    ben, one, two = make_user("ben"), make_site("DE-1"), make_site("DE-2")
    form = {"username": "ben", "password": ben.password}
    post(PersonAdmin, User, "change", form | memberships({"site": one.pk}), str(ben.pk))
    assert last().detail["changes"] == {
        "membership": [{"object": "ben at DE-1", "change": "added"}]
    }
    row = {"id": ben.memberships.get().pk, "user": ben.pk, "site": two.pk}
    post(PersonAdmin, User, "change", form | memberships(row, initial=1), str(ben.pk))
    assert last().detail["changes"]["membership"][0]["change"] == "changed"
    post(
        PersonAdmin,
        User,
        "change",
        form | memberships(row | {"DELETE": "on"}, initial=1),
        str(ben.pk),
    )
    assert last().detail["changes"] == {
        "membership": [{"object": "ben at DE-2", "change": "removed"}]
    }


def test_a_change_that_cannot_be_recorded_is_not_made(post):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    form = PORTAL | {"key": "b" * 80, "rate_per_second": "2.5"}
    PortalAdmin.ledger_site, original = (lambda _self, obj: obj.key * 9), PortalAdmin.ledger_site
    try:
        with pytest.raises(ValueError, match="too long"):
            post(PortalAdmin, Portal, "change", form, str(portal.pk))
    finally:
        PortalAdmin.ledger_site = original
    assert Portal.objects.get().rate_per_second == 1.0


def test_a_get_request_opens_no_ledger_block(person, rf, transactional_db):
    portal = Portal.objects.create(key="berlin", base_url="https://portal.example")
    request = rf.get("/")
    request.user = person
    assert PortalAdmin(Portal, AdminSite()).change_view(request, str(portal.pk)).status_code == 200
    assert verify_ledger().entries == 0
