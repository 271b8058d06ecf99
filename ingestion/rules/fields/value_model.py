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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from heapq import nlargest
from math import exp, log
from operator import itemgetter
from typing import Any

from ingestion.reading.languages import ENGLISH
from ingestion.rules.document_types import VALUE_MODEL_FILE, FieldSpec
from ingestion.rules.fields import text_readings
from ingestion.rules.fields.persons.names import may_be_same_person
from ingestion.rules.fields.printed_candidates import (
    DATE,
    NUMBER,
    PERSON,
    TEXT,
    VERSION,
    PrintedCandidate,
    days_of,
    fold_number,
    list_dates,
    list_numbers,
    list_persons,
    list_versions,
)
from ingestion.rules.fields.printed_spans import PrintedWords
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, FieldValue

SUGGESTED_CONFIDENCE = 60.0  # percent, at most, of a value that the model suggests
# Log-odds by which a candidate is more probable than a value in doubt that it replaces.
MIN_ADVANTAGE = {NUMBER: 1.5, VERSION: 1.5, DATE: 0.25, PERSON: 1.5, TEXT: 0.5}
MIN_CONTRADICTION = 0.5  # the same, of a candidate because of which a value is doubted
MAX_STARTS = 4  # of the places where a text may begin, those that are followed to their ends
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

    def score(self, features: Iterable[str]) -> float:
        """Return the score of a candidate with these features."""
        weights = self.weights
        return self.intercept + sum([weights.get(each, 0.0) for each in features])


@dataclass(frozen=True, slots=True)
class SpanModel:
    """The model of a field whose value is a text: of where it begins, and of where it ends.

    The score of a text is the logarithm of its probability among all texts of the document.
    """

    start: FieldModel
    end: FieldModel
    threshold: float
    is_compared: bool  # also with a value that was found
    kind: str = TEXT

    def rank(self, words: PrintedWords) -> Iterator[tuple[float, PrintedCandidate]]:
        """Yield the texts that begin at the most probable places, with their scores."""
        starts = [(self.start.score(words.features_of_start(at)), at) for at in words.starts]
        all_starts = _log_sum([0.0, *(score for score, _ in starts)])
        for score, start in nlargest(MAX_STARTS, starts):
            ends = words.ends_of(start)
            scores = [self.end.score(words.features_of_end(start, at)) for at in ends]
            rest = score - all_starts - (_log_sum(scores) if scores else 0.0)
            for at, each in zip(ends, scores, strict=True):
                if text := words.text_of(start, at):
                    yield rest + each, PrintedCandidate(text, words.page_of(start), frozenset())


def _log_sum(scores: Sequence[float]) -> float:
    """Return the logarithm of the sum of the exponentials of scores."""
    highest = max(scores)
    return highest + log(sum([exp(each - highest) for each in scores]))


ValueModel = Mapping[tuple[str, str], FieldModel | SpanModel]  # by type and field


@cache
def load_value_model() -> ValueModel:
    """Return the built-in model. It is read once for each process."""
    content = json.loads(VALUE_MODEL_FILE.read_text(encoding="utf-8"))
    return {(slug, each["field"]): _load(each) for each in content for slug in each["types"]}


def _load(content: Mapping[str, Any]) -> FieldModel | SpanModel:
    """Return the model of a field of which this is the content of the file."""
    kind, threshold = content["kind"], content["threshold"]
    if kind != TEXT:
        return FieldModel(kind, content["intercept"], content["weights"], threshold)
    start, end = (
        FieldModel(TEXT, part["intercept"], part["weights"], 0.0)
        for part in (content["start"], content["end"])
    )
    return SpanModel(start, end, threshold, content["is_compared"])


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
        model = self._model.get((self._document.kind.slug, spec.name))
        if model is None or (isinstance(model, SpanModel) and not model.is_compared):
            return value
        ranked = self._rank(spec, others)
        is_value = _make_test(spec, value)
        own = next((score for score, each in ranked if is_value(each)), None)  # the best one
        number = fold_number(value.value) if spec.kind == "number" and not value.is_sure else None
        if own is None and number in {fold_number(other.value) for other in others.values()}:
            return self._suggest(spec, others) or value  # a number is that of one field only
        is_of_one_text = value.readings and not value.is_unconfirmed and value.day is None
        if own is None or is_of_one_text:  # only the order of day and month is in doubt
            return value
        best, candidate = ranked[0]
        if best <= own + (MIN_CONTRADICTION if value.is_sure else MIN_ADVANTAGE[model.kind]):
            return value
        better = make_value(candidate, spec)
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
        if isinstance(model, SpanModel):
            ranked = list(model.rank(self._words))
        else:
            ranked = [(model.score(each.features), each) for each in self._list(model.kind)]
        ranked.sort(key=itemgetter(0), reverse=True)
        is_possible = self._make_filter(spec, values)
        return [each for each in ranked if is_possible(each[1])]

    @cached_property
    def _words(self) -> PrintedWords:
        return PrintedWords(self._document.reading.pages)

    def _list(self, kind: str) -> Sequence[PrintedCandidate]:
        if kind not in self._candidates:
            self._candidates[kind] = LISTS[kind](self._document)
        return self._candidates[kind]

    def _make_filter(
        self, spec: FieldSpec, values: Mapping[str, FieldValue]
    ) -> Callable[[PrintedCandidate], bool]:
        """Return the test whether the other values of the document permit a candidate.

        A text is the value of one field only, and a document does not end on the day on which it
        begins.
        """
        taken = {fold_number(each.value) for each in values.values()}
        begins = [
            day
            for begin, end in self._order
            if end == spec.name and begin in values and (day := values[begin].day)
        ]

        def is_possible(candidate: PrintedCandidate) -> bool:
            if candidate.written:
                return not begins or max(begins) < max(days_of(candidate.written))
            return fold_number(candidate.text) not in taken

        return is_possible


def _make_test(spec: FieldSpec, value: FieldValue) -> Callable[[PrintedCandidate], bool]:
    """Return the test whether a candidate is a value, or one of two numbers a part of the other."""
    if spec.kind == "name":
        return lambda candidate: may_be_same_person(candidate.text, value.value)
    own = fold_number(value.value)

    def is_value(candidate: PrintedCandidate) -> bool:
        if candidate.written:
            days = {value.day.isoformat()} if value.day else {*value.readings}
            return any(day.isoformat() in days for day in days_of(candidate.written))
        text = fold_number(candidate.text)
        if text == own or spec.kind != "number":
            return text == own
        return min(len(text), len(own)) >= MIN_PART and (text in own or own in text)

    return is_value


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
