"""Tests of signed notes and checkpoints, also against metamorphic-log (Rust) and Go's example."""

import metamorphic_log
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger import merkle_tree
from audit.signing import signed_note
from audit.signing.signed_note import (
    BadNote,
    CheckpointText,
    Signer,
    Verifier,
)
from tests.audit.ledger.test_merkle_tree import grown, hashes_of, leaves

NAME = "siteledger.example/trail"
OLD = Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
NEW = Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes(32)))
HEAD = CheckpointText(NAME, 41, bytes(range(32)))
NOTE = signed_note.sign_note(HEAD.text, [OLD])

# From the documentation of golang.org/x/mod/sumdb/note.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZS"
    "NXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)


def checkpoint(size, *signers):
    return signed_note.sign_note(
        CheckpointText(NAME, size, grown(leaves(size)).root()).text, signers or [OLD]
    )


def proof(spans, size):
    return hashes_of(spans, leaves(size))


@pytest.mark.requirement("R05")
def test_another_implementation_accepts_our_checkpoints():
    head = metamorphic_log.checkpoint_verify(NOTE, [OLD.verifier.text])
    assert (head.origin, head.size, head.root) == (HEAD.origin, HEAD.size, HEAD.root)


def test_another_implementation_refuses_another_key():
    with pytest.raises(metamorphic_log.VerifyError):
        metamorphic_log.checkpoint_verify(NOTE, [NEW.verifier.text])


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("index", [0, 3, 4, 12])
def test_another_implementation_accepts_only_the_inclusion_proof_of_an_entry(index):
    path = proof(merkle_tree.list_inclusion_path(index, 13), 13)
    tree = (checkpoint(13), [OLD.verifier.text], index)
    metamorphic_log.checkpoint_verify_inclusion(*tree, leaves(13)[index], path)
    with pytest.raises(metamorphic_log.VerifyError):
        metamorphic_log.checkpoint_verify_inclusion(
            *tree, merkle_tree.hash_leaf("another line"), path
        )


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("old", [1, 4, 7, 12])
def test_another_implementation_accepts_only_a_valid_consistency_proof(old):
    path = proof(merkle_tree.list_consistency_path(old, 13), 13)
    keys = [OLD.verifier.text]
    metamorphic_log.checkpoint_verify_consistency(checkpoint(old), checkpoint(13), keys, path)
    with pytest.raises(metamorphic_log.VerifyError):
        metamorphic_log.checkpoint_verify_consistency(NOTE, checkpoint(13), keys, path)


def test_a_note_of_another_implementation_is_accepted():
    text, signers = signed_note.open_note(GO_NOTE, [Verifier.parse(GO_KEY)])
    assert text == GO_NOTE.partition("\n\n")[0] + "\n"
    assert [signer.text for signer in signers] == [GO_KEY]


def test_a_key_of_another_implementation_is_written_unchanged():
    assert Verifier.parse(GO_KEY).text == GO_KEY


def test_a_signed_checkpoint_can_be_opened_and_parsed():
    text, signers = signed_note.open_note(NOTE, [OLD.verifier])
    assert CheckpointText.parse(text) == HEAD
    assert signers == [OLD.verifier]


def test_a_note_signed_with_two_keys_is_accepted_with_either():
    note = signed_note.sign_note(HEAD.text, [OLD, NEW])
    for key in (OLD.verifier, NEW.verifier):
        assert signed_note.open_note(note, [key]) == (HEAD.text, [key])
    assert signed_note.open_note(note, [OLD.verifier, NEW.verifier])[1] == [
        OLD.verifier,
        NEW.verifier,
    ]


def test_a_note_with_an_invalid_signature_of_a_known_key_is_refused():
    note = signed_note.sign_note(HEAD.text, [OLD, NEW]).replace("\n41\n", "\n42\n")
    with pytest.raises(BadNote, match="is not valid"):
        signed_note.open_note(note, [NEW.verifier])


@given(st.data())
def test_a_change_of_any_byte_of_a_signed_text_is_detected(data):
    at = data.draw(st.integers(0, len(HEAD.text) - 2))
    other = data.draw(st.characters(codec="ascii", exclude_characters=HEAD.text[at] + "\n"))
    with pytest.raises(BadNote):
        signed_note.open_note(NOTE[:at] + other + NOTE[at + 1 :], [OLD.verifier])


@pytest.mark.parametrize(
    "note",
    [
        "",
        HEAD.text,
        NOTE.rstrip("\n"),
        NOTE.replace("\u2014 ", "- "),
        f"{HEAD.text}\n\u2014 {NAME}\n",
        f"{HEAD.text}\n\u2014 {NAME} !!!\n",
    ],
)
def test_a_text_that_is_not_a_note_is_refused(note):
    with pytest.raises(BadNote):
        signed_note.open_note(note, [OLD.verifier])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "name+00000000+AAAA",
        "name+00000000+!",
        GO_KEY.replace("c74f20a3", "c74f20a4"),
        GO_KEY.replace("PeterNeumann", "Peter Neumann"),
    ],
)
def test_a_text_that_is_not_a_key_is_refused(text):
    with pytest.raises(BadNote):
        Verifier.parse(text)


@pytest.mark.parametrize("name", ["", "with space", "with+plus"])
def test_a_key_name_with_spaces_or_plus_signs_is_refused(name):
    with pytest.raises(BadNote, match="no spaces"):
        Verifier(name, bytes(32))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n1\n",
        "\n1\nAAAA\n",
        "origin\n01\nAAAA\n",
        "origin\n-1\nAAAA\n",
        "origin\n1\nAAAA\n",
    ],
)
def test_a_text_that_is_not_a_checkpoint_is_refused(text):
    with pytest.raises(BadNote):
        CheckpointText.parse(text)
