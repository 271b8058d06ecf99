from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules.fields.candidates import (
    Candidate,
    Way,
    choose,
    choose_together,
    merge_candidates,
)

WAYS = st.frozensets(st.sampled_from(Way), min_size=1, max_size=3)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        key=st.sampled_from("abcd"),
        ways=WAYS,
        score=st.floats(0, 1),
        rank=st.integers(0, 3),
    ),
    min_size=1,
    max_size=6,
)
BEGIN = date(2026, 3, 12)


def candidate(key, *ways, score=0.9, rank=0, day=None):
    return Candidate(key, frozenset(ways), score, rank, day)


def test_one_way_alone_leaves_a_value_in_doubt():
    assert not choose([candidate("a", Way.PLACE)]).is_without_doubt


def test_two_ways_to_the_same_value_leave_no_doubt():
    found = choose([candidate("a", Way.PLACE), candidate("a", Way.TEXT)])
    assert (found.best.key, found.is_without_doubt) == ("a", True)


def test_a_form_field_needs_no_second_way():
    assert choose([candidate("a", Way.FORM)]).is_without_doubt


def test_two_values_at_equal_captions_are_rivals():
    found = choose(
        [
            candidate("a", Way.PLACE, Way.TEXT),
            candidate("b", Way.PLACE, Way.TEXT),
        ]
    )
    assert (found.best.key, found.rival.key, found.is_without_doubt) == ("a", "b", False)


def test_a_value_at_a_less_specific_caption_is_no_rival():
    found = choose(
        [
            candidate("a", Way.PLACE, Way.TEXT),
            candidate("b", Way.PLACE, Way.TEXT, score=0.88, rank=1),
        ]
    )
    assert found.is_without_doubt


def test_the_order_of_dates_decides_between_candidates_and_leaves_a_doubt():
    end = BEGIN + timedelta(days=365)
    found = choose_together(
        {
            "begin": [candidate("b", Way.PLACE, Way.TEXT, day=BEGIN)],
            "end": [
                candidate("before", Way.PLACE, day=BEGIN - timedelta(days=1)),
                candidate("after", Way.TEXT, score=0.85, rank=1, day=end),
            ],
        },
        [("begin", "end")],
    )
    assert (found["end"].best.key, found["end"].rival.key) == ("after", "before")
    assert found["begin"].is_without_doubt


def test_an_order_that_cannot_be_kept_remains_for_the_checks():
    found = choose_together(
        {
            "begin": [candidate("b", Way.PLACE, Way.TEXT, day=BEGIN)],
            "end": [candidate("e", Way.PLACE, Way.TEXT, day=BEGIN - timedelta(days=9))],
        },
        [("begin", "end")],
    )
    assert found["end"].best.key == "e"
    assert found["end"].is_without_doubt


@given(CANDIDATES)
def test_the_choice_is_one_of_the_best_candidates_and_never_its_own_rival(candidates):
    found = choose(candidates)
    assert found.best == merge_candidates(candidates)[0]
    assert found.rival is None or found.rival.key != found.best.key


@given(CANDIDATES)
def test_a_further_way_never_makes_a_value_worse(candidates):
    best = choose(candidates).best
    confirmed = choose([*candidates, candidate(best.key, Way.REPEATED, score=0.0, rank=best.rank)])
    assert confirmed.best.key == best.key
    assert confirmed.best.ways >= best.ways


@given(CANDIDATES)
def test_merging_keeps_every_value_once_with_all_of_its_ways(candidates):
    merged = merge_candidates(candidates)
    assert sorted(each.key for each in merged) == sorted({each.key for each in candidates})
    for each in merged:
        assert each.ways == frozenset().union(*(c.ways for c in candidates if c.key == each.key))
