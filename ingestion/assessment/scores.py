"""Compares the results of an assessment with the truth, and the totals with the criteria.

A document that was found belongs to the true document with which it shares the most pages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ingestion.assessment.assess import AssessedDocument, AssessedFile
from ingestion.assessment.truth import Criteria, TrueDocument, TrueFile
from ingestion.core.states import DocumentState
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields import dates
from ingestion.rules.fields.month_dates import find_months
from ingestion.rules.fields.persons import names, person_names
from ingestion.rules.fields.values import FieldValue

# Fields of a type that hold the value which a truth names differently, the best first.
FIELD_NAMES = {
    "board": ("irb_name",),
    "person": ("person", "investigator"),
}


@dataclass(slots=True)
class TypeCounts:
    """Counts how often a type was given rightly, was given at all, and should have been given."""

    right: int = 0
    given: int = 0
    true: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return precision and recall; None where there is nothing to divide by."""
        return {
            "documents": self.true,
            "recall": _share(self.right, self.true),
            "precision": _share(self.right, self.given),
        }


@dataclass(slots=True)
class Totals:
    """The totals of an assessment. Lists name the files, so that a person can look at them."""

    files: int = 0
    documents: int = 0  # true documents of a supported type
    recognised: int = 0  # of them, with the right type
    recognised_in_three: int = 0  # of them, with the right type among the candidates
    types: dict[str, TypeCounts] = field(default_factory=dict)
    false_types: list[str] = field(default_factory=list)
    false_acceptances: list[str] = field(default_factory=list)
    false_rejections: list[str] = field(default_factory=list)
    values: int = 0  # printed values of documents with the right type
    values_exact: int = 0
    values_wrong: list[str] = field(default_factory=list)  # read wrong, and without doubt
    boundaries: Counter[str] = field(default_factory=Counter)  # right, found, true
    missing: list[str] = field(default_factory=list)  # files of the truth that were not assessed

    @property
    def boundaries_f1(self) -> float | None:
        """Return the harmonic mean of precision and recall of boundaries; None without any."""
        total = self.boundaries["found"] + self.boundaries["true"]
        return 2 * self.boundaries["right"] / total if total else None

    def as_json(self) -> dict[str, Any]:
        """Return the totals as in the JSON of `assess_corpus` (docs/assessment.md)."""
        f1 = self.boundaries_f1
        return {
            "files": self.files,
            "documents": self.documents,
            "recognised": _share(self.recognised, self.documents),
            "recognised_in_three": _share(self.recognised_in_three, self.documents),
            "types": {slug: counts.as_json() for slug, counts in sorted(self.types.items())},
            "false_types": self.false_types,
            "false_acceptances": self.false_acceptances,
            "false_rejections": self.false_rejections,
            "values": self.values,
            "values_exact": _share(self.values_exact, self.values),
            "values_wrong": self.values_wrong,
            "boundaries_f1": None if f1 is None else round(f1, 4),
            "missing": self.missing,
        }

    def failed_criteria(self, criteria: Criteria) -> Iterator[str]:
        """Yield a sentence for each criterion that is missed. One without data is not missed."""
        shares = (
            ("Documents with the right type", self.recognised, self.documents, "min_recognised"),
            (
                "Documents with the right type among three candidates",
                self.recognised_in_three,
                self.documents,
                "min_recognised_in_three",
            ),
            ("Values read exactly", self.values_exact, self.values, "min_values_exact"),
        )
        for what, count, total, name in shares:
            bound = getattr(criteria, name)
            if total and count / total < bound:
                yield f"{what}: {count} of {total}. At least {bound:.1%} are required."
        limits = (
            ("documents of no supported type were given one", self.false_types, "max_false_types"),
            (
                "documents were filed that should not be",
                self.false_acceptances,
                "max_false_acceptances",
            ),
            (
                "documents were rejected that should not be",
                self.false_rejections,
                "max_false_rejections",
            ),
        )
        for what, files, name in limits:
            bound = getattr(criteria, name)
            if len(files) > bound:
                yield f"{len(files)} {what}; at most {bound} are allowed: {', '.join(files)}."
        wrong = len(self.values_wrong)
        if self.values and wrong / self.values > criteria.max_values_wrong:
            yield (
                f"{wrong} of {self.values} values were read wrong without doubt. At most "
                f"{criteria.max_values_wrong:.1%} are allowed: {'; '.join(self.values_wrong)}."
            )
        f1 = self.boundaries_f1
        if f1 is not None and f1 < criteria.min_boundaries_f1:
            yield (
                f"The F1 of boundaries is {f1:.3f}. At least {criteria.min_boundaries_f1:.3f} is "
                "required."
            )
        if self.missing:
            yield f"These files of the truth were not found: {', '.join(self.missing)}."


