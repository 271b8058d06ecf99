"""Changes of sites, portals and people need a permission, and are recorded."""

import pytest
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_post_migrate_signal

from audit.ledger.queries import list_entries
from ingestion import roles
from ingestion.roles import ROLES
from sites.models import Membership, Site, User
from sites.models.legal_holds import LegalHold
from tests.factories import make_site, make_user

NEW = "horse battery staple"
WHY = "Asked for by the sponsor in ticket 4711."


def site_form(site, **changes):
    fields = {"name": site.name, "country": site.country}
    inline = {"TOTAL_FORMS": 0, "INITIAL_FORMS": 0}
    keys = {"study": site.study_id, "portal": site.portal_id}
    formset = {f"memberships-{name}": value for name, value in inline.items()}
    return fields | keys | formset | {"reason_for_change": WHY} | changes


def person_form(person, *sites, **changes):
    fields = {"printed_name": person.printed_name, "email": person.email, "is_active": "on"}
    inline = {"TOTAL_FORMS": len(sites), "INITIAL_FORMS": 0}
    formset = {f"memberships-{name}": value for name, value in inline.items()}
    for number, site in enumerate(sites):
        formset |= {f"memberships-{number}-site": site.pk, f"memberships-{number}-user": person.pk}
    return fields | formset | {"reason_for_change": WHY} | changes


def test_the_ledger_records_the_old_and_new_values_of_a_changed_site(as_role, site):
    address = f"/admin/clinical_sites/site/{site.pk}/change/"
    as_role("Operations").post(address, site_form(site, name="St. Brigid's"))
    assert Site.objects.get().name == "St. Brigid's"
    entry = list_entries(f"site:{site.pk}")[-1]
    assert (entry.event, entry.site) == ("site.changed", "0203")
    assert entry.detail["changes"]["name"] == {"old": site.name, "new": "St. Brigid's"}


def test_the_number_of_a_site_cannot_be_changed(as_role, site):
    address = f"/admin/clinical_sites/site/{site.pk}/change/"
    as_role("Operations").post(address, site_form(site, site_id="0999"))
    assert Site.objects.get().site_id == "0203"


@pytest.mark.requirement("R09")
def test_the_ledger_records_that_a_person_joins_a_site(as_role, site):
    person = make_user("new")
    address = f"/admin/clinical_sites/user/{person.pk}/change/"
    answer = as_role("").post(address, person_form(person, site))
    assert answer.status_code == 302, answer.context["errors"]
    assert Membership.objects.get().site == site
    assert list_entries(f"user:{person.pk}")[-1].event == "user.changed"


