"""The document in which fields are searched, with what several fields need of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import person_names
from ingestion.rules.fields.dates_in_context import DateInContext, dates_in_context
from ingestion.rules.fields.text_lines import TextLine, split_lines
from ingestion.rules.fields.values import FieldValue

LIST_KINDS = frozenset({"lines", "names"})
_TEXT_KINDS = frozenset({"text", "name", *LIST_KINDS})


@dataclass(slots=True)
class SearchedDocument:
    """A document while its fields are read, with what several fields need."""

    reading: DocumentReading
    kind: DocumentType
    month_first: bool | None
    text: str = field(init=False)
    lines: dict[int, list[TextLine]] = field(default_factory=dict)
    dates: dict[int, list[DateInContext]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = self.reading.text

    def labels_of(self, spec: FieldSpec) -> Iterator[tuple[int, str]]:
        """Yield the captions of a field that the document may contain, with their ranks."""
        for rank, label in enumerate(spec.labels):
            if fuzzy_phrases.may_contain_phrase(self.text, label):
                yield rank, label

    def lines_of(self, page: PageReading) -> list[TextLine]:
        """Return the printed lines of a page."""
        if page.number not in self.lines:
            self.lines[page.number] = split_lines(page)
        return self.lines[page.number]

    def dates_of(self, page: PageReading) -> list[DateInContext]:
        """Return the dates of a page, each with what the words around it show."""
        if page.number not in self.dates:
            self.dates[page.number] = dates_in_context(
                page, self.lines_of(page), month_first=self.month_first
            )
        return self.dates[page.number]

    def is_printed(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether a text is part of the blank form, and so not a value."""
        if spec.kind not in _TEXT_KINDS:
            return False
        if spec.kind == "name" and not person_names.may_be_name(value.value):
            return True
        return self.kind.is_printed(value.value, is_name=spec.kind == "name")
