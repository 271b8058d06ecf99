"""System checks for how long what belongs to studies is kept, and its anchors with it."""

from collections.abc import Collection, Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.models import Max

from sites.models import Study


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
