"""Holds the document in which fields are searched, with what several fields need of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import course_names, geometry
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import DateRole, is_of_other_event, is_of_other_validity
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.dates_in_context import DateInContext, dates_in_context
from ingestion.rules.fields.heads.layout import HEAD_SHARE
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.persons.person_roles import (
    PersonInRole,
    find_investigators,
    has_other_role,
)
from ingestion.rules.fields.reference_numbers import ReferenceNumber, find_references
from ingestion.rules.fields.slashed_captions import SlashedValue, find_slashed_values
from ingestion.rules.fields.text_lines import TextLine, split_lines
from ingestion.rules.fields.titles import title_texts
from ingestion.rules.fields.values import FieldValue

_OF_COMMITTEE = frozenset({DateRole.APPROVAL, DateRole.DECISION, DateRole.REVIEW})
_DECIDING = frozenset({DateRole.APPROVAL, DateRole.DECISION})
MAX_PAGES_WITH_ROLES = 6  # pages on which investigators are searched in the text
_ROLES_BESIDE_LETTER = 2  # of a field, of which a date competes with that of a letter
_LONG_BEFORE = timedelta(days=90)  # between two decisions on the same study
_APPROVAL_PERIOD = re.compile(r"(?i)\bapproval period\W*$")
LIST_KINDS = frozenset({"lines", "names"})
_EARLIER_VERSION = re.compile(
    r"(?i)\b(?:original|initial|first|previous|prior|superseded)(?:\sprotocol)?\W*$"
)
_TEXT_KINDS = frozenset({"text", "name", *LIST_KINDS})


@dataclass(slots=True)
class SearchedDocument:
    """A document while its fields are read, with what several fields need."""

    reading: DocumentReading
    kind: DocumentType
    month_first: bool | None
    # Whether the version of a master was left out, so that the one that is left is in doubt.
    has_other_version: bool = False
    text: str = field(init=False)
    labels: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # by the field's name
    lines: dict[int, Sequence[TextLine]] = field(default_factory=dict)
    heads: dict[int, list[tuple[TextLine, str]]] = field(default_factory=dict)
    slashed: dict[int, list[SlashedValue]] = field(default_factory=dict)
    dates: dict[int, list[DateInContext]] = field(default_factory=dict)
    investigators: dict[int, list[PersonInRole]] = field(default_factory=dict)
    references: dict[int, list[ReferenceNumber]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = self.reading.text

    def labels_of(self, spec: FieldSpec) -> list[tuple[int, str]]:
        """Return the captions of a field that the document may contain, with their ranks."""
        if spec.name not in self.labels:
            letters = fuzzy_phrases.fold_page(self.text)
            self.labels[spec.name] = [
                (rank, label)
                for rank, label in enumerate(spec.labels)
                if fuzzy_phrases.fold_letters(label) in letters
            ]
        return self.labels[spec.name]

    def lines_of(self, page: PageReading) -> Sequence[TextLine]:
        """Return the printed lines of a page."""
        if page.number not in self.lines:
            self.lines[page.number] = split_lines(page)
        return self.lines[page.number]

    def slashed_values_of(self, page: PageReading) -> list[SlashedValue]:
        """Return the parts of the values of a page whose captions slashes separate."""
        if page.number not in self.slashed:
            self.slashed[page.number] = list(find_slashed_values(self.lines_of(page)))
        return self.slashed[page.number]

    def heads_of(self, page: PageReading) -> list[tuple[TextLine, str]]:
        """Return the lines of a page that may be heads of columns, each with its folded letters."""
        if page.number not in self.heads:
            heads = [line for line in self.lines_of(page) if not line.text.endswith(":")]
            letters = fuzzy_phrases.fold_words([head.text.rstrip(" :*#") for head in heads])
            self.heads[page.number] = list(zip(heads, letters, strict=True))
        return self.heads[page.number]

    def dates_of(self, page: PageReading) -> list[DateInContext]:
        """Return the dates of a page, each with what the words around it show."""
        if page.number not in self.dates:
            self.dates[page.number] = dates_in_context(
                page, self.lines_of(page), month_first=self.month_first
            )
        return self.dates[page.number]

    def investigators_of(self, page: PageReading) -> list[PersonInRole]:
        """Return the names that the text of a page calls those of investigators."""
        if page.number not in self.investigators:
            self.investigators[page.number] = [
                each
                for found in find_investigators(page.text)
                for each in _within_cells(found, self.lines_of(page))
            ]
        return self.investigators[page.number]

    def references_of(self, page: PageReading) -> list[ReferenceNumber]:
        """Return the numbers of a page that may name a study."""
        if page.number not in self.references:
            self.references[page.number] = list(find_references(page.text))
        return self.references[page.number]

    @property
    def lead_investigators(self) -> list[str]:
        """Return the names that the text calls those of a principal investigator."""
        return [
            each.name
            for page in self.reading.pages[:MAX_PAGES_WITH_ROLES]
            for each in self.investigators_of(page)
            if each.rank == 0
        ]

    @property
    def is_of_study(self) -> bool:
        """Return whether the documents of the type name one study by its title."""
        return any(spec.is_title for spec in self.kind.fields)

    def is_of_other_event(self, before: str, spec: FieldSpec, caption: str) -> bool:
        """Return whether the words before a caption make it that of another event or version.

        "Original approval date" is no caption of the day on which an amendment was approved, and
        "Original protocol: version" none of the current version.
        """
        if spec.is_version:
            return _EARLIER_VERSION.search(before) is not None
        if not spec.roles:
            return False
        if DateRole.END in spec.roles and self.is_of_study and is_of_other_validity(before):
            return True
        may_be_earlier = DateRole.EARLIER in spec.roles and DateRole.APPROVAL in spec.roles
        return not may_be_earlier and is_of_other_event(before, caption)

    def is_doubtful(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether a value may be another one, or not the whole value, by its own words."""
        if spec.is_title:
            title = value.value
            return title_texts.may_be_cut(title) or title_texts.begins_with_number(title)
        if spec.is_version or DateRole.VERSION in spec.roles:
            return self.has_other_version or self.has_competing_days(spec, value)
        if spec.line_with:
            return course_names.is_doubtful(value.value)
        if spec.kind == "name" and not spec.alone:
            return not person_names.is_full_name(value.value) or has_other_role(
                self.text, value.value, is_holder=spec.is_large
            )
        return self.has_competing_days(spec, value)

    def has_competing_days(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether the dates of the document cast doubt on a day.

        The days of the first role of the field compete: of several, one is without doubt only if
        it is the only one at a caption. Without any, all days of other roles or of none compete.
        """
        if value.day is None or not spec.roles:
            return False
        if self.is_other_than_decided(spec, value):
            return True
        days = self._find_competing_days(spec, value)
        return bool(days) and days != {value.day}

    def _find_competing_days(self, spec: FieldSpec, value: FieldValue) -> set[date | None]:
        """Return the days that may be the value of a field by their roles; none if all may."""
        by_role: dict[str, list[DateInContext]] = {}
        for page in self.reading.pages:
            for each in self.dates_of(page):
                is_dated = each.value.day or each.value.readings
                if is_dated and not self._is_of_other_validity(spec, each):
                    by_role.setdefault(each.role.value, []).append(each)
        is_of_letter = spec.letter_date == "value"
        first = spec.roles[: _ROLES_BESIDE_LETTER if is_of_letter else 1]
        if DateRole.APPROVAL in first:
            first = (DateRole.APPROVAL.value, DateRole.DECISION.value)
        if competing := [each for role in first for each in by_role.get(role, ())]:
            at_captions = [each for each in competing if Way.PLACE in each.ways]
            # The beginning of a period is not always the day of the decision.
            if all(_APPROVAL_PERIOD.search(each.before) for each in at_captions):
                at_captions = competing
            return {_day_beside(value, each) for each in at_captions}
        if is_of_letter:
            return set()  # the date of the letter is the value
        others = {_day_beside(value, each) for role in spec.roles for each in by_role.get(role, ())}
        return others | self._days_without_role

    @property
    def _days_without_role(self) -> set[date | None]:
        """Return the days that no words of the document give a meaning."""
        known = {each.value.day for page in self.reading.pages for each in self.dates_of(page)}
        written = {
            each.day
            for page in self.reading.pages
            for each in find_dates(page.text, month_first=self.month_first)
        }
        return written - known - {None}

    def _is_of_other_validity(self, spec: FieldSpec, found: DateInContext) -> bool:
        """Return whether a date is the end of something else than what the document approves."""
        if spec.not_near and fuzzy_phrases.contains_phrase(found.before, spec.not_near):
            return True
        is_end = found.role is DateRole.END and self.is_of_study
        return is_end and is_of_other_validity(found.before)

    def is_other_than_decided(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether the committee approved or decided on other days than that of a value.

        If no date is that of a decision, a meeting and the beginning of a validity contradict each
        other.
        """
        if value.day is None or DateRole.APPROVAL not in spec.roles[:1]:
            return False
        found = [each for page in self.reading.pages for each in self.dates_of(page)]
        days = {each.value.day for each in found if each.role in _DECIDING and each.value.day}
        if days:
            return value.day not in days
        begins = {
            each.value.day
            for each in found
            if each.role is DateRole.BEGINNING and Way.PLACE in each.ways
        }
        met = {each.value.day for each in found if each.role is DateRole.REVIEW}
        return bool(begins) and not met <= begins

    def is_in_head(self, value: FieldValue) -> bool:
        """Return whether a value stands where a letter has its date, or its place is unknown."""
        if value.page > 1:
            return False
        height = self.reading.pages[0].height
        return value.box is None or value.box.top < HEAD_SHARE * height

    def is_outdated(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether a decision is long before another one, if earlier ones do not count.

        An amendment is approved long after its study was.
        """
        if value.day is None or not spec.roles or "earlier" in spec.roles:
            return False
        if DateRole.APPROVAL not in spec.roles[:1]:
            return False
        latest = max(
            (
                each.value.day
                for page in self.reading.pages
                for each in self.dates_of(page)
                if each.role in _OF_COMMITTEE and each.value.day
            ),
            default=value.day,
        )
        return value.day + _LONG_BEFORE < latest

    def is_printed(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether a text is part of the blank form, and so not a value."""
        if spec.kind not in _TEXT_KINDS:
            return False
        if spec.kind == "name" and not person_names.may_be_name(value.value):
            return True
        return self.kind.is_printed(value.value, is_name=spec.kind == "name")


def _within_cells(found: PersonInRole, lines: Sequence[TextLine]) -> Iterator[PersonInRole]:
    """Yield the investigators of a row of a table if a name goes on in its next cell, else `found`.

    In "Investigator | Ann Smith | Second marker", the text alone does not show where the name ends.
    """
    words = found.name.split()
    is_in_cell = any(found.name in line.text for line in lines)
    for end in range(len(words) - 1, 1, -1) if not is_in_cell else ():
        name, rest = " ".join(words[:end]), " ".join(words[end:])
        for cell in lines:
            if not cell.text.endswith(name):
                continue
            row = [each for each in lines if geometry.is_on_same_line(each.box, cell.box)]
            following = [each for each in row if each.box.left >= cell.box.right]
            if following and following[0].text.startswith(rest):
                yield from find_investigators("\n".join(each.text for each in row))
                return
    yield found


def _day_beside(value: FieldValue, found: DateInContext) -> date | None:
    """Return the day of a date, and that of a value if the date may mean it; or None."""
    if found.value.day is None and value.day and value.value in found.value.readings:
        return value.day
    return found.value.day
