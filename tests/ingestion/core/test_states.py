"""Tests of the table of moves."""

import pytest

from ingestion.core.states import (
    BATCH_MOVES,
    DOCUMENT_MOVES,
    STATE_LABELS,
    BatchState,
    DocumentState,
    IllegalMove,
    check_move,
)


def test_every_state_has_its_moves_and_its_label():
    assert set(DOCUMENT_MOVES) == set(DocumentState) == set(STATE_LABELS)
    assert set(BATCH_MOVES) == set(BatchState)


def test_every_document_can_reach_a_settled_state():
    for state in DocumentState:
        seen, frontier = {state}, [state]
        while frontier:
            new = DOCUMENT_MOVES[frontier.pop()] - seen
            seen |= new
            frontier += new
        assert any(reached.is_settled for reached in seen)


def test_a_filed_document_can_only_be_withdrawn():
    assert DOCUMENT_MOVES[DocumentState.ARCHIVED] == {DocumentState.WITHDRAWN}


def test_a_cancelled_batch_is_never_overwritten_as_completed():
    with pytest.raises(IllegalMove, match="CANCELLED cannot become COMPLETED"):
        check_move(BatchState.CANCELLED, BatchState.COMPLETED)


def test_a_document_that_was_never_checked_is_not_filed():
    assert not DocumentState.RECEIVED.can_become(DocumentState.ARCHIVED)


def test_a_held_document_is_not_rejected_and_starts_again():
    assert DocumentState.REJECTED not in DOCUMENT_MOVES[DocumentState.HELD]
    assert DocumentState.HELD.can_become(DocumentState.RECEIVED)


def test_a_document_cannot_take_the_state_of_a_batch():
    with pytest.raises(IllegalMove):
        check_move(DocumentState.RECEIVED, BatchState.CANCELLED)
