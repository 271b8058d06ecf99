"""What `bench/reading.py` relies on: nobody's time goes uncounted, and its papers say the truth."""

import subprocess
import sys

import pytest

from bench.accuracy import f1
from bench.papers import papers
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import merge

# In a process of its own: it adopts whatever loses its parent, and waits for all children.
COUNT = """
import sys
from bench import process
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


def test_the_time_of_a_child_whose_parent_has_left_is_counted():
    used = counted(WORK, leave_seconds=50)
    assert float(used.partition("cpu=")[2].partition(",")[0]) >= 0.6
    assert "orphans=0" in used


def test_a_process_that_stays_behind_is_an_orphan_and_is_ended():
    assert "orphans=1" in counted(WAIT, leave_seconds=0.1)


PAPERS = list(papers(10, "bench"))
TOLD = {name for paper in PAPERS for name in paper.values}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.kind)
def test_a_paper_says_what_its_text_layer_says(paper, tmp_path):
    path = tmp_path / "paper.pdf"
    path.write_bytes(paper.content)
    look = tasks.probe_document(path, tmp_path / "rewritten", ReadingLimits())
    fields = paper.fields(merge(look, []))
    assert {name: fields[name].value for name in TOLD & fields.keys()} == paper.values


def test_words_count_as_often_as_they_stand_there():
    assert f1(["a", "b"], ["b", "a"]) == 1.0
    assert f1(["a", "a"], ["a"]) == pytest.approx(2 / 3)
    assert f1([], ["a"]) == 0.0
