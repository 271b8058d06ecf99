"""Suggests values by a statistical model, where the rules found none.

The rules know the captions and sentences of many institutions, and each new institution has others.
The model knows which words usually stand around a value, and which form it has: it is a logistic
regression for each field, which `bench.fit_values` fits with invented documents. A suggestion is
always in doubt, so that a person confirms it. The coefficients are in `value_model.json`. At run
time only additions are needed.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

from ingestion.reading.languages import ENGLISH
from ingestion.rules.document_types import VALUE_MODEL_FILE, FieldSpec
from ingestion.rules.fields import text_readings
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
from ingestion.rules.fields.values import FieldValue

SUGGESTED_CONFIDENCE = 60.0  # percent, at most, of a value that the model suggests

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

    def suggest(self, spec: FieldSpec, values: Mapping[str, FieldValue]) -> FieldValue | None:
        """Return a value of a field that has none, or None. `values` are those of other fields."""
        kind = self._document.kind
        model = self._model.get((kind.slug, spec.name))
        if model is None or kind.language != ENGLISH:
            return None
        possible = [
            (model.score(each), place)
            for place, each in enumerate(self._list(model.kind))
            if self._is_possible(each, spec, values)
        ]
        score, place = max(possible, default=(-inf, 0))
        if score < model.threshold:
            return None
        return make_value(self._list(model.kind)[place], spec)

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
        return fold_number(candidate.text) not in (
            fold_number(each.value) for each in values.values()
        )


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
