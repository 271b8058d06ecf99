"""The order of a long list goes by summaries: they follow whatever changes a site's standing."""

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
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def of(site):
    summary = SiteSummary.objects.get(site=site)
    return summary.met, summary.needed


def test_only_what_changed_is_counted_again():
    site, _other = make_site("0203"), make_site("0417")
    assert site_summaries.refresh_summaries() == 2
    assert site_summaries.refresh_summaries() == 0
    assert of(site) == (0, 10)
    make_read(site, "irb-approval")
    assert site_summaries.refresh_summaries() == 1
    assert of(site) == (1, 10)
    assert site_summaries.refresh_summaries() == 0


def test_what_is_laid_down_or_waived_and_a_new_day_count_all_again():
    site, _other = make_site("0203"), make_site("0417")
    site_summaries.refresh_summaries()
    RequiredDocument.objects.create(study=Study.objects.get(), document_type="cv")
    assert site_summaries.refresh_summaries() == 2
    assert of(site) == (0, 1)
    Waiver.objects.create(site=site, document_type="cv", reason="None", granted_by=make_user())
    assert site_summaries.refresh_summaries() == 2
    assert of(site) == (1, 1)
    Site.objects.filter(pk=site.pk).update(activated_on=TODAY, revision=7)  # as the admin does
    assert site_summaries.refresh_summaries() == 2
    assert site_summaries.refresh_summaries(today=TODAY + timedelta(days=1)) == 2


def test_a_change_while_it_counts_is_counted_the_next_time(monkeypatch):
    site = make_site("0203")
    make_read(site, "cv")
    readiness = site_summaries.get_readiness_by_site

    def and_something_happens(page, **options):
        found = readiness(page, **options)
        make_read(site, "irb-approval")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(site_summaries, "get_readiness_by_site", and_something_happens)
        site_summaries.refresh_summaries()
    assert of(site) == (1, 10)
    assert site_summaries.refresh_summaries() == 1
    assert of(site) == (2, 10)


def test_the_least_complete_come_first_and_those_never_counted_before_all():
    half, none = make_site("0100"), make_site("0200")
    make_read(half, "irb-approval")
    site_summaries.refresh_summaries()
    new = make_site("0300")
    ordered = site_summaries.order_by_completeness(Site.objects.all())
    assert list(ordered) == [new, none, half]
    assert set(site_summaries.filter_incomplete(Site.objects.all())) == {half, none, new}


def test_the_first_day_on_which_something_runs_out_is_kept():
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