def compare_with_truth(results: Mapping[str, AssessedFile], truth: Iterable[TrueFile]) -> Totals:
    """Return the totals of the results. Files that the truth does not name are left out."""
    totals = Totals()
    for file in truth:
        if (result := results.get(file.file)) is None:
            totals.missing.append(file.file)
            continue
        totals.files += 1
        documents = file.true_documents
        for true in documents:
            _compare_document(true, _best_match(true, result.documents), file.file, result, totals)
        if documents and not file.bundle:
            true_starts = {true.pages[0] for true in documents} - {1}
            found_starts = {found.pages[0] for found in result.documents} - {1}
            totals.boundaries["right"] += len(true_starts & found_starts)
            totals.boundaries["found"] += len(found_starts)
            totals.boundaries["true"] += len(true_starts)
    return totals


def _best_match(true: TrueDocument, found: Sequence[AssessedDocument]) -> AssessedDocument | None:
    def shared(document: AssessedDocument) -> int:
        first, last = max(true.pages[0], document.pages[0]), min(true.pages[1], document.pages[1])
        return last - first + 1

    best = max(found, key=shared, default=None)
    return best if best and shared(best) > 0 else None


def _compare_document(
    true: TrueDocument,
    found: AssessedDocument | None,
    name: str,
    result: AssessedFile,
    totals: Totals,
) -> None:
    label = f"{name}, pages {true.pages[0]} to {true.pages[1]}"
    slug = found.slug if found else ""
    if slug:
        totals.types.setdefault(slug, TypeCounts()).given += 1
    if true.right_types:
        counts = totals.types.setdefault(true.type, TypeCounts())
        counts.true += 1
        totals.documents += 1
        candidates = {each.slug for each in found.candidates} if found else set()
        totals.recognised_in_three += bool(true.right_types & (candidates | {slug}))
        if slug in true.right_types:
            totals.types.setdefault(slug, TypeCounts()).right += 1
            totals.recognised += 1
            _compare_values(true, found, label, totals)
    elif slug:
        totals.false_types.append(label)
    state = found.state if found else result.state
    is_wrong = true.state is not None and state != true.state
    if state == DocumentState.ARCHIVED and (is_wrong or slug not in true.right_types):
        totals.false_acceptances.append(label)
    elif state == DocumentState.REJECTED and is_wrong:
        totals.false_rejections.append(label)


def _compare_values(
    true: TrueDocument, found: AssessedDocument | None, label: str, totals: Totals
) -> None:
    if found is None:
        return
    for each in compare_values(true.values, found.slug, found.fields):
        totals.values += 1
        if each.outcome is Outcome.EXACT:
            totals.values_exact += 1
        elif each.outcome is Outcome.WRONG:
            totals.values_wrong.append(
                f"{label}: {each.name} is {each.read!r}, not {each.printed!r}"
            )


class Outcome(StrEnum):
    """Lists the ways in which a printed value may be read."""

    EXACT = "exact"
    MISSING = "missing"
    IN_DOUBT = "in doubt"  #: Read wrong, and shown to a person as a value in doubt.
    WRONG = "wrong"  #: Read wrong without doubt.


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """A printed value of a document, and what was read."""

    name: str  # of the value in the truth
    printed: str
    read: str  # "" if nothing was read
    outcome: Outcome


def compare_values(
    printed: Mapping[str, str], slug: str, fields: Iterable[FieldValue]
) -> Iterator[ComparedValue]:
    """Yield how each printed value of a document of a type was read.

    Values that the type has no field for are left out.
    """
    read = {value.name: value for value in fields}
    known = {spec.name: spec.kind for spec in TYPES[slug].fields}
    for name, text in printed.items():
        field_name = next((each for each in FIELD_NAMES.get(name, (name,)) if each in known), None)
        if field_name is None:
            continue
        value = read.get(field_name)
        if value is None:
            outcome = Outcome.MISSING
        elif _is_right(value.value, text, field_name, known[field_name]):
            outcome = Outcome.EXACT
        else:
            outcome = Outcome.WRONG if value.is_sure else Outcome.IN_DOUBT
        yield ComparedValue(name, text, value.value if value else "", outcome)


