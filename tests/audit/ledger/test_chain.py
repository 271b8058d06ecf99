"""Tests of the canonical text of entries and of the hash chain."""

import hashlib
import json
import subprocess
from unicodedata import normalize

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger import chain
from audit.ledger.chain import BrokenChain, NotCanonical, Walk

FIELDS = dict.fromkeys(sorted(chain.FIELDS), "") | {
    "v": 1,
    "trail": "siteledger",
    "seq": 1,
    "prev": chain.GENESIS,
    "event_id": chain.compute_event_id("document:17", 3),
    "event": "document.archived",
    "subject": "document:17",
    "site": "DE-014",
    "from": "VALIDATING",
    "to": "ARCHIVED",
    "actor": "system:worker",
    "recorded_at": "2026-08-14T09:31:07.123456Z",
}
GOLDEN = "9187b0c974154dea7d3d87b8a3e7aaf854ec0d054e9cd46d578669030b584f75"


def make_chain(length):
    """Return the rows of a valid chain, as (seq, line, hash)."""
    prev, rows = chain.GENESIS, []
    for seq in range(1, length + 1):
        text = chain.format_line(FIELDS | {"seq": seq, "prev": prev})
        prev = chain.compute_digest(text)
        rows.append((seq, text, prev))
    return rows


def follow(rows):
    walk = Walk()
    for row in rows:
        walk.step(*row)
    return walk


def break_of(rows):
    with pytest.raises(BrokenChain) as caught:
        follow(rows)
    return caught.value.found


text = st.text(st.characters(exclude_categories=["Cs"])).map(lambda raw: normalize("NFC", raw))
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | text
keys = st.text("abcxyz0189_", min_size=1)
objects = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)
profile = st.dictionaries(keys, objects, max_size=4)


@given(profile)
def test_canonical_text_of_the_profile_conforms_to_rfc_8785(value):
    assert chain.format_canonical(value).encode() == rfc8785.dumps(value)


@given(profile)
def test_the_standard_library_writes_the_same_text_on_the_profile(value):
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert chain.format_canonical(value) == written


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"a": 1.0}, id="a float"),
        pytest.param({"a": float("nan")}, id="not a number"),
        pytest.param({"a": 2**53}, id="a number JavaScript would round"),
        pytest.param({"a": "\ud800"}, id="half a character"),
        pytest.param({"a": "e\u0301"}, id="text that is not in NFC"),
        pytest.param({"A": 1}, id="a key in capitals"),
        pytest.param({"ä": 1}, id="a key that is not ASCII"),
        pytest.param({"": 1}, id="an empty key"),
        pytest.param({1: 1}, id="a key that is a number"),
        pytest.param({"a": [{"b": (1, 2)}]}, id="a tuple, deep inside"),
        pytest.param({"a": b"x"}, id="bytes"),
        pytest.param({"a": "x" * chain.MAX_DETAIL}, id="more than the limit"),
    ],
)
def test_values_on_which_json_libraries_disagree_are_refused(value):
    with pytest.raises(NotCanonical):
        chain.format_canonical(value)


def test_the_hash_of_a_line_is_that_of_sha256sum():
    line = chain.format_line(FIELDS)
    printed = subprocess.run(["sha256sum"], input=line.encode(), capture_output=True, check=True)
    assert chain.compute_digest(line) == printed.stdout.split()[0].decode() == GOLDEN


def test_an_event_id_is_the_hash_of_its_subject_and_number():
    named = hashlib.sha256(b'{"n":3,"subject":"document:17"}').hexdigest()
    assert chain.compute_event_id("document:17", 3) == named


def test_a_commitment_depends_on_the_salt_and_the_text():
    bound = chain.compute_commitment(b"salt", '{"a":1}')
    assert bound == hashlib.sha256(b'salt{"a":1}').hexdigest()
    assert bound != chain.compute_commitment(b"tlas", '{"a":1}')


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"extra": ""}, id="a field too many"),
        pytest.param({"actor": "x\n"}, id="a control character"),
        pytest.param({"actor": "x\x7f"}, id="a delete character, which JSON does not escape"),
        pytest.param({"actor": "x\x85"}, id="a control character beyond ASCII"),
        pytest.param({"actor": "Jose\u0301"}, id="text that is not composed"),
        pytest.param({"actor": "\ud800"}, id="half a character"),
        pytest.param({"actor": "x" * 501}, id="a field too long"),
        pytest.param({"to": 1.5}, id="a float"),
    ],
)
def test_a_line_outside_the_format_is_refused(change):
    with pytest.raises(NotCanonical):
        chain.format_line(FIELDS | change)


def test_a_field_has_at_most_500_characters_even_if_the_others_are_short():
    shortest = dict.fromkeys(FIELDS, 0)
    assert "x" * 500 in chain.format_line(shortest | {"actor": "x" * 500})
    with pytest.raises(NotCanonical, match="actor"):
        chain.format_line(shortest | {"actor": "x" * 501})


def test_a_line_can_contain_backslashes_and_quotation_marks():
    assert json.loads(chain.format_line(FIELDS | {"code": '\\ "'}))["code"] == '\\ "'


