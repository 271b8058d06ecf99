"""Tests that verify_trail.py computes as the libraries and as the tree of the ledger do."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.export import verify_trail
from audit.ledger import chain, merkle_tree
from tests.audit.export.support import KEY, inspect
from tests.audit.ledger.test_merkle_tree import grown, hashes_of

SIZES = st.integers(1, 70)
LINES = [b'{"seq":%d}' % n for n in range(70)]
LEAVES = [merkle_tree.hash_leaf(line.decode()) for line in LINES]


def proof(spans, size):
    return hashes_of(spans, LEAVES[:size])


@settings(max_examples=20)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_a_signature_made_by_cryptography_is_accepted(seed, text):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public = key.public_key().public_bytes_raw()
    assert verify_trail.is_signed(public, text, key.sign(text))


@settings(max_examples=40)
@given(st.integers(0, 511))
def test_a_signature_with_one_bit_changed_is_refused(bit):
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    signature = bytearray(key.sign(b"text"))
    signature[bit // 8] ^= 1 << bit % 8
    public = key.public_key().public_bytes_raw()
    assert not verify_trail.is_signed(public, b"text", bytes(signature))
    assert not verify_trail.is_signed(public, b"texts", key.sign(b"text"))


def test_a_signature_with_a_non_canonical_scalar_is_refused():
    """S plus the order of the group would be a second form of a signature (RFC 8032, 5.1.7)."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public, signature = key.public_key().public_bytes_raw(), key.sign(b"text")
    s = int.from_bytes(signature[32:], "little") + verify_trail.ORDER
    second_form = signature[:32] + s.to_bytes(32, "little")
    assert not verify_trail.is_signed(public, b"text", second_form)


@pytest.mark.parametrize("key", [bytes(31), b"\xff" * 32, b"\x02" + bytes(31)])
def test_an_invalid_public_key_is_refused(key):
    with pytest.raises((ValueError, IndexError)):
        verify_trail.is_signed(key, b"text", bytes(64))


@given(SIZES, st.data())
def test_only_the_inclusion_proof_of_an_entry_proves_it(size, data):
    index = data.draw(st.integers(0, size - 1))
    path = proof(merkle_tree.list_inclusion_path(index, size), size)
    root = grown(LEAVES[:size]).root()
    assert verify_trail.root_from_inclusion(LEAVES[index], index, size, path) == root
    for wrong in ([*path, bytes(32)], path[:-1] if path else [bytes(32)]):
        assert verify_trail.root_from_inclusion(LEAVES[index], index, size, wrong) != root


@pytest.mark.requirement("R11")
@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        (["--correlation", "packet-3"], [7, 8, 9]),
        (["--doc", "CV-2"], [4, 5, 6]),
        (["--doc", "CV-2", "--correlation", "packet-3"], [4, 5, 6, 7, 8, 9]),
    ],
)
def test_the_verifier_prints_the_timeline_of_a_document(package, options, seqs):
    lines = (package / "entries.ndjson").read_text().splitlines()
    given = "--vkey", KEY.verifier.text, "--known", chain.compute_digest(lines[-1])
    code, output = inspect(package, *given, *options)
    rows = [line.split(" ") for line in output.splitlines() if "document." in line]
    assert code == 0
    assert [int(row[0]) for row in rows] == seqs
    assert [row[-1] for row in rows] == [chain.compute_digest(lines[seq - 1]) for seq in seqs]
