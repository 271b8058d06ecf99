"""The counting of processor time by `bench/reading.py`, and the true values of its documents."""

import subprocess
import sys
from functools import partial

import pytest

from bench.documents.generated import make_documents
from bench.documents.scans import make_scans
from bench.sides.accuracy import f1
from bench.sides.page_images import COMPOSED, Score, score
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import merge_pages

# This runs in a process of its own, because it adopts processes that lose their parent and waits
# for all of its children.
COUNT = """
import sys
from bench.installation import process
process.LEAVE_SECONDS = float(sys.argv[2])
print(process.run_counted([sys.executable, "-c", sys.argv[1]]))
"""
LEAVE_BEHIND = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {code!r}], start_new_session=True)
"""
WORK = "import time\nwhile time.process_time() < 0.6: pass"
WAIT = "import time\ntime.sleep(60)"


def counted(code, *, leave_seconds):
    command = [sys.executable, "-c", COUNT, LEAVE_BEHIND.format(code=code), str(leave_seconds)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_time_of_a_process_without_its_parent_is_counted():
    used = counted(WORK, leave_seconds=50)
    assert float(used.partition("cpu=")[2].partition(",")[0]) >= 0.6
    assert "orphans=0" in used


def test_a_remaining_process_is_counted_as_an_orphan_and_is_ended():
    assert "orphans=1" in counted(WAIT, leave_seconds=0.1)


DOCUMENTS = list(make_documents(10, "bench"))
PEOPLE = {"investigator", "person"}
KNOWN_FIELDS = {name for document in DOCUMENTS for name in document.values}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.kind)
def test_the_true_values_of_a_document_are_in_its_text_layer(document, tmp_path):
    path = tmp_path / "document.pdf"
    path.write_bytes(document.content)
    probe = tasks.probe_document(path, tmp_path / "rewritten", ReadingLimits())
    fields = document.fields(merge_pages(probe, []))
    assert KNOWN_FIELDS & fields.keys() == document.values.keys()
    for name, printed in document.values.items():
        value = fields[name].value
        if name in PEOPLE:  # not every degree is read with the name
            value, printed = value.partition(",")[0], printed.partition(",")[0]  # noqa: PLW2901
        assert value == printed


def test_repeated_words_count_repeatedly():
    assert f1(["a", "b"], ["b", "a"]) == 1.0
    assert f1(["a", "a"], ["a"]) == pytest.approx(2 / 3)
    assert f1([], ["a"]) == 0.0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("group", ["hard photo", "faint", "inverted", "four-up", "columns"])
def test_scans_are_the_same_for_the_same_seed_and_have_words(group):
    make = COMPOSED.get(group, partial(make_scans, group))
    (one,), (same,), (other,) = (list(make(1, seed)) for seed in ("a", "a", "b"))
    assert one == same
    assert one.content != other.content
    assert len(one.words) > 50


def test_the_order_of_words_counts_for_the_character_error_rate_only():
    assert score("one two three", "one\ntwo three") == Score(1.0, 0.0)
    assert score("three two one", "one two three").f1 == 1.0
    assert score("three two one", "one two three").error_rate > 0.5
    assert score("", "one two three") == Score(0.0, 1.0)
