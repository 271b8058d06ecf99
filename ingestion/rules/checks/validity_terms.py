"""Determines the terms of validity of one document type at one site, by type and study."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.dates import add_months
from ingestion.rules.findings import Facts


@dataclass(frozen=True, slots=True)
class TermsOverride:
    """The rule of a study for one document type. None leaves the rule of the type in force."""

    max_age_months: int | None = None  # 0: no maximum age
    warn_days: tuple[int, ...] | None = None
    warns_only: bool = False  # an expired document is filed, with a remark


@dataclass(frozen=True, slots=True)
class ValidityTerms:
    """The rule by which a document is judged."""

    printed: str  # the field with the printed expiry date; "" if there is none
    counted_from: str  # the field with the date from which the age is counted
    max_age_months: int  # 0: no maximum age
    warn_days: tuple[int, ...]  # days before the last valid day at which to warn
    printed_wins: bool = False  # the maximum age applies only if no expiry date is printed
    less_a_day: bool = False  # the maximum age ends one day earlier
    warns_only: bool = False  # an expired document is filed, with a remark
    activated_on: date | None = None  # only for a type that is judged at activation

    @classmethod
    def of(
        cls, kind: DocumentType, override: TermsOverride | None, activated_on: date | None
    ) -> Self:
        """Return the terms of a type, with the override of a study, if it has one."""
        rule, own = kind.validity, override or TermsOverride()
        return cls(
            printed=rule.expires,
            counted_from=rule.from_ or kind.dated_by,
            max_age_months=(
                rule.max_age_months if own.max_age_months is None else own.max_age_months
            ),
            warn_days=rule.warn_days if own.warn_days is None else own.warn_days,
            printed_wins=rule.printed_wins,
            less_a_day=rule.less_a_day,
            warns_only=own.warns_only,
            activated_on=activated_on if rule.at_activation else None,
        )

    @property
    def facts(self) -> Facts:
        """Return the terms to store with a decision; empty if the document never expires."""
        facts: dict[str, str | int] = {}
        if self.max_age_months:
            facts["months"] = self.max_age_months
        if self.warns_only:
            facts["warns_only"] = 1
        if self.activated_on:
            facts["activated_on"] = self.activated_on.isoformat()
        return facts

    def last_valid_day(self, printed: date | None, counted_from: date | None) -> date | None:
        """Return the last day on which a document is valid.

        None means that it never expires, or that its site is active and needs no newer one.
        """
        last = self.expiry_date(printed, counted_from)
        return None if last and self.is_settled_by_activation(last) else last

    def expiry_date(self, printed: date | None, counted_from: date | None) -> date | None:
        """Return the last valid day by the document alone, whether or not its site is active."""
        days = (printed, self.last_day_of_age(printed, counted_from))
        return min((day for day in days if day), default=None)

    def last_day_of_age(self, printed: date | None, counted_from: date | None) -> date | None:
        """Return the day on which a document reaches its maximum age, or None without one."""
        if not self.max_age_months or not counted_from:
            return None
        if self.printed_wins and printed:
            return None
        return add_months(counted_from, self.max_age_months) - timedelta(days=self.less_a_day)

    def is_settled_by_activation(self, last: date) -> bool:
        """Return whether a document with this last day was valid when its site was activated.

        That is enough for some types.
        """
        return self.activated_on is not None and self.activated_on <= last

    def due_warning(self, days_left: int) -> int | None:
        """Return the shortest warning period, in days, that has begun; None if none has.

        `days_left` counts to the last valid day. The result is 0 after that day.
        """
        if days_left < 0:
            return 0
        return min((days for days in self.warn_days if days_left <= days), default=None)
