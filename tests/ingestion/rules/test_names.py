"""Names are compared as a careful reader would: leniently in writing, strictly in substance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules.names import same_body, same_person, same_version

GIVEN = st.sampled_from(["Margaret", "John", "Anna", "Jürgen", "Siobhán", "Linh", "Jean-Paul"])
FAMILY = st.sampled_from(["Whitfield", "O'Brien", "Müller", "Brandt", "Do", "Ma", "Smith-Jones"])
TITLES = st.sampled_from(["", "Dr. ", "Prof. Dr. ", "Dr. med. "])
DEGREES = st.sampled_from(["", ", MD", ", M.D., Ph.D.", " MD PhD", ", MBBS, FRCP", ", M. D."])
WRITTEN = st.sampled_from(
    [
        lambda given, family: f"{given} {family}",
        lambda given, family: f"{family}, {given}",
        lambda given, family: f"{given} {family}".upper(),
        lambda given, family: f"{given[0]}. {family}",
        lambda given, family: f"{given} R. {family}",
        lambda given, family: f"{given}-{family}".lower(),
    ]
)


@given(GIVEN, FAMILY, WRITTEN, TITLES, DEGREES)
def test_a_name_is_the_same_however_it_is_written(given_name, family, written, title, degrees):
    plain, other = f"{given_name} {family}", f"{title}{written(given_name, family)}{degrees}"
    assert same_person(plain, other)


@given(GIVEN, GIVEN, FAMILY, TITLES, DEGREES)
def test_another_given_name_is_another_person(one, other, family, title, degrees):
    assert same_person(f"{title}{one} {family}", f"{other} {family}{degrees}") == (one == other)


@given(GIVEN, FAMILY, FAMILY, DEGREES)
def test_another_family_name_is_another_person(name, one, other, degrees):
    assert same_person(f"{name} {one}", f"{name} {other}{degrees}") == (one == other)


@given(st.text(max_size=40), st.text(max_size=40))
def test_comparing_is_symmetric_and_stops_at_no_text(one, other):
    for same in (same_person, same_body, same_version):
        assert same(one, other) == same(other, one)
        assert same(one, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jürgen Müller", "Juergen Mueller"),
        ("Søren Ørsted", "Soren Orsted"),
        ("Margaret Whitfie1d", "Margaret Whitfield"),
        ("J.R. Smith", "John Robert Smith"),
        ("Jean-Paul Dubois", "Jean Paul Dubois"),
        ("Siobhan O\u2019Brien", "O'Brien, Siobhán"),
        ("Margaret Anne Whitfield, MD", "Margaret Whitfield"),
        ("Linh Do, D.O.", "Do, Linh"),
        ("Jérg Brandt", "Brandt, Jörg"),
        ("Dr. Whitfield", "Margaret Whitfield"),
        ("Dr.", "Margaret Whitfield"),
    ],
)
def test_these_are_one_person(one, other):
    assert same_person(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("John A. Smith", "John B. Smith"),
        ("J. S.", "John Smith"),
        ("John Smith Jr.", "John Smith Sr."),
        ("Linh Do", "Linh Ma"),
        ("Jörg Brandt", "Jürgen Brandt"),
        ("A. Smith", "J. Smith"),
    ],
)
def test_these_are_two(one, other):
    assert not same_person(one, other)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Cedar Ridge Institutional Review Board", "Cedar Ridge IRB", True),
        ("Cedar Ridge Core Laboratory, CLIA 36D9900101, 12 Main Street", "Cedar Ridge Core", True),
        ("WCG (IRB00000533)", "Western Institutional Review Board, IRB00000533", True),
        ("Institutional Review Board", "Cedar Ridge IRB", True),
        ("Cedar Ridge IRB", "Maple Grove IRB", False),
        ("Cedar Ridge Core Laboratory", "Cedar Ridge Pathology Laboratory", False),
        ("Universitätsklinikum Köln Labor", "Universitaetsklinikum Koeln Labor", True),
    ],
)
def test_an_institution_is_the_same_with_and_without_its_address(one, other, is_same):
    assert same_body(one, other) == is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [("3.0", "v3", True), ("3", "3.1", False), ("2.1", "2.10", False), ("final", "3.0", True)],
)
def test_versions_are_numbers_and_not_words(one, other, is_same):
    assert same_version(one, other) == is_same
