"""How long documents are kept: the study's end, its years, and legal holds."""

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
WHY = "The FDA has announced an inspection."


def study(**columns):
    return Study.objects.create(protocol_number="SLX-1", **columns)


def hold(on, reason=WHY, **columns):
    return LegalHold.objects.create(study=on, reason=reason, set_by=make_user(), **columns)


def ids(**which):
    return [message.id for message in run_checks(**which) if message.id.startswith("sites.")]


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
def test_documents_are_kept_for_years_from_the_end_of_their_study(settings, ended, years, until):
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
def test_a_lock_may_end_on_the_day_after_and_not_before_the_end_is_known(ended, years, until):
    of = Study(ended_on=ended, retention_years=years)
    assert retention.locked_until(of, TODAY) == until
    assert (of.ended_on, of.retention_years) == (ended, years)


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
def test_it_is_said_until_when(db, columns, sentence):
    assert retention.describe_term(study(**columns), TODAY) == sentence


def test_a_hold_keeps_documents_whatever_the_date_until_it_is_lifted(db):
    over = study(ended_on=date(2000, 1, 1), retention_years=1)
    first, _ = hold(over), hold(over, "A court asked for it, case 17.")
    said = retention.describe_retention(over)
    assert f"overrides this date: {WHY}" in said
    assert "case 17" in said
    LegalHold.objects.filter(pk=first.pk).update(
        lifted_at=timezone.now(), lifted_by=make_user(), lifted_because="The inspection is over."
    )
    assert WHY not in retention.describe_retention(over)
    assert "case 17" in retention.describe_retention(over)


def test_what_is_said_of_sites_is_said_of_their_studies(db):
    site = make_site("0203")
    study()
    hold(site.study)
    assert retention.list_terms(["0203"]) == [retention.describe_term(site.study)]
    assert retention.list_terms([]) == [
        retention.describe_term(each) for each in Study.objects.all()
    ]
    assert len(retention.list_terms([])) == 2


@pytest.mark.parametrize("reason", ["", "short"])
def test_a_hold_says_why(db, reason):
    with pytest.raises(ValidationError):
        LegalHold(study=study(), reason=reason, set_by=make_user()).full_clean()


@pytest.mark.parametrize("columns", [{"reason": ""}, {"lifted_because": "The inspection is over."}])
def test_the_database_refuses_a_hold_that_does_not_say_why_or_who(db, columns):
    with pytest.raises(IntegrityError), transaction.atomic():
        hold(study(), **columns)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [({}, []), ({"retention_years": 25}, []), ({"retention_years": 30}, ["sites.E002"])],
)
def test_anchors_are_locked_no_shorter_than_any_study_is_kept(db, settings, columns, expected):
    settings.ANCHOR_S3_BUCKET, settings.ANCHOR_S3_YEARS = "worm", 25
    study(**columns)
    assert ids(tags=[Tags.database], databases=["default"]) == expected
    settings.ANCHOR_S3_BUCKET = ""
    assert ids(tags=[Tags.database], databases=["default"]) == []


def test_a_database_before_its_migration_is_not_asked(db, settings):
    settings.ANCHOR_S3_BUCKET = "worm"
    sql("ALTER TABLE clinical_sites_study RENAME COLUMN retention_years TO away")
    assert ids(tags=[Tags.database], databases=["default"]) == []


@pytest.mark.parametrize(
    ("years", "locked", "expected"),
    [(25, 25, []), (0, 25, ["sites.E001"]), (26, 25, ["sites.E002"]), (2, 2, [])],
)
def test_years_that_do_not_fit_together_are_named(settings, years, locked, expected):
    settings.ANCHOR_S3_BUCKET = "worm"
    settings.RETENTION_YEARS, settings.ANCHOR_S3_YEARS = years, locked
    assert ids() == expected