def test_fields_are_limited_one_by_one_and_not_together():
    texts = dict.fromkeys(["subject", "actor", "site"], "\u00a0" + "x" * 499)
    assert json.loads(chain.format_line(FIELDS | texts))["actor"] == texts["actor"]


def test_a_line_without_one_of_its_fields_is_refused():
    with pytest.raises(NotCanonical, match="site"):
        chain.format_line({name: value for name, value in FIELDS.items() if name != "site"})


def test_a_valid_chain_is_followed_to_its_head():
    rows = make_chain(20)
    walk = follow(rows)
    assert (walk.seq, walk.head) == (20, rows[-1][2])


def test_an_edited_line_is_reported_with_both_hashes():
    rows = make_chain(9)
    seq, line, hash_ = rows[4]
    edited = line.replace("DE-014", "DE-015")
    rows[4] = (seq, edited, hash_)
    found = break_of(rows)
    assert (found.seq, found.expected, found.found) == (5, hash_, chain.compute_digest(edited))


def test_a_removed_entry_is_reported_as_a_gap():
    rows = make_chain(9)
    del rows[4]
    assert (break_of(rows).seq, break_of(rows).expected) == (6, "5")


def test_two_exchanged_entries_are_detected():
    rows = make_chain(9)
    rows[4], rows[5] = (5, *rows[5][1:]), (6, *rows[4][1:])
    assert break_of(rows).seq == 5


def test_an_edit_with_a_new_hash_breaks_the_next_entry():
    rows = make_chain(9)
    edited = rows[4][1].replace("DE-014", "DE-015")
    rows[4] = (5, edited, chain.compute_digest(edited))
    found = break_of(rows)
    assert (found.seq, found.why) == (6, "it does not follow the entry before it")


def test_an_edit_with_all_later_hashes_recomputed_changes_only_the_head():
    # The chain alone does not reveal this, but its head differs. So checkpoints are anchored.
    honest, walk, prev = make_chain(9), Walk(), chain.GENESIS
    for seq in range(1, 10):
        forged = chain.format_line(FIELDS | {"seq": seq, "prev": prev, "site": f"XX-{seq // 5}"})
        prev = chain.compute_digest(forged)
        walk.step(seq, forged, prev)
    assert walk.head != honest[-1][2]


def test_an_entry_of_another_trail_breaks_the_chain():
    rows = make_chain(2)
    foreign = chain.format_line(FIELDS | {"seq": 3, "prev": rows[-1][2], "trail": "other"})
    assert break_of([*rows, (3, foreign, chain.compute_digest(foreign))]).why.endswith(
        "another trail"
    )


def rewritten(row, **changes):
    """Return a row whose line has other fields, with the hash of the new line."""
    line = chain.format_canonical(json.loads(row[1]) | changes)
    return row[0], line, chain.compute_digest(line)


TAMPERINGS = [
    lambda row: (row[0] + 1, *row[1:]),
    lambda row: (row[0], row[1].replace("DE-014", "DE-015"), row[2]),
    lambda row: (row[0], row[1], chain.GENESIS),
    lambda row: rewritten(row, site="DE-015"),
    lambda row: rewritten(row, seq=7),
    lambda row: rewritten(row, trail="other"),
    lambda row: rewritten(row, extra=1),
    lambda row: (row[0], "[1]", chain.compute_digest("[1]")),
    lambda row: (row[0], "nothing", chain.compute_digest("nothing")),
]


def outcome(rows, at_once):
    """Return where and why a walk ends that follows a number of entries at once."""
    walk, followed = Walk(), []
    try:
        for at in range(0, len(rows), at_once):
            for lines in walk.follow(rows[at : at + at_once]):
                followed += lines
    except BrokenChain as error:
        return error.found, walk.seq, walk.head, followed
    return None, walk.seq, walk.head, followed


@given(
    st.dictionaries(st.integers(0, 11), st.sampled_from(TAMPERINGS), max_size=3),
    st.sets(st.integers(0, 11), max_size=2),
    st.integers(2, 12),
)
def test_checks_of_many_entries_and_of_single_entries_find_the_same_break(
    tampered, removed, at_once
):
    rows = make_chain(12)
    for at, tamper in tampered.items():
        rows[at] = tamper(rows[at])
    rows = [row for at, row in enumerate(rows) if at not in removed]
    assert outcome(rows, at_once) == outcome(rows, 1)


ONE_MORE, ONE_LESS = FIELDS | {"extra": 1}, {k: v for k, v in FIELDS.items() if k != "rules"}


@pytest.mark.parametrize("fields", [ONE_MORE, ONE_LESS, ONE_LESS | {"extra": 1}])
def test_a_line_with_other_fields_than_those_of_the_format_breaks_the_chain(fields):
    line = chain.format_canonical(fields)
    assert break_of([(1, line, chain.compute_digest(line))]).why.endswith("fields of the format")


@pytest.mark.parametrize("line", ["", "[]", '[["a"]]', "{}", "7", "nothing of the kind"])
def test_a_line_that_is_not_a_json_object_breaks_the_chain(line):
    assert break_of([(1, line, chain.compute_digest(line))]).why.endswith("fields of the format")
