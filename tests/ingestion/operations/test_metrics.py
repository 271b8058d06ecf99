"""Tests of timeliness, quality and throughput, on both databases."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from ingestion.models import Document, Extraction
from ingestion.operations import metrics, throughput
from ingestion.rules.findings import RuleFinding
from tests.factories import make_batch, make_read, make_site

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 16, 54, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3650)
UNSIGNED, EXPIRED = RuleFinding("SIGNATURE_MISSING"), RuleFinding("EXPIRED_DOCUMENT")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def settle(document, at, received=None):
    Document.objects.filter(pk=document.pk).update(settled_at=at, received_at=received or at)
    return document


def make_rejected(site, kind, finding=UNSIGNED):
    return make_read(site, kind, finding, state="REJECTED")


def test_timeliness_is_the_time_from_the_date_of_a_document_to_its_filing():
    site = make_site()
    days_by_type = {"cv": 7, "irb-approval": 8, "delegation-log": 30, "medical-licence": 61}
    for kind, days in days_by_type.items():
        document = settle(make_read(site, kind), NOW)
        dated = NOW.date() - timedelta(days=days)
        Extraction.objects.filter(document=document).update(dated=dated)
    settle(make_read(site, "gcp-certificate"), NOW)
    make_rejected(site, "financial-disclosure")
    found = metrics.measure_timeliness(Document.objects.all(), LONG_AGO)
    assert list(found.steps.values()) == [1, 2, 0, 1, 1]
    assert (found.dated, found.median, found.percent) == (4, 8, 75)


def test_timeliness_uses_the_last_extraction_and_filings_since_the_start():
    document = settle(make_read(make_site(), "cv"), NOW)
    Extraction.objects.filter(document=document).update(dated=date(2020, 1, 1))
    later = {"attempt": 99, "rules_version": "1", "dated": NOW.date()}
    Extraction.objects.create(document=document, **later)
    found = metrics.measure_timeliness(Document.objects.all(), NOW)
    assert (found.dated, found.median) == (1, 0)
    assert metrics.measure_timeliness(Document.objects.all(), NOW + timedelta(seconds=1)).dated == 0


def test_the_first_pass_rate_counts_first_versions_only():
    site = make_site()
    make_rejected(site, "cv")
    make_read(site, "cv")  # a correction, which does not count as accepted on first submission
    make_read(site, "irb-approval")
    make_read(site, "medical-licence", RuleFinding("SITE_MISMATCH"), state="IN_REVIEW")
    found = metrics.measure_first_pass(Document.objects.all(), LONG_AGO)
    assert (found.decided, found.filed, found.percent) == (2, 1, 50)


def test_rejections_are_counted_by_reason_and_by_site():
    first, second = make_site("0100"), make_site("0200")
    for kind in ("cv", "irb-approval"):
        make_rejected(first, kind)
    make_rejected(second, "cv", EXPIRED)
    make_read(second, "irb-approval")
    everything = Document.objects.all()
    assert metrics.count_rejections_by_code(everything, LONG_AGO) == {
        "SIGNATURE_MISSING": 2,
        "EXPIRED_DOCUMENT": 1,
    }
    rows = metrics.count_rejections_by_site(everything, LONG_AGO, 10)
    assert [(row.site_id, row.rejected, row.decided) for row in rows] == [
        ("0100", 2, 2),
        ("0200", 1, 2),
    ]
    assert len(metrics.count_rejections_by_site(everything, LONG_AGO, 1)) == 1
    of_first = metrics.count_rejections_by_code(everything.filter(site=first), LONG_AGO)
    assert of_first == {"SIGNATURE_MISSING": 2}


@pytest.mark.parametrize(
    ("part", "whole", "percent"), [(0, 0, None), (0, 5, 0), (999, 1000, 99), (5, 5, 100)]
)
def test_a_percentage_is_100_only_for_the_whole(part, whole, percent):
    assert metrics.compute_percentage(part, whole) == percent


def test_filed_and_rejected_documents_are_counted_by_hour():
    site = make_site()
    settle(make_read(site, "cv"), NOW.replace(hour=16, minute=0, second=0))
    settle(make_rejected(site, "irb-approval"), NOW.replace(hour=15, minute=59, second=59))
    settle(make_read(site, "delegation-log"), NOW - timedelta(hours=24))
    hours = throughput.count_by_hour(NOW)
    assert len(hours) == 24
    assert [(hour.began.hour, hour.filed, hour.rejected) for hour in hours[-2:]] == [
        (15, 0, 1),
        (16, 1, 0),
    ]
    assert sum(hour.filed + hour.rejected for hour in hours) == 2
    assert throughput.count_today(NOW) == (1, 1)


def test_queue_depth_is_computed_from_arrivals_and_settlements():
    def ago(minutes):
        return NOW - timedelta(minutes=minutes)

    settle(make_read(make_site(), "cv"), ago(10), received=ago(20))
    make_batch(documents=2)
    Document.objects.filter(settled_at=None).update(received_at=ago(5))
    points = dict(throughput.compute_queue_depth(NOW, waiting=2))
    assert len(points) == 60
    last = NOW.replace(second=0)

    def depth(minutes):
        return points[last - timedelta(minutes=minutes)]

    assert [depth(minutes) for minutes in (0, 5, 6, 10, 11, 20, 21, 59)] == [2, 2, 0, 0, 1, 1, 0, 0]


def test_the_current_hour_has_the_documents_settled_now():
    document = settle(make_read(make_site(), "cv"), timezone.now())
    [*_, hour] = throughput.count_by_hour(timezone.now())
    assert (hour.filed, document.state) == (1, "ARCHIVED")
