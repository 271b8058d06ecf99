"""Tests of the readiness of sites: requirements, waivers, validity and contradictions."""

from datetime import date, timedelta

import pytest

from ingestion.documents.site_readiness import get_readiness, get_readiness_by_site
from ingestion.models import RequiredDocument, SiteRequirement, ValidityOverride, Waiver
from ingestion.rules.findings import RuleFinding
from ingestion.rules.site_file.requirements import DEFAULT_EXPECTED_DOCUMENTS, RequirementStatus
from sites.models import Site, Study
from tests.factories import make_read, make_site, make_user
from tests.ingestion.rules.site_documents import OF_SUB, VALUES

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 20)
PI, SUB = "Margaret Whitfield, MD", "Jonas Weber, MD"
S = RequirementStatus


def file_complete_packet(site, **changes):
    """File every document of the default list. `changes` replace values of a type."""
    for kind, values in VALUES.items():
        made = values | changes.get(kind.replace("-", "_"), {})
        make_read(site, kind, doc_id=f"{kind}-1", **made)
    for kind, values in OF_SUB.items():
        make_read(site, kind, doc_id=f"{kind}.jonas-weber", **values)


def standings(site, **options):
    stand = get_readiness(site, today=TODAY, **options)
    return {(each.document_type, each.whose): each.status for each in stand.required}


def test_a_new_site_needs_the_documents_of_the_default_list(site):
    assert standings(site) == {
        (wanted.document_type, ""): S.MISSING for wanted in DEFAULT_EXPECTED_DOCUMENTS
    }


def test_a_complete_packet_meets_all_requirements_without_contradictions(site):
    file_complete_packet(site)
    stand = get_readiness(site, today=TODAY)
    assert (stand.is_complete, stand.gaps) == (True, [])


def test_a_contradiction_names_two_documents(site):
    file_complete_packet(site, irb_approval={"protocol_version": "2.0"})
    stand = get_readiness(site, today=TODAY)
    (gap,) = stand.gaps
    assert gap.code == "PROTOCOL_VERSION_MISMATCH"
    assert stand.documents[gap.other.key].document_type == "irb-approval"


def test_the_list_of_a_study_replaces_the_default_list(site):
    RequiredDocument.objects.create(study=site.study, document_type="irb-approval")
    RequiredDocument.objects.create(
        study=site.study, document_type="cv", required_from=TODAY + timedelta(days=1)
    )
    assert standings(site) == {("irb-approval", ""): S.MISSING}


def test_a_site_may_differ_from_the_list_of_its_study(site):
    RequiredDocument.objects.create(study=site.study, document_type="form-fda-1572")
    for kind, is_required in (("form-fda-1572", False), ("medical-licence", True)):
        SiteRequirement.objects.create(
            site=site, document_type=kind, is_required=is_required, reason="Not under an IND"
        )
    assert standings(site) == {("medical-licence", ""): S.MISSING}
    assert standings(make_site()) == {("form-fda-1572", ""): S.MISSING}


def test_a_waiver_applies_until_it_is_revoked(site):
    waiver = Waiver.objects.create(
        site=site, document_type="delegation-log", reason="One person", granted_by=make_user()
    )
    assert standings(site)["delegation-log", ""] is S.WAIVED
    assert standings(make_site())["delegation-log", ""] is S.MISSING
    waiver.revoked_by, waiver.revoked_at = waiver.granted_by, waiver.granted_at
    waiver.revoked_because = "There are two now."
    waiver.save()
    assert standings(site)["delegation-log", ""] is S.MISSING


def licence(site, days):
    make_read(site, "medical-licence", expiry_date=TODAY + timedelta(days=days))
    return standings(site)["medical-licence", ""]


@pytest.mark.parametrize(
    ("days", "standing"), [(91, S.CURRENT), (90, S.EXPIRING), (0, S.EXPIRING), (-1, S.EXPIRED)]
)
def test_an_expiring_document_is_due_and_then_expired(site, days, standing):
    assert licence(site, days) is standing


def test_validity_overrides_apply_to_documents_on_file(site):
    terms = {"study": site.study, "document_type": "medical-licence", "reason": "Sponsor SOP 12"}
    row = ValidityOverride.objects.create(**terms, warns_only=True)
    assert licence(site, -1) is S.EXPIRING
    row.delete()
    assert standings(site)["medical-licence", ""] is S.EXPIRED


def test_a_certificate_that_was_valid_at_site_activation_is_current(site):
    make_read(site, "gcp-certificate", completion_date=date(2023, 11, 1))
    assert standings(site)["gcp-certificate", ""] is S.EXPIRED
    Site.objects.filter(pk=site.pk).update(activated_on=date(2025, 1, 1))
    site.refresh_from_db()
    assert standings(site)["gcp-certificate", ""] is S.CURRENT


def test_a_later_rejected_version_does_not_replace_the_version_on_file(site):
    make_read(site, "cv", person="Helena Brandt")
    make_read(site, "cv", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    assert standings(site)["cv", ""] is S.CURRENT


def test_values_with_low_confidence_cause_no_contradiction(site):
    file_complete_packet(site)
    make_read(
        site, "irb-approval", doc_id="irb-approval-1", confidence=60.0, protocol_version="2.0"
    )
    assert get_readiness(site, today=TODAY).gaps == []


def test_the_number_of_queries_does_not_depend_on_the_number_of_sites(
    site, django_assert_max_num_queries
):
    other = make_site()
    other.study = Study.objects.create(protocol_number="SLX-202")
    other.save()
    file_complete_packet(site)
    file_complete_packet(other)
    sites = list(Site.objects.select_related("study"))
    with django_assert_max_num_queries(8):
        stands = get_readiness_by_site(sites, today=TODAY)
    assert stands[site.pk].is_complete
    assert [gap.code for gap in stands[other.pk].gaps] == []


def test_a_site_does_not_use_documents_of_another_site(site):
    file_complete_packet(site)
    assert set(standings(make_site()).values()) == {S.MISSING}
