"""Defines the content of one sample document: its site, its dates, and whether it is signed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Self

from samples.people_and_sites import SampleSite

BY_HAND = "by hand"


def find_anniversary(day: date, years: int) -> date:
    """Return the same day `years` later; 28 February if 29 February does not exist then."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def format_short_date(day: date) -> str:
    """Return the date with a short month, for example "03 Mar 2026"."""
    return f"{day:%d %b %Y}"


def format_long_date(day: date, *, american: bool) -> str:
    """Return the date with the full month, in the American or the international order."""
    return f"{day:%B} {day.day}, {day.year}" if american else f"{day.day} {day:%B %Y}"


def format_numeric_date(day: date) -> str:
    """Return the date in the format of FDA forms (mm/dd/yyyy)."""
    return f"{day:%m/%d/%Y}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketDates:
    """The dates of one site's packet: consistent and, unless `expired`, valid at `today`.

    No valid document expires within 120 days, so that no warning about a near expiry is due.
    """

    protocol: date
    board_meeting: date
    approval: date
    approval_ends: date
    signature: date
    licence_issued: date
    licence_ends: date
    gcp_completed: date
    gcp_ends: date
    clia_effective: date
    clia_ends: date
    ranges_effective: date

    @classmethod
    def around(
        cls, today: date, protocol: date, rng: random.Random, *, expired: bool = False
    ) -> Self:
        """Return dates around `today`. `expired` changes only dates of documents that expire."""

        def before(min_days: int, max_days: int) -> date:
            return today - timedelta(days=rng.randint(min_days, max_days))

        # Documents that are valid for two years are two years older if they have to be expired.
        lapse = 2 if expired else 0
        meeting = find_anniversary(before(60, 160), -1 if expired else 0)
        licence, gcp, clia = before(120, 480), before(90, 600), before(100, 420)
        return cls(
            protocol=protocol,
            board_meeting=meeting,
            approval=meeting + timedelta(days=rng.randint(1, 6)),
            # From the convened meeting to the day before its anniversary (worksheet HRP-302).
            approval_ends=find_anniversary(meeting, 1) - timedelta(days=1),
            signature=before(8, 45),
            licence_issued=find_anniversary(licence, -lapse),
            licence_ends=find_anniversary(licence, 2 - lapse),
            gcp_completed=gcp,
            gcp_ends=find_anniversary(gcp, 3),
            clia_effective=find_anniversary(clia, -lapse),
            clia_ends=find_anniversary(clia, 2 - lapse) - timedelta(days=1),
            ranges_effective=before(60, 300),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """The content of one document. `seed` determines random content, such as careers and values."""

    site: SampleSite
    dates: PacketDates
    seed: str
    signed: bool = True
    fillable: bool = False  # whether answers are in form fields instead of printed
    # For Form FDA 1572, by number of the box: its content; "" for empty, BY_HAND for handwriting.
    boxes: Mapping[int, str] = field(default_factory=dict)

    @property
    def signature_seed(self) -> str | None:
        """Return the seed of the signature, or None for an unsigned document."""
        return self.seed if self.signed else None

    @property
    def rng(self) -> random.Random:
        """Return a new generator, so that each access produces the same numbers."""
        return random.Random(self.seed)

    def day(self, day: date) -> str:
        """Return the date in the long format of the site's country."""
        return format_long_date(day, american=self.site.is_american)