def _is_right(read: str, printed: str, name: str, kind: str) -> bool:
    """Return whether a value is the printed one, as the documents of its field are compared.

    A number is right with or without the caption before it, as in "IRB # 150692". An institution is
    right if its distinctive words are. A title is right with or without its subtitle, and a version
    with or without "v".
    """
    if is_same_value(read, printed, is_name=kind == "name"):
        return True
    if name in _VERSIONS:
        named = re.search(r"(?i)\bversion (\d[\d.]*)", printed)
        version = named[1] if named else printed
        return bool(re.search(r"\d", version)) and names.is_same_version(read, version)
    if kind == "number":
        bare = fuzzy_phrases.strip_punctuation(_CAPTION_OF_NUMBER.sub("", printed))
        plain = fuzzy_phrases.strip_punctuation(read)
        return plain == bare or plain in {f"irb{bare}", f"fwa{bare}"}
    if name in _INSTITUTIONS:
        are_named = names.names_institution(read) and names.names_institution(printed)
        return are_named and names.is_same_institution(read, printed)
    if name == "title":
        shorter, longer = sorted((read, printed), key=len)
        main, _, subtitle = longer.partition(":")
        return bool(subtitle) and is_same_value(shorter, main)
    return False


# Capital words, and "#" or "number", before a number.
_CAPTION_OF_NUMBER = re.compile(r"^(?:[A-Z][A-Za-z]*\s?)+(?:#|No\.?|Number)?[\s:]*(?=\d)")
_DEGREE = re.compile(r"(?i),\s*(?:d\.?o|m\.?a|b\.?a)\.?(?=\s*(?:,|\W*$))")  # each is a surname, too
# Letters of fellowships and registers behind a name, which is not in capitals itself.
_CAPITALS_AT_END = re.compile(r"^(?P<name>[^,]*[a-z][^,]*(?:,.*?)?)(?:,\s*[A-Z]{4,7})+\W*$")
_BRACKETS_BEHIND_DEGREE = re.compile(r"\s*\([^()]*\)(?=,|$)")  # with the subject of a degree
_INSTITUTIONS = frozenset({"irb_name", "institution", "lab_name"})
_VERSIONS = frozenset({"version", "protocol_version"})


def _has_surname_first(name: str) -> bool:
    """Return whether a part of a name, and no degree, stands behind its first comma."""
    return bool(names.split_name(name.partition(",")[2]))


def is_same_value(read: str, printed: str, *, is_name: bool = False) -> bool:
    """Return whether a value is the printed one. Spaces, case and punctuation are ignored.

    A date is right if it is a day that the printed text can mean, and a name if only titles and
    degrees differ, or if one of them has the surname first, as in "Smith, Ann".
    """
    if is_name:
        plain = (
            _BRACKETS_BEHIND_DEGREE.sub("", person_names.blank_bracketed_title(text))
            for text in (read, printed)
        )
        one, other = (_CAPITALS_AT_END.sub(r"\g<name>", _DEGREE.sub("", text)) for text in plain)
        parts, other_parts = names.split_name(one), names.split_name(other)
        has_surname_first = _has_surname_first(one) != _has_surname_first(other)
        return parts == other_parts or (has_surname_first and sorted(parts) == sorted(other_parts))
    if re.fullmatch(r"\d{4}-\d\d-\d\d", read):
        full_year = re.sub(r"([/.-])(\d\d)$", r"\g<1>20\2", printed.strip())
        return any(
            written.day is not None and written.day.isoformat() == read
            for month_first in (False, True)
            for text in (printed, full_year)
            for written in dates.find_dates(text, month_first=month_first)
        ) or _is_other_reading(read, full_year)
    if any(written.value == read for written in find_months(printed)):
        return True
    return fuzzy_phrases.strip_punctuation(read) == fuzzy_phrases.strip_punctuation(printed)


def _is_other_reading(read: str, printed: str) -> bool:
    """Return whether a date of numbers, read with the day first, is the day that was read."""
    match = re.fullmatch(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})", printed)
    return match is not None and f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}" == read


def _share(count: int, total: int) -> float | None:
    return round(count / total, 4) if total else None
