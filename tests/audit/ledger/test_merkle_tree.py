"""Tests that compare the tree, which grows by its frontier, with the definitions of RFC 6962."""

import hashlib
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger import merkle_tree

SIZES = st.integers(1, 200)


def leaves(count):
    return [merkle_tree.hash_leaf(f'{{"seq":{n}}}') for n in range(count)]


def mth(hashes):
    """Return the root of the hashes, as section 2.1 of RFC 6962 defines it."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    return merkle_tree.hash_node(mth(hashes[:k]), mth(hashes[k:]))


def path(m, hashes):
    """Return the inclusion path of leaf m, as section 2.1.1 of RFC 6962 defines it."""
    if len(hashes) == 1:
        return []
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    if m < k:
        return [*path(m, hashes[:k]), mth(hashes[k:])]
    return [*path(m - k, hashes[k:]), mth(hashes[:k])]


def subproof(m, hashes, is_known):
    """Return a subproof of consistency, as section 2.1.2 of RFC 6962 defines it."""
    if m == len(hashes):
        return [] if is_known else [mth(hashes)]
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    if m <= k:
        return [*subproof(m, hashes[:k], is_known), mth(hashes[k:])]
    return [*subproof(m - k, hashes[k:], False), mth(hashes[:k])]


def grown(hashes):
    frontier = merkle_tree.Frontier()
    for hash_ in hashes:
        frontier.add(hash_)
    return frontier


def hashes_of(spans, hashes):
    """Return the hashes of the nodes above these spans of the leaves."""
    return [mth(hashes[start:end]) for start, end in spans]


@given(st.integers(0, 200))
def test_the_root_conforms_to_rfc_6962(size):
    assert grown(leaves(size)).root() == mth(leaves(size))


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_tree_grows_from_a_stored_frontier(old, more):
    stored = grown(leaves(old))
    frontier = merkle_tree.Frontier.from_hex(stored.size, stored.hex())
    for hash_ in leaves(old + more)[old:]:
        frontier.add(hash_)
    assert frontier.root() == mth(leaves(old + more))


@given(st.lists(st.integers(0, 200), max_size=4))
def test_extending_a_tree_equals_adding_each_leaf(counts):
    frontier, hashes = merkle_tree.Frontier(), leaves(sum(counts))
    for count, upto in zip(counts, accumulate(counts), strict=True):
        frontier.extend(hashes[upto - count : upto])
        one_by_one = grown(hashes[:upto])
        assert (frontier.size, frontier.roots) == (one_by_one.size, one_by_one.roots)


@given(SIZES, st.data())
def test_inclusion_proofs_conform_to_rfc_6962(size, data):
    index = data.draw(st.integers(0, size - 1))
    hashes = leaves(size)
    assert hashes_of(merkle_tree.list_inclusion_path(index, size), hashes) == path(index, hashes)


@given(SIZES, st.data())
def test_consistency_proofs_conform_to_rfc_6962(size, data):
    old = data.draw(st.integers(1, size))
    hashes = leaves(size)
    assert hashes_of(merkle_tree.list_consistency_path(old, size), hashes) == subproof(
        old, hashes, True
    )


def test_a_span_that_is_not_a_node_is_refused():
    with pytest.raises(KeyError):
        grown(leaves(7)).right_edge((1, 3))


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_an_entry_outside_the_tree_has_no_inclusion_proof(index, size):
    with pytest.raises(IndexError):
        merkle_tree.list_inclusion_path(index, size)


@pytest.mark.parametrize(("old", "size"), [(0, 3), (4, 3)])
def test_a_size_outside_the_tree_has_no_consistency_proof(old, size):
    with pytest.raises(IndexError):
        merkle_tree.list_consistency_path(old, size)


def test_a_frontier_that_does_not_fit_its_size_is_refused():
    with pytest.raises(ValueError, match="7 entries make 3 subtrees, not 1"):
        merkle_tree.Frontier(7, leaves(1))