@pytest.mark.requirement("R09")
def test_the_ledger_records_a_new_person(as_role):
    form = {"username": "otto", "printed_name": "Otto", "email": "",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    assert as_role("").post("/admin/clinical_sites/user/add/", form).status_code == 302
    person = User.objects.get(username="otto")
    assert [entry.event for entry in list_entries(person.actor_name)] == ["user.created"]


def test_people_cannot_be_renamed_or_deleted(as_role):
    person, client = make_user("new"), as_role("")
    address = f"/admin/clinical_sites/user/{person.pk}"
    client.post(f"{address}/change/", person_form(person, username="other"))
    assert client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert User.objects.filter(username="new").exists()


@pytest.mark.parametrize(
    ("role", "changes_sites", "sees_people"),
    [("QA reviewers", 0, 0), ("Regulatory affairs", 0, 1), ("Operations", 1, 0)],
)
def test_each_role_has_the_permissions_for_its_work(
    as_role, site, role, changes_sites, sees_people
):
    client = as_role(role)
    page = client.get(f"/admin/clinical_sites/site/{site.pk}/change/").content.decode()
    assert ('name="_save"' in page) == changes_sites
    people = client.get("/admin/clinical_sites/user/").status_code
    assert people == (200 if sees_people else 403)
    assert client.get("/admin/auth/group/").status_code == 404


HOLDS, STUDY = "/admin/clinical_sites/legalhold/", "/admin/clinical_sites/study/{}/change/"
INQUIRY = "The FDA has announced an inspection."


@pytest.mark.requirement("R14")
def test_regulatory_affairs_set_and_lift_legal_holds_with_reasons(as_role, site):
    client, study = as_role("Regulatory affairs"), site.study
    client.post(f"{HOLDS}add/", {"study": study.pk, "reason": INQUIRY})
    hold = LegalHold.objects.get()
    address = f"{HOLDS}{hold.pk}/change/"
    assert client.post(address, {"lifted_because": "over"}).status_code == 200, "too short"
    assert LegalHold.objects.in_force().exists()
    client.post(address, {"lifted_because": "The inspection is over."})
    assert not LegalHold.objects.in_force().exists()
    set_, lifted = list_entries(f"legalhold:{hold.pk}")
    person = User.objects.get(is_staff=True)
    assert (set_.event, set_.actor) == ("legalhold.created", person.actor_name)
    assert set_.detail["changes"]["reason"]["new"] == INQUIRY
    assert (lifted.event, lifted.actor) == ("legalhold.changed", person.actor_name)
    assert lifted.detail["reason"] == "The inspection is over."
    assert (hold.study, LegalHold.objects.get().lifted_by) == (study, person)
    assert 'name="_save"' not in client.get(address).content.decode(), "a lifted one stays as it is"
    assert client.post(f"{HOLDS}{hold.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.requirement("R14")
@pytest.mark.parametrize(("role", "sees"), [("QA reviewers", 200), ("Operations", 403)])
def test_other_roles_cannot_set_or_lift_legal_holds(as_role, site, role, sees):
    hold = LegalHold.objects.create(study=site.study, reason=INQUIRY, set_by=make_user())
    client = as_role(role)
    assert client.get(f"{HOLDS}{hold.pk}/change/").status_code == sees
    sent = {"lifted_because": "The inspection is over."}
    assert client.post(f"{HOLDS}{hold.pk}/change/", sent).status_code == 403
    assert (
        client.post(f"{HOLDS}add/", {"study": site.study_id, "reason": INQUIRY}).status_code == 403
    )
    assert LegalHold.objects.in_force().count() == 1


@pytest.mark.requirement("R14")
def test_regulatory_affairs_set_the_end_and_the_retention_of_a_study(as_role, site):
    study = site.study
    sent = {"protocol_number": study.protocol_number, "reason_for_change": WHY}
    terms = {"ended_on": "2026-03-02", "retention_years": 30}
    as_role("Regulatory affairs").post(STUDY.format(study.pk), sent | terms)
    study.refresh_from_db()
    assert str(study.retained_until) == "2056-03-02"
    page = as_role("Regulatory affairs").get(STUDY.format(study.pk)).content.decode()
    assert 'value="2026-03-02"' in page, "a day that is the same day in every country"
    changes = list_entries(f"study:{study.pk}")[-1].detail["changes"]
    assert changes["ended_on"] == {"old": None, "new": "2026-03-02"}
    assert changes["retention_years"] == {"old": None, "new": "30"}


def test_installing_roles_again_restores_their_permissions(db):
    roles.install()
    group = roles.Group.objects.get(name="Operations")
    group.permissions.clear()
    roles.install()
    assert group.permissions.count() == len(ROLES["Operations"])
    assert roles.Group.objects.count() == len(ROLES)


def test_one_migration_creates_all_permissions_of_the_roles(db):
    roles.Group.objects.all().delete()
    roles.Permission.objects.all().delete()
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    for name, permissions in ROLES.items():
        given = roles.Group.objects.get(name=name).permissions.select_related("content_type")
        assert {f"{each.content_type.app_label}.{each.codename}" for each in given} == permissions


def test_demo_users_can_sign_in_and_belong_to_sites(client, db, settings, capsys):
    settings.DEBUG = True
    first, second = make_site("0001"), make_site("0002")
    call_command("demo_users")
    call_command("demo_users")
    printed = capsys.readouterr().out
    assert client.login(username="mara", password="try-siteledger")
    assert list(Site.objects.filter(memberships__user__username="mara")) == [first]
    assert Site.objects.filter(memberships__user__username="jonas", pk=second.pk).exists()
    assert all(name in printed for name in ("mara", "QA reviewers", "try-siteledger", "0001"))


def test_demo_users_are_refused_in_production(db):
    with pytest.raises(CommandError, match="public passwords"):
        call_command("demo_users")
    assert not User.objects.exists()


def test_demo_users_without_sites_are_refused_with_advice(db, settings, capsys):
    settings.DEBUG = True
    call_command("demo_users")
    assert "There are no sites yet" in capsys.readouterr().out
