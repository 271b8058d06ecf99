"""How sentences that are made in Python name days and times."""

from datetime import UTC, date, datetime


def clock(moment: datetime) -> str:
    """As in 16:54 UTC: for times of the next hours."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def day(of: date) -> str:
    """As in 20 Nov 2026; of a moment its day in UTC."""
    at = of.astimezone(UTC) if isinstance(of, datetime) else of
    return f"{at.day} {at:%b %Y}"
