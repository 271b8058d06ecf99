"""How long what belongs to a study is kept: until a date, and while somebody holds it (R14).

Regulation (EU) 536/2014, article 58, asks for 25 years after the end of the trial; 21 CFR 312.57
for 2 years after the approval. Nothing is destroyed when the time is over: that is for people to
do, outside of this product.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import cast

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sites.models import Study
from sites.models.legal_holds import LegalHold


def said(study: Study) -> str:
    """Until when its documents are kept, and which holds keep them, in sentences. For staff.

    A hold's reason may be an inspection that a site is not to hear of.
    """
    held = [
        _("A legal hold since {date} overrides this date: {reason}").format(
            date=_day(hold.set_at), reason=hold.reason
        )
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
    return sentence.format(date=_day(until), n=study.years_kept, study=study)


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
