"""Computes how long a study's documents are kept: until a date, and during a legal hold (R14).

Regulation (EU) 536/2014, article 58, requires 25 years after the end of the trial, and 21 CFR
312.57 requires 2 years after the approval. This product destroys nothing when the period is over.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import cast

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sites.models import Study
from sites.models.legal_holds import LegalHold


def describe_retention(study: Study) -> str:
    """Return sentences about the retention period and the legal holds, for staff.

    Sites must not see them: the reason of a hold may be an unannounced inspection.
    """
    held = [
        _("A legal hold since {date} overrides this date: {reason}").format(
            date=_format_day(hold.set_at), reason=hold.reason
        )
        for hold in LegalHold.objects.in_force().filter(study=study)
    ]
    return " ".join([describe_term(study), *held])


def list_terms(numbers: Collection[str]) -> list[str]:
    """Return the retention period of each study with one of these sites, or of all studies.

    `numbers` are site numbers. Without any, all studies are included.
    """
    studies = Study.objects.filter(sites__site_id__in=numbers) if numbers else Study.objects.all()
    return [describe_term(study) for study in studies.distinct()]


def describe_term(study: Study, today: date | None = None) -> str:
    """Return a sentence about the retention period, which also sites can see."""
    today = today or timezone.now().date()
    until = study.retained_until
    if until is None:
        sentence = ngettext(
            "Retained for {n} year after the end of study {study}, which has not ended.",
            "Retained for {n} years after the end of study {study}, which has not ended.",
            study.years_kept,
        )
        return sentence.format(n=study.years_kept, study=study)
    if until < today:
        sentence = ngettext(
            "The retention period ended on {date}, {n} year after the end of study {study}.",
            "The retention period ended on {date}, {n} years after the end of study {study}.",
            study.years_kept,
        )
    else:
        sentence = ngettext(
            "Retained until {date}, {n} year after the end of study {study}.",
            "Retained until {date}, {n} years after the end of study {study}.",
            study.years_kept,
        )
    return sentence.format(date=_format_day(until), n=study.years_kept, study=study)


def compute_retention_end(study: Study, today: date) -> date:
    """Return the first day on which a store with object locks may release the study's documents.

    A study that has not ended counts as ended at the beginning of this year. The actual end will
    never require an earlier day, and this day changes only once a year.
    """
    as_ended = Study(
        ended_on=study.ended_on or date(today.year, 1, 1), retention_years=study.retention_years
    )
    return cast("date", as_ended.retained_until) + timedelta(days=1)


def _format_day(day: date | datetime) -> str:
    at = day.astimezone(UTC) if isinstance(day, datetime) else day
    return f"{at.day} {at:%b %Y}"
