"""How long what belongs to a study is kept: until a date, and while somebody holds it (R14).

Regulation (EU) 536/2014, article 58, asks for 25 years after the end of the trial; 21 CFR 312.57
for 2 years after the approval. Nothing is destroyed when the time is over: that is for people to
do, outside of this product.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import cast

from django.utils import timezone

from sites.models import Study
from sites.models.legal_holds import LegalHold


def said(study: Study) -> str:
    """Until when its documents are kept, and which holds keep them, in sentences. For staff.

    A hold's reason may be an inspection that a site is not to hear of.
    """
    held = [
        f"A legal hold of {_day(hold.set_at)} keeps it whatever the date: {hold.reason}"
        for hold in LegalHold.objects.in_force().filter(study=study)
    ]
    return " ".join([term(study), *held])


def told(numbers: Collection[str]) -> list[str]:
    """The term of each study that has one of these sites; of every study where none is named."""
    studies = Study.objects.filter(sites__site_id__in=numbers) if numbers else Study.objects.all()
    return [term(study) for study in studies.distinct()]


def term(study: Study, today: date | None = None) -> str:
    """Until when its documents are kept at least. For everybody."""
    today = today or timezone.now().date()
    years = f"{study.years_kept} year{'' if study.years_kept == 1 else 's'}"
    until = study.retained_until
    if until is None:
        return f"Kept for {years} after the end of study {study}, which has not ended."
    if until < today:
        return f"The {years} after the end of study {study} were over on {_day(until)}."
    return f"Kept until {_day(until)}, {years} after the end of study {study}."


def locked_until(study: Study, today: date) -> date:
    """The first day on which a store that locks for a time may let its documents go.

    A study that goes on may end today. It counts as ended when this year began: that is never more
    than will be asked for, and another day only once a year.
    """
    counted = Study(
        ended_on=study.ended_on or date(today.year, 1, 1), retention_years=study.retention_years
    )
    return cast("date", counted.retained_until) + timedelta(days=1)


def _day(day: date | datetime) -> str:
    at = day.astimezone(UTC) if isinstance(day, datetime) else day
    return f"{at.day} {at:%b %Y}"
