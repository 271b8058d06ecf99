"""Tests of retention: the end of the study, its years, and legal holds."""

from datetime import date

import pytest
from django.core.checks import Tags, run_checks
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from sites import retention
from sites.models import Study
from sites.models.legal_holds import LegalHold
from tests.audit.support import sql
from tests.factories import make_site, make_user

pytestmark = pytest.mark.requirement("R14")
TODAY = date(2030, 6, 1)
REASON = "The FDA has announced an inspection."


def make_study(**columns):
    return Study.objects.create(protocol_number="SLX-1", **columns)


def make_hold(study, reason=REASON, **columns):
    return LegalHold.objects.create(study=study, reason=reason, set_by=make_user(), **columns)


def check_ids(**options):
    return [message.id for message in run_checks(**options) if message.id.startswith("sites.")]


@pytest.mark.parametrize(
    ("ended", "years", "until"),
    [
        (None, None, None),
        (None, 30, None),
        (date(2026, 3, 2), None, date(2051, 3, 2)),
        (date(2026, 3, 2), 2, date(2028, 3, 2)),
        (date(2028, 2, 29), 1, date(2029, 3, 1)),
        (date(2028, 2, 29), 4, date(2032, 2, 29)),
    ],
)
def test_documents_are_retained_for_years_after_the_end_of_their_study(
    settings, ended, years, until
):
    settings.RETENTION_YEARS = 25
    assert Study(ended_on=ended, retention_years=years).retained_until == until


@pytest.mark.parametrize(
    ("ended", "years", "until"),
    [
        (date(2026, 3, 2), 25, date(2051, 3, 3)),
        (date(2028, 2, 29), 1, date(2029, 3, 2)),
        (None, 25, date(2055, 1, 2)),
    ],
)
def test_a_lock_ends_on_the_day_after_retention_as_if_the_study_had_ended_this_year(
    ended, years, until
):
    study = Study(ended_on=ended, retention_years=years)
    assert retention.compute_retention_end(study, TODAY) == until
    assert (study.ended_on, study.retention_years) == (ended, years), "the study is not changed"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({}, "Retained for 25 years after the end of study SLX-1, which has not ended."),
        (
            {"ended_on": date(2026, 3, 2)},
            "Retained until 2 Mar 2051, 25 years after the end of study SLX-1.",
        ),
        (
            {"ended_on": date(2029, 6, 1), "retention_years": 1},
            "Retained until 1 Jun 2030, 1 year after the end of study SLX-1.",
        ),
        (
            {"ended_on": date(2026, 3, 2), "retention_years": 2},
            "The retention period ended on 2 Mar 2028, 2 years after the end of study SLX-1.",
        ),
    ],
)
def test_the_description_states_the_end_of_the_retention_period(db, columns, sentence):
    assert retention.describe_term(make_study(**columns), TODAY) == sentence


def test_a_legal_hold_overrides_the_retention_period_until_it_is_lifted(db):
    study = make_study(ended_on=date(2000, 1, 1), retention_years=1)
    first, _ = make_hold(study), make_hold(study, "A court asked for it, case 17.")
    description = retention.describe_retention(study)
    assert f"overrides this date: {REASON}" in description
    assert "case 17" in description
    LegalHold.objects.filter(pk=first.pk).update(
        lifted_at=timezone.now(), lifted_by=make_user(), lifted_because="The inspection is over."
    )
    assert REASON not in retention.describe_retention(study)
    assert "case 17" in retention.describe_retention(study)


def test_the_terms_of_sites_are_those_of_their_studies(db):
    site = make_site("0203")
    make_study()
    make_hold(site.study)
    assert retention.list_terms(["0203"]) == [retention.describe_term(site.study)]
    assert retention.list_terms([]) == [
        retention.describe_term(each) for each in Study.objects.all()
    ]
    assert len(retention.list_terms([])) == 2


@pytest.mark.parametrize("reason", ["", "short"])
def test_a_legal_hold_needs_a_reason_of_some_length(db, reason):
    with pytest.raises(ValidationError):
        LegalHold(study=make_study(), reason=reason, set_by=make_user()).full_clean()


@pytest.mark.parametrize("columns", [{"reason": ""}, {"lifted_because": "The inspection is over."}])
def test_the_database_refuses_a_legal_hold_without_a_reason_or_with_half_of_its_end(db, columns):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_hold(make_study(), **columns)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [({}, []), ({"retention_years": 25}, []), ({"retention_years": 30}, ["sites.E002"])],
)
def test_a_lock_of_anchors_that_is_shorter_than_the_retention_of_a_study_is_reported(
    db, settings, columns, expected
):
    settings.ANCHOR_S3_BUCKET, settings.ANCHOR_S3_YEARS = "worm", 25
    make_study(**columns)
    assert check_ids(tags=[Tags.database], databases=["default"]) == expected
    settings.ANCHOR_S3_BUCKET = ""
    assert check_ids(tags=[Tags.database], databases=["default"]) == []


def test_the_check_of_studies_passes_before_their_table_is_migrated(db, settings):
    settings.ANCHOR_S3_BUCKET = "worm"
    sql("ALTER TABLE clinical_sites_study RENAME COLUMN retention_years TO renamed")
    assert check_ids(tags=[Tags.database], databases=["default"]) == []


@pytest.mark.parametrize(
    ("years", "locked", "expected"),
    [(25, 25, []), (0, 25, ["sites.E001"]), (26, 25, ["sites.E002"]), (2, 2, [])],
)
def test_retention_and_lock_periods_that_contradict_each_other_are_reported(
    settings, years, locked, expected
):
    settings.ANCHOR_S3_BUCKET = "worm"
    settings.RETENTION_YEARS, settings.ANCHOR_S3_YEARS = years, locked
    assert check_ids() == expected
