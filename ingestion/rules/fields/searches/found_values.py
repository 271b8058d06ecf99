"""Collects the values found for a field, with the ways that led to them and their scores.

A value scores higher if its way is more reliable and its rank is lower. The captions of a field
have the ranks from 0 on. The ranks of other ways say behind how many captions they come.
"""

from dataclasses import dataclass, replace

from ingestion.rules import fuzzy_phrases
from ingestion.rules.fields.candidates import Way, are_agreed
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, FieldValue

RANK_OF_SENTENCES = 20  # behind the captions
RANK_OF_GENERAL_NAMES = 40  # of committees, behind the names in sentences
RANK_OF_ROLES = 8  # of roles of dates, and of numbers; behind the usual captions
RANK_OF_REFERENCES = RANK_OF_ROLES  # of the numbers that are named as those of the study
MAX_RANK_OF_REFERENCES = RANK_OF_REFERENCES + 4  # of the numbers with any other caption
RANK_OF_PEOPLE = 4  # behind the captions of a person
# The worth of each way, from 0 to 1, by which candidates are compared. A caption is worth less the
# later it stands among the captions of its field.
_SCORES = {
    Way.FORM: 1.0,
    Way.SHAPE: 0.98,
    Way.PLACE: 0.9,
    Way.TEXT: 0.88,
    Way.SENTENCE: 0.72,
    Way.HEADING: 0.6,
    Way.LETTER: 0.5,
    Way.TYPE: 0.5,
}
_SCORE_BY_RANK = 0.02  # by which the next caption of a field is worth less
_MIN_CAPTION_SCORE = 0.55  # of a caption of any rank; scores are between 0 and 1
_CAPTION_RANK_OF_OTHERS = 1000  # the rank of candidates without a caption


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value that one or more ways led to, before it is compared with others."""

    value: FieldValue
    ways: frozenset[Way]
    rank: int = _CAPTION_RANK_OF_OTHERS

    @property
    def is_agreed(self) -> bool:
        """Return whether two independent ways led to the value, or one that needs no second one."""
        return are_agreed(self.ways)

    def with_best_way(self) -> "FoundValue":
        """Return the value with the way that is worth most only."""
        best = max(sorted(self.ways), key=lambda way: _SCORES.get(way, 0.0))
        return replace(self, ways=frozenset({best}))

    def with_doubt(self) -> "FoundValue":
        """Return the value with all its ways, which a person has to confirm nevertheless."""
        confidence = min(self.value.confidence, DOUBTFUL_CONFIDENCE)
        return replace(self, value=replace(self.value, confidence=confidence))

    @property
    def score(self) -> float:
        """Return the score of the surest way, less for each rank of its caption."""
        best = max(_SCORES.get(way, 0.0) for way in self.ways)
        if self.rank == _CAPTION_RANK_OF_OTHERS:
            return best
        return max(best - _SCORE_BY_RANK * self.rank, _MIN_CAPTION_SCORE - self.rank / 1e4)


def add_found(found: dict[str, FoundValue], each: FoundValue) -> None:
    """Add a value to those of its field, or its ways to the same value that is there."""
    key = key_of(each.value)
    known = found.get(key)
    if known is None:
        found[key] = each
    else:
        better = known if known.score >= each.score else each
        rank = min(known.rank, each.rank)
        found[key] = replace(better, ways=known.ways | each.ways, rank=rank)


def key_of(value: FieldValue) -> str:
    """Return the key by which two readings are the same value: the day, or the folded letters."""
    return value.value if value.day else fuzzy_phrases.fold_letters(value.value)
