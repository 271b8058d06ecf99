"""The progress of a packet in words, from the counts of its states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.states import SETTLED_STATES, DocumentState
from web.packets.progress import PacketProgress

D = DocumentState


def counts():
    return st.dictionaries(st.sampled_from(DocumentState), st.integers(1, 9), min_size=1)


@pytest.mark.parametrize(
    ("states", "headline", "others"),
    [
        ({D.ARCHIVED: 2, D.VALIDATING: 2}, "Checking your documents", ""),
        ({D.ARCHIVED: 3, D.REJECTED: 1}, "1 of 4 documents needs your attention", ""),
        ({D.REJECTED: 2}, "2 of 2 documents need your attention", ""),
        ({D.ARCHIVED: 1, D.DEDUPED: 1}, "All documents are on file", ", 1 already on file"),
        ({D.HELD: 1}, "Held by us. You do not need to do anything", ", 1 held by us"),
        ({D.IN_REVIEW: 1}, "Checked. QA is reviewing the remaining documents", ", 1 in review"),
        ({D.CANCELLED: 1}, "Finished", ", 1 cancelled"),
    ],
    ids=["on the way", "one to correct", "two", "all on file", "held", "in review", "cancelled"],
)
def test_the_sentence_of_a_packet_shows_its_counts(states, headline, others):
    progress = PacketProgress(states, needing=states.get(D.REJECTED, 0))
    filed, rejected = states.get(D.ARCHIVED, 0), states.get(D.REJECTED, 0)
    checked = f"{progress.settled} of {progress.total} checked."
    assert progress.headline == headline
    assert progress.sentence == f"{checked} {filed} filed, {rejected} rejected{others}."


@given(counts())
def test_a_packet_is_done_when_all_documents_are_settled(states):
    assert PacketProgress(states, needing=0).is_done == all(
        state in SETTLED_STATES for state in states
    )


@given(counts(), st.integers(0, 1))
def test_the_chip_asks_for_a_correction_only_if_the_site_can_correct(states, needing):
    progress = PacketProgress(states, needing=needing)
    display, word = progress.verdict
    assert (display.tone == "bad") == bool(progress.needing)
    assert word


def test_replaced_documents_need_no_action_and_are_not_called_filed():
    progress = PacketProgress({D.ARCHIVED: 1, D.REJECTED: 2}, needing=0)
    assert progress.headline == "Finished. 2 documents have been replaced"
    assert progress.verdict[1] == "2 replaced"


def test_without_a_worker_the_headline_says_that_checking_has_stopped():
    progress = PacketProgress({D.RECEIVED: 1, D.ARCHIVED: 1}, needing=0, has_worker=False)
    assert progress.headline == "Checking has stopped: no worker is running"
    assert progress.verdict[1] == "Waiting for a worker"


def test_a_finished_packet_needs_no_worker():
    assert PacketProgress({D.ARCHIVED: 1}, needing=0, has_worker=False).headline == (
        "All documents are on file"
    )
