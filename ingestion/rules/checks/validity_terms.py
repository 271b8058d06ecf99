"""How long a document of one type counts at one site: its type's rule, as the study has it."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self, TypeVar

from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.dates import months_later
from ingestion.rules.findings import Facts


@dataclass(frozen=True, slots=True)
class Override:
    """What a study lays down for one type, on record. None: as the type has it."""

    max_age_months: int | None = None  # 0: does not age
    warn_days: tuple[int, ...] | None = None
    warns_only: bool = False  # what ran out is filed, with a remark


@dataclass(frozen=True, slots=True)
class Terms:
    printed: str  # the field that holds a printed expiry; "" for none
    counted_from: str  # the field from which its age is counted
    max_age_months: int  # 0: it does not age
    warn_days: tuple[int, ...]
    printed_wins: bool = False
    less_a_day: bool = False
    warns_only: bool = False
    activated_on: date | None = None  # only of a type that is judged at activation

    @classmethod
    def of(cls, kind: DocumentType, override: Override | None, activated_on: date | None) -> Self:
        rule, own = kind.validity, override or Override()
        return cls(
            printed=rule.expires,
            counted_from=rule.from_ or kind.dated_by,
            max_age_months=_either(own.max_age_months, rule.max_age_months),
            warn_days=_either(own.warn_days, rule.warn_days),
            printed_wins=rule.printed_wins,
            less_a_day=rule.less_a_day,
            warns_only=own.warns_only,
            activated_on=activated_on if rule.at_activation else None,
        )

    @property
    def facts(self) -> Facts:
        """For the record: what a document was judged by; nothing where it never runs out."""
        said: dict[str, str | int] = {}
        if self.max_age_months:
            said["months"] = self.max_age_months
        if self.warns_only:
            said["warns_only"] = 1
        if self.activated_on:
            said["activated_on"] = self.activated_on.isoformat()
        return said

    def last_day(self, printed: date | None, counted_from: date | None) -> date | None:
        """The last day on which it counts; None when nothing says so, or a live site needs none."""
        last = self.runs_out(printed, counted_from)
        return None if last and self.is_settled_by_activation(last) else last

    def runs_out(self, printed: date | None, counted_from: date | None) -> date | None:
        """The same by the document alone, whether or not its site is live."""
        days = (printed, self.last_day_of_age(printed, counted_from))
        return min((day for day in days if day), default=None)

    def last_day_of_age(self, printed: date | None, counted_from: date | None) -> date | None:
        if not self.max_age_months or not counted_from:
            return None
        if self.printed_wins and printed:
            return None
        later = months_later(counted_from, self.max_age_months)
        return later - timedelta(days=self.less_a_day)

    def is_settled_by_activation(self, last: date) -> bool:
        """It counted on the day on which the site went live, and that suffices."""
        return self.activated_on is not None and self.activated_on <= last

    def step(self, days_left: int) -> int | None:
        """The shortest warning that is due so many days before the last one; None for none yet.

        0 when the last day has passed.
        """
        if days_left < 0:
            return 0
        return min((days for days in self.warn_days if days_left <= days), default=None)


T = TypeVar("T")


def _either(laid_down: T | None, usual: T) -> T:
    return usual if laid_down is None else laid_down
