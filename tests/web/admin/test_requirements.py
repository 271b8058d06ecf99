"""Requirements about documents are changed with a permission and a reason, and recorded."""

import pytest
from django.db import IntegrityError, transaction

from audit.ledger.queries import list_entries
from ingestion.models import RequiredDocument, SiteRequirement, ValidityOverride, Waiver
from ingestion.rules.checks.validity_terms import TermsOverride
from sites.models import Site
from tests.factories import make_user
from tests.web.admin.test_people_and_sites import site_form

WAIVERS = "/admin/ingestion/waiver/"
WHY = "The investigator holds no licence of this state."


@pytest.fixture
def regulatory(as_role):
    return as_role("Regulatory affairs")


def add(client, kind, **form):
    return client.post(f"/admin/ingestion/{kind}/add/", form)


def last(row):
    return list_entries(f"{row._meta.model_name}:{row.pk}")[-1]


def waive(client, site, **form):
    return add(
        client, "waiver",
        **{"site": site.pk, "document_type": "medical-licence", "whose": "", "reason": WHY} | form,
    )  # fmt: skip


def override(client, site, **form):
    usual = {"study": site.study_id, "document_type": "cv", "max_age_months": "12",
             "warn_days": "120, 14", "reason": "Sponsor SOP 12"}  # fmt: skip
    return add(client, "validityoverride", **usual | form)


def test_the_ledger_records_validity_overrides_with_their_reason(regulatory, site):
    override(regulatory, site)
    row = ValidityOverride.objects.get()
    assert row.override == TermsOverride(12, (120, 14), warns_only=False)
    entry = last(row)
    assert (entry.event, entry.role) == ("validityoverride.created", "regulatory affairs")
    assert entry.detail["changes"]["max_age_months"] == {"old": None, "new": "12"}
    assert entry.detail["changes"]["reason"]["new"] == "Sponsor SOP 12"


def test_the_ledger_records_changes_and_deletions_of_validity_overrides(regulatory, site):
    override(regulatory, site)
    row = ValidityOverride.objects.get()
    address = f"/admin/ingestion/validityoverride/{row.pk}"
    form = {"study": site.study_id, "document_type": "cv", "max_age_months": "",
            "warn_days": "", "warns_only": "on", "reason": "Sponsor SOP 13",
            "reason_for_change": "Sponsor SOP 13 is in force."}  # fmt: skip
    regulatory.post(f"{address}/change/", form)
    changes = last(row).detail["changes"]
    assert changes["warns_only"] == {"old": "False", "new": "True"}
    assert ValidityOverride.objects.get().override == TermsOverride(None, None, warns_only=True)
    regulatory.post(
        f"{address}/delete/", {"post": "yes", "reason_for_change": "It no longer applies."}
    )
    assert not ValidityOverride.objects.exists()
    assert last(row).event == "validityoverride.deleted"


@pytest.mark.parametrize(
    "wrong", [{"reason": ""}, {"warn_days": "soon"}, {"warn_days": "0"}, {"document_type": "menu"}]
)
def test_validity_overrides_without_any_value_are_refused(regulatory, site, wrong):
    assert override(regulatory, site, **wrong).status_code == 200
    assert not ValidityOverride.objects.exists()


def test_the_ledger_records_requirements_of_a_study_and_of_a_site(regulatory, site):
    add(regulatory, "requireddocument", study=site.study_id, document_type="cv", each="team",
        required_from="2026-12-01")  # fmt: skip
    add(regulatory, "siterequirement", site=site.pk, document_type="form-fda-1572", each="site",
        reason="Not under an IND")  # fmt: skip
    assert last(RequiredDocument.objects.get()).event == "requireddocument.created"
    difference = SiteRequirement.objects.get()
    assert not difference.is_required
    assert (last(difference).event, last(difference).site) == ("siterequirement.created", "0203")


def test_a_waiver_shows_who_granted_it_and_why(as_role, site):
    client = as_role("QA reviewers")
    waive(client, site)
    waiver = Waiver.objects.get()
    assert (waiver.reason, waiver.revoked_at) == (WHY, None)
    entry = last(waiver)
    assert (entry.event, entry.site, entry.actor) == (
        "waiver.created", "0203", waiver.granted_by.actor_name,
    )  # fmt: skip
    assert entry.detail["changes"]["reason"]["new"] == WHY


def test_waivers_without_a_reason_and_second_waivers_are_refused(regulatory, site):
    assert waive(regulatory, site, reason="").status_code == 200
    waive(regulatory, site)
    assert "already in force" in waive(regulatory, site).content.decode()
    assert waive(regulatory, site, whose="Jonas Weber").status_code == 302
    assert Waiver.objects.count() == 2


def test_a_waiver_is_revoked_with_a_reason_and_is_kept(regulatory, site):
    waive(regulatory, site)
    waiver = Waiver.objects.get()
    address = f"{WAIVERS}{waiver.pk}/change/"
    regulatory.post(address, {"revoked_because": "", "reason": "Another"})
    waiver.refresh_from_db()
    assert (waiver.revoked_at, waiver.reason) == (None, WHY)
    regulatory.post(address, {"revoked_because": "The licence has come."})
    waiver.refresh_from_db()
    assert waiver.revoked_by is not None
    assert last(waiver).detail["changes"]["revoked_because"]["new"] == "The licence has come."
    revoked_at = waiver.revoked_at
    regulatory.post(address, {"revoked_because": "Once more"})
    waiver.refresh_from_db()
    assert (waiver.revoked_at, waiver.revoked_because) == (revoked_at, "The licence has come.")
    assert waive(regulatory, site).status_code == 302  # it may be waived anew
    assert regulatory.post(f"{WAIVERS}{waiver.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    ("role", "waives", "lays_down"),
    [("QA reviewers", 200, 403), ("Regulatory affairs", 200, 200), ("Operations", 403, 403)],
)
def test_each_role_has_its_own_permissions_for_requirements(as_role, role, waives, lays_down):
    client = as_role(role)
    assert client.get(f"{WAIVERS}add/").status_code == waives
    for kind in ("validityoverride", "requireddocument", "siterequirement"):
        assert client.get(f"/admin/ingestion/{kind}/").status_code == 200
        assert client.get(f"/admin/ingestion/{kind}/add/").status_code == lays_down


def test_the_ledger_records_the_activation_date_of_a_site(as_role, site):
    address = f"/admin/clinical_sites/site/{site.pk}/change/"
    as_role("Operations").post(address, site_form(site, activated_on="2026-10-01"))
    assert str(Site.objects.get().activated_on) == "2026-10-01"
    entry = list_entries(f"site:{site.pk}")[-1]
    assert entry.detail["changes"]["activated_on"] == {"old": None, "new": "2026-10-01"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"reason": ""},
        {"revoked_because": "It has come."},
        {"revoked_at": "2026-11-20T12:00:00Z"},
    ],
)
def test_the_database_rejects_incomplete_waivers(site, wrong):
    whole = {"site": site, "document_type": "cv", "reason": WHY, "granted_by": make_user()}
    with pytest.raises(IntegrityError), transaction.atomic():
        Waiver.objects.create(**whole | wrong)
