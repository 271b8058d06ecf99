"""How sentences that are made in Python name times."""

from datetime import UTC, datetime


def clock(moment: datetime) -> str:
    """As in 16:54 UTC: for times of the next hours."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"
