"""Joins candidates of a field that are writings or parts of one value, and counts repetitions."""

from dataclasses import replace

from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.persons.names import (
    is_same_person,
    may_be_same_person,
    names_institution,
    split_name,
)
from ingestion.rules.fields.persons.person_names import is_full_name
from ingestion.rules.fields.searches.found_values import MAX_RANK_OF_REFERENCES, FoundValue


def join_candidates(found: dict[str, FoundValue], spec: FieldSpec) -> None:
    """Join the candidates of a field in `found`, by the kind of the field."""
    if spec.kind == "name":
        _join_names(found)
    elif spec.wraps:
        _join_beginnings(found)
    elif spec.heading:
        _join_parts(found)


def add_repetitions(found: dict[str, FoundValue], text: str) -> None:
    """Confirm the values that one way led to, and that are printed a second time.

    The number of a study in a public register is not confirmed: its protocol has another one.
    """
    for key, each in found.items():
        if each.value.is_own_reference and each.rank > MAX_RANK_OF_REFERENCES:
            continue
        if len(each.ways) == 1 and text_readings.is_repeated(text, each.value.value):
            found[key] = replace(each, ways=each.ways | {Way.REPEATED})


def _join_names(found: dict[str, FoundValue]) -> None:
    """Give each full name the ways of the shorter names that may be the same person's.

    "Dr. Smith" in a salutation confirms "John Smith" in the address above it.
    """
    for key, each in list(found.items()):
        for fuller_key, fuller in list(found.items()):
            if key == fuller_key or each.ways <= fuller.ways:
                continue
            if _is_cell_of(each, fuller) or _is_writing_of_addressee(each, fuller):
                found[key] = replace(each, ways=each.ways | fuller.ways)
                found.pop(fuller_key)
                break
            is_fuller = _fullness(each.value.value) < _fullness(fuller.value.value)
            if is_fuller and may_be_same_person(each.value.value, fuller.value.value):
                better = max(each.score, fuller.score)
                rank = each.rank if each.score == better else fuller.rank
                found[fuller_key] = replace(fuller, ways=each.ways | fuller.ways, rank=rank)
                found.pop(key, None)
                break


def _is_cell_of(each: FoundValue, longer: FoundValue) -> bool:
    """Return whether a name is all of its cell, and a longer one goes on in the next cell."""
    return (
        Way.PLACE in each.ways
        and Way.PLACE not in longer.ways
        and longer.value.value.startswith(f"{each.value.value} ")
    )


def _is_writing_of_addressee(each: FoundValue, fuller: FoundValue) -> bool:
    """Return whether a full name at a caption is written differently where a letter is addressed.

    As "Ann Smith" at its caption, in an e-mail to "Smith, Ann B."
    """
    is_address = Way.LETTER in fuller.ways and Way.PLACE not in fuller.ways
    name = each.value.value
    return (
        is_address
        and Way.PLACE in each.ways
        and "," in fuller.value.value
        and "," not in name
        and is_full_name(name)
        and is_same_person(name, fuller.value.value)
    )


def _fullness(name: str) -> tuple[int, int]:
    """Return how many words a name has, and how many of them are more than an initial."""
    parts = [part for group in split_name(name) for part in group]
    return len(parts), sum(len(part) > 1 for part in parts)


def _join_parts(found: dict[str, FoundValue]) -> None:
    """Give each name of an institution the ways of the shorter names that it contains.

    "Ethics Committee" in the letterhead confirms "Ethics Committee of Ashby College".
    """
    for key, each in list(found.items()):
        longer = [other for other in found if other != key and key in other]
        if longer and not names_institution(each.value.value):
            whole = found[longer[0]]
            found[longer[0]] = replace(whole, ways=whole.ways | each.ways)
            found.pop(key)


def _join_beginnings(found: dict[str, FoundValue]) -> None:
    """Give each text the ways of the texts with which it begins: they are its first line."""
    for key, each in list(found.items()):
        longer = next((other for other in found if other != key and other.startswith(key)), None)
        # Only the order of the text shows where a text ends that has several lines.
        if longer is not None and found[longer].ways & {Way.TEXT, Way.SENTENCE, Way.FORM}:
            whole = found[longer]
            best = max(whole, each, key=lambda one: one.score)
            found[longer] = replace(whole, ways=whole.ways | each.ways, rank=best.rank)
            found.pop(key)
