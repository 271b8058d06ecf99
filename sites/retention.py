"""How long what belongs to a study is kept: until a date, and while somebody holds it (R14).

Regulation (EU) 536/2014, article 58, asks for 25 years after the end of the trial; 21 CFR 312.57
for 2 years after the approval. Nothing is destroyed when the time is over: that is for people to
do, outside of this product.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.models import Max
from django.utils import timezone

from sites.holds import LegalHold
from sites.models import Study


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


def _day(day: date | datetime) -> str:
    at = day.astimezone(UTC) if isinstance(day, datetime) else day
    return f"{at.day} {at:%b %Y}"


def check_settings(**_options: Any) -> list[CheckMessage]:
    return list(_of_the_settings())


def check_studies(databases: Collection[str] | None, **_options: Any) -> list[CheckMessage]:
    """Of the databases that a command names (`migrate` does)."""
    return [message for alias in databases or () for message in _of_the_studies(alias)]


def _of_the_settings() -> Iterator[CheckMessage]:
    years = settings.RETENTION_YEARS
    if years < 1:
        yield Error(
            f"RETENTION_YEARS is {years}: documents have to be kept for a time.",
            hint="Leave it out: 25 years are those of Regulation (EU) 536/2014, article 58.",
            id="sites.E001",
        )
    elif settings.ANCHOR_S3_BUCKET and years > settings.ANCHOR_S3_YEARS:
        yield _too_short(f"RETENTION_YEARS is {years}")


def _of_the_studies(alias: str) -> Iterator[CheckMessage]:
    if not settings.ANCHOR_S3_BUCKET or not _has_terms(alias):
        return
    longest = Study.objects.using(alias).aggregate(years=Max("retention_years"))["years"] or 0
    if longest > settings.ANCHOR_S3_YEARS:
        yield _too_short(f"a study is kept for {longest} years after its end")


def _has_terms(alias: str) -> bool:
    """Not while the migration waits that brings them."""
    connection = connections[alias]
    table = Study._meta.db_table
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return False
        columns = connection.introspection.get_table_description(cursor, table)
    return "retention_years" in {column.name for column in columns}


def _too_short(because: str) -> CheckMessage:
    return Error(
        f"ANCHOR_S3_YEARS is {settings.ANCHOR_S3_YEARS}, and {because}: whoever owns the bucket "
        "could remove the ledger's anchors before its documents may go.",
        hint="Set ANCHOR_S3_YEARS to as many years. What is anchored already keeps its "
        f"{settings.ANCHOR_S3_YEARS}; each newer anchor answers for all before it.",
        id="sites.E002",
    )
