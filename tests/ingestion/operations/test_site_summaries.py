"""Tests of the summaries of sites, by which long lists are ordered."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.models import RequiredDocument, SiteSummary, Waiver
from ingestion.operations import site_summaries
from ingestion.rules.findings import RuleFinding
from sites.models import Site, Study
from tests.factories import make_read, make_site, make_user

pytestmark = pytest.mark.django_db
TODAY = timezone.now().date()


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def met_and_needed(site):
    summary = SiteSummary.objects.get(site=site)
    return summary.met, summary.needed


def test_only_changed_sites_are_counted_again():
    site, _other = make_site("0203"), make_site("0417")
    assert site_summaries.refresh_summaries() == 2
    assert site_summaries.refresh_summaries() == 0
    assert met_and_needed(site) == (0, 10)
    make_read(site, "irb-approval")
    assert site_summaries.refresh_summaries() == 1
    assert met_and_needed(site) == (1, 10)
    assert site_summaries.refresh_summaries() == 0


def test_new_requirements_waivers_and_days_cause_a_recount_of_all_sites():
    site, _other = make_site("0203"), make_site("0417")
    site_summaries.refresh_summaries()
    RequiredDocument.objects.create(study=Study.objects.get(), document_type="cv")
    assert site_summaries.refresh_summaries() == 2
    assert met_and_needed(site) == (0, 1)
    Waiver.objects.create(site=site, document_type="cv", reason="None", granted_by=make_user())
    assert site_summaries.refresh_summaries() == 2
    assert met_and_needed(site) == (1, 1)
    Site.objects.filter(pk=site.pk).update(activated_on=TODAY, revision=7)  # as the admin does
    assert site_summaries.refresh_summaries() == 2
    assert site_summaries.refresh_summaries(today=TODAY + timedelta(days=1)) == 2


def test_a_change_during_the_count_is_counted_the_next_time(monkeypatch):
    site = make_site("0203")
    make_read(site, "cv")
    readiness = site_summaries.get_readiness_by_site

    def change_during_count(page, **options):
        found = readiness(page, **options)
        make_read(site, "irb-approval")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(site_summaries, "get_readiness_by_site", change_during_count)
        site_summaries.refresh_summaries()
    assert met_and_needed(site) == (1, 10)
    assert site_summaries.refresh_summaries() == 1
    assert met_and_needed(site) == (2, 10)


def test_sites_without_a_summary_come_first_and_then_the_least_complete():
    half, none = make_site("0100"), make_site("0200")
    make_read(half, "irb-approval")
    site_summaries.refresh_summaries()
    new = make_site("0300")
    ordered = site_summaries.order_by_completeness(Site.objects.all())
    assert list(ordered) == [new, none, half]
    assert set(site_summaries.filter_incomplete(Site.objects.all())) == {half, none, new}


def test_the_earliest_expiry_date_is_stored():
    site, other = make_site("0100"), make_site("0200")
    for days in (200, 12):
        kind = "medical-licence" if days == 12 else "gcp-certificate"
        make_read(site, kind, expiry_date=TODAY + timedelta(days=days))
    unsigned = RuleFinding("SIGNATURE_MISSING")
    make_read(other, "medical-licence", unsigned, state="REJECTED", expiry_date=TODAY)
    site_summaries.refresh_summaries()
    assert SiteSummary.objects.get(site=site).runs_out_on == TODAY + timedelta(days=12)
    soon = site_summaries.filter_expiring(Site.objects.all(), TODAY, timedelta(days=30))
    assert list(soon) == [site]
