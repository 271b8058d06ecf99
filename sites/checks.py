"""Checks the retention period of studies and of the ledger's anchors."""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.models import Max

from sites.models import Study


def check_settings(**_options: Any) -> list[CheckMessage]:
    """Check RETENTION_YEARS."""
    years = settings.RETENTION_YEARS
    if years < 1:
        return [
            Error(
                f"RETENTION_YEARS is {years}, but documents have to be retained.",
                hint="Remove the setting. The default is 25 years, as in Regulation (EU) 536/2014, "
                "article 58.",
                id="sites.E001",
            )
        ]
    if settings.ANCHOR_S3_BUCKET and years > settings.ANCHOR_S3_YEARS:
        return [_anchors_too_short(f"RETENTION_YEARS is {years}")]
    return []


def check_studies(databases: Collection[str] | None, **_options: Any) -> list[CheckMessage]:
    """Check the studies in the databases that a command names, as `migrate` does."""
    messages: list[CheckMessage] = []
    if not settings.ANCHOR_S3_BUCKET:
        return messages
    for alias in databases or ():
        if not _has_retention_column(alias):
            continue
        studies = Study.objects.using(alias)
        longest = studies.aggregate(years=Max("retention_years"))["years"] or 0
        if longest > settings.ANCHOR_S3_YEARS:
            reason = f"a study is retained for {longest} years after its end"
            messages.append(_anchors_too_short(reason))
    return messages


def _has_retention_column(alias: str) -> bool:
    """Return False before the migration that adds the column has been applied."""
    connection = connections[alias]
    table = Study._meta.db_table
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return False
        columns = connection.introspection.get_table_description(cursor, table)
    return "retention_years" in {column.name for column in columns}


def _anchors_too_short(reason: str) -> CheckMessage:
    return Error(
        f"ANCHOR_S3_YEARS is {settings.ANCHOR_S3_YEARS}, but {reason}: the owner of the bucket "
        "could remove the anchors of the ledger before the retention period of its documents ends.",
        hint="Set ANCHOR_S3_YEARS to the same number of years. Existing anchors keep their "
        f"{settings.ANCHOR_S3_YEARS} years. Each newer anchor confirms all entries before it.",
        id="sites.E002",
    )
