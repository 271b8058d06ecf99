"""What one document is to say: its site, its dates, and whether it is signed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Self

from samples.people_and_sites import SampleSite

BY_HAND = "by hand"


def anniversary(day: date, years: int) -> date:
    """The same day in another year; 28 February for a 29th that does not exist there."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def short(day: date) -> str:
    return f"{day:%d %b %Y}"


def long(day: date, *, american: bool) -> str:
    return f"{day:%B} {day.day}, {day.year}" if american else f"{day.day} {day:%B %Y}"


def numeric(day: date) -> str:
    """As the boxes of an FDA form ask for it."""
    return f"{day:%m/%d/%Y}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """The days of one site's packet. In order and in force at `today`, unless expired is asked for.

    Nothing in force runs out within 120 days, so that no warning of a near expiry is due.
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
        """The same draws whether expired or not: one fault moves no other date."""

        def before(least: int, most: int) -> date:
            return today - timedelta(days=rng.randint(least, most))

        lapse = 2 if expired else 0  # years by which what lasts two of them lies further back
        meeting = anniversary(before(60, 160), -1 if expired else 0)
        licence, gcp, clia = before(120, 480), before(90, 600), before(100, 420)
        return cls(
            protocol=protocol,
            board_meeting=meeting,
            approval=meeting + timedelta(days=rng.randint(1, 6)),
            # From the convened meeting to the day before its anniversary (worksheet HRP-302).
            approval_ends=anniversary(meeting, 1) - timedelta(days=1),
            signature=before(8, 45),
            licence_issued=anniversary(licence, -lapse),
            licence_ends=anniversary(licence, 2 - lapse),
            gcp_completed=gcp,
            gcp_ends=anniversary(gcp, 3),
            clia_effective=anniversary(clia, -lapse),
            clia_ends=anniversary(clia, 2 - lapse) - timedelta(days=1),
            ranges_effective=before(60, 300),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """`seed` decides what is left to chance: the careers, the values, the movement of the pen."""

    site: SampleSite
    dates: Dates
    seed: str
    signed: bool = True
    fillable: bool = False  # answers in the fields of a form instead of printed
    # Of Form FDA 1572: what stands in a box instead; "" for nothing, BY_HAND for handwriting.
    boxes: Mapping[int, str] = field(default_factory=dict)

    @property
    def rng(self) -> random.Random:
        """A fresh one: asking twice gives the same draws."""
        return random.Random(self.seed)

    def day(self, day: date) -> str:
        """The long form that is usual in the site's country."""
        return long(day, american=self.site.is_american)
