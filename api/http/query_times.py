"""Reads date and time values from query parameters."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

# An unencoded + in a query arrives as a space: 2026-11-01T00:00:00 02:00.
_LOST_PLUS = re.compile(r" (\d\d:?\d\d)$")
_ISO_8601 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]").match  # pydantic would accept a bare number too


def _restore_plus(value: object) -> object:
    if not isinstance(value, str) or not _ISO_8601(value):
        raise ValueError("Send a time with its time zone, such as 2026-11-01T00:00:00Z.")
    return _LOST_PLUS.sub(r"+\1", value)


def _to_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("Send a time of the years 1 to 9999 in UTC.") from None


QueryTime = Annotated[AwareDatetime, BeforeValidator(_restore_plus), AfterValidator(_to_utc)]
