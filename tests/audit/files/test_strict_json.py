"""Tests that ambiguous JSON of other systems is refused, with the line of the fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.files.strict_json import InvalidJSON, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**200), 10**200) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


def refusal(text: str) -> InvalidJSON:
    with pytest.raises(InvalidJSON) as refused:
        loads(text)
    return refused.value


@given(VALUES)
def test_unambiguous_json_is_read_as_by_the_standard_library(value):
    assert loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"site_id": "1001", "site_id": "1002"}', 1),
        ('[{"a": 1},\n {"b": [\n{"x": 1,\n "y": 2, "x": 1}]}]', 3),
        ('{"a": 1,\n "\\u0061": 2}', 1),  # the same name, escaped
    ],
)
def test_a_repeated_name_is_refused_with_the_line_of_its_object(text, line):
    refused = refusal(text)
    assert "is given twice" in refused.message
    assert refused.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ' + "9" * 5_000 + "}", "a number has more than 300 digits"),
        ("[-" + "9" * 5_000 + "]", "a number has more than 300 digits"),
        ("[1e999]", "the number 1e999 is too large"),
        ("[0." + "1" * 5_000 + "]", "is too large"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('["\\ud800"]', "half a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_ambiguous_and_invalid_json_is_refused(text, message):
    assert message in refusal(text).message


def test_a_syntax_error_is_reported_with_its_line_and_column():
    refused = refusal('{"a": 1,\n "b" 2}')
    assert (refused.line, refused.column) == (2, 6)
