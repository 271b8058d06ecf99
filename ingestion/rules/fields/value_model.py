"""Suggests values by a statistical model where the rules found none, and compares those found.

The rules know the captions and sentences of many institutions, and each new institution has others.
The model knows which words usually stand around a value, and which form it has: it is a conditional
logistic regression for each field, which `bench.fit_values` fits with invented documents. A
suggestion is always in doubt, so that a person confirms it. A value in doubt is replaced by one
that is more probable, and a value without doubt is doubted if another one is far more probable. The
coefficients are in `value_model.json`. At run time only additions are needed.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ingestion.reading.languages import ENGLISH
from ingestion.rules.document_types import VALUE_MODEL_FILE, FieldSpec
from ingestion.rules.fields import text_readings
from ingestion.rules.fields.persons.names import may_be_same_person
from ingestion.rules.fields.printed_candidates import (
    DATE,
    NUMBER,
    PERSON,
    VERSION,
    PrintedCandidate,
    days_of,
    fold_number,
    list_dates,
    list_numbers,
    list_persons,
    list_versions,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, FieldValue

SUGGESTED_CONFIDENCE = 60.0  # percent, at most, of a value that the model suggests
# Log-odds by which a candidate is more probable than a value in doubt that it replaces.
MIN_ADVANTAGE = {NUMBER: 1.5, VERSION: 1.5, DATE: 0.25, PERSON: 1.5}
MIN_CONTRADICTION = 1.0  # the same, of a candidate because of which a value is doubted
MIN_PART = 4  # letters and digits of a number that is a part of another one

LISTS: Mapping[str, Callable[[SearchedDocument], Sequence[PrintedCandidate]]] = {
    NUMBER: list_numbers,
    VERSION: list_versions,
    DATE: list_dates,
    PERSON: list_persons,
}
_VERSION_SIGN = re.compile(r"(?i)^v(?:ersion|er|\.)?\s?(?=\d)")


@dataclass(frozen=True, slots=True)
class FieldModel:
    """The model of one field of some types. A score is the log-odds that a candidate is its value.

    A candidate is suggested if its score is at least `threshold`.
    """

    kind: str  # of the candidates: NUMBER, VERSION, DATE or PERSON
    intercept: float
    weights: Mapping[str, float]  # by feature
    threshold: float

    def score(self, candidate: PrintedCandidate) -> float:
        """Return the score of a candidate."""
        weights = self.weights
        return self.intercept + sum([weights.get(each, 0.0) for each in candidate.features])


ValueModel = Mapping[tuple[str, str], FieldModel]  # by type and field


@cache
def load_value_model() -> ValueModel:
    """Return the built-in model. It is read once for each process."""
    content = json.loads(VALUE_MODEL_FILE.read_text(encoding="utf-8"))
    return {
        (slug, each["field"]): FieldModel(
            each["kind"],
            each["intercept"],
            each["weights"],
            each["threshold"],
        )
        for each in content
        for slug in each["types"]
    }


class Suggestions:
    """The suggestions of the model for the fields of one document.

    `order` lists pairs of fields with dates of which the second one is later.
    """

    def __init__(
        self,
        document: SearchedDocument,
        order: Sequence[tuple[str, str]] = (),
        model: ValueModel | None = None,
    ) -> None:
        self._document, self._order = document, order
        self._model = load_value_model() if model is None else model
        self._candidates: dict[str, Sequence[PrintedCandidate]] = {}

    def complete(
        self, values: Mapping[str, FieldValue], searched: Collection[str]
    ) -> dict[str, FieldValue]:
        """Return the values of a document, with suggestions for the fields that were searched.

        A suggestion fills in a value that is missing, or replaces one in doubt. A value without
        doubt is doubted if another candidate is far more probable.
        """
        completed = dict(values)
        for spec in self._document.kind.fields:
            others = {name: each for name, each in completed.items() if name != spec.name}
            value = values.get(spec.name)
            if value is not None:
                value = self._compare(spec, value, others)
            elif spec.name in searched:
                value = self._suggest(spec, others)
            if value is not None:
                completed[spec.name] = value
        return completed

    def _suggest(self, spec: FieldSpec, values: Mapping[str, FieldValue]) -> FieldValue | None:
        """Return a value of a field that has none, or None. `values` are those of other fields."""
        ranked = self._rank(spec, values)
        if not ranked or ranked[0][0] < self._model[self._document.kind.slug, spec.name].threshold:
            return None
        return make_value(ranked[0][1], spec)

    def _compare(
        self, spec: FieldSpec, value: FieldValue, others: Mapping[str, FieldValue]
    ) -> FieldValue:
        """Return a value, or the more probable one; in doubt if both are possible.

        `others` are the values of other fields. The page of the document shows both readings.
        """
        ranked = self._rank(spec, others)
        own = max((score for score, each in ranked if _is_value(each, spec, value)), default=None)
        if own is None and fold_number(value.value) in map(fold_number, _texts_of(others)):
            return self._suggest(spec, others) or value  # a text is the value of one field only
        is_of_one_text = value.readings and not value.is_unconfirmed and value.day is None
        if own is None or is_of_one_text:  # only the order of day and month is in doubt
            return value
        (best, candidate), kind = ranked[0], self._model[self._document.kind.slug, spec.name].kind
        better = make_value(candidate, spec)
        if best <= own + (MIN_CONTRADICTION if value.is_sure else MIN_ADVANTAGE[kind]):
            return value
        readings = better.readings or (better.value, value.value)
        if value.is_sure:
            readings = (value.value, better.value) if not better.readings else ()
            better = value
        confidence = min(better.confidence, DOUBTFUL_CONFIDENCE)
        return replace(better, confidence=confidence, is_unconfirmed=True, readings=readings)

    def _rank(
        self, spec: FieldSpec, values: Mapping[str, FieldValue]
    ) -> list[tuple[float, PrintedCandidate]]:
        """Return the possible candidates of a field with their scores, the best one first."""
        kind = self._document.kind
        model = self._model.get((kind.slug, spec.name))
        if model is None or kind.language != ENGLISH:
            return []
        ranked = [
            (model.score(each), each)
            for each in self._list(model.kind)
            if self._is_possible(each, spec, values)
        ]
        return sorted(ranked, key=lambda each: each[0], reverse=True)

    def _list(self, kind: str) -> Sequence[PrintedCandidate]:
        if kind not in self._candidates:
            self._candidates[kind] = LISTS[kind](self._document)
        return self._candidates[kind]

    def _is_possible(
        self, candidate: PrintedCandidate, spec: FieldSpec, values: Mapping[str, FieldValue]
    ) -> bool:
        """Return whether the other values of the document permit a candidate.

        A text is the value of one field only, and a document does not end on the day on which it
        begins.
        """
        if candidate.written:
            begins = [
                values[begin].day
                for begin, end in self._order
                if end == spec.name and begin in values
            ]
            last = max(days_of(candidate.written))
            return all(begin is None or begin < last for begin in begins)
        return fold_number(candidate.text) not in map(fold_number, _texts_of(values))


def _texts_of(values: Mapping[str, FieldValue]) -> list[str]:
    return [each.value for each in values.values()]


def _is_value(candidate: PrintedCandidate, spec: FieldSpec, value: FieldValue) -> bool:
    """Return whether a candidate is a value, or one of them is a part of the other."""
    if spec.kind == "name":
        return may_be_same_person(candidate.text, value.value)
    if spec.kind == "date":
        return make_value(candidate, spec).value == value.value
    parts = sorted((fold_number(candidate.text), fold_number(value.value)), key=len)
    return parts[0] == parts[1] or (len(parts[0]) >= MIN_PART and parts[0] in parts[1])


def make_value(candidate: PrintedCandidate, spec: FieldSpec) -> FieldValue:
    """Return a candidate as the value of a field, which a person has to confirm."""
    text = candidate.text
    if spec.is_version:
        text = _VERSION_SIGN.sub("", text)
    found = text_readings.value_of_text(candidate.page, spec, text)
    confidence = min(found.confidence, SUGGESTED_CONFIDENCE)
    found = replace(found, confidence=confidence, is_unconfirmed=True, is_suggested=True)
    if written := candidate.written:
        readings = tuple(day.isoformat() for day in written.readings)
        day = written.day
        found = replace(
            found, value=day.isoformat() if day else written.raw, day=day, readings=readings
        )
    return found
