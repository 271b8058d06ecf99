"""Points in time as clients write them in a query."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

# A raw + in a query is a space when it arrives: 2026-11-01T00:00:00 02:00.
_LOST_PLUS = re.compile(r" (\d\d:?\d\d)$")
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d[Tt ]").match  # pydantic would take a bare number too


def _as_written(value: object) -> object:
    if not isinstance(value, str) or not _WRITTEN(value):
        raise ValueError("is written as 2026-11-01T00:00:00Z")
    return _LOST_PLUS.sub(r"+\1", value)


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside the calendar") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_as_written), AfterValidator(_in_utc)]
