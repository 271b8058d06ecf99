"""Workers whose parent died, or that received SIGTERM, end after their shift, also if it fails."""

import subprocess
import sys
from contextlib import nullcontext

import pytest
from django.db import OperationalError

from ingestion import tasks
from ingestion.dispatch import shift
from ingestion.dispatch.processes import drain

# A process that forks a worker and ends. The worker receives no signal, as if it were lost.
LOST_SIGNAL = """
import os, signal, time
from ingestion.dispatch.processes import drain, parent_death
parent_death.tie_forked_processes()
signal.pthread_sigmask(signal.SIG_BLOCK, {parent_death.ORPHANED})
reader, writer = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        parent, before = os.getppid(), drain.is_asked_to_leave()
        os.write(writer, b"ready")
        while os.getppid() == parent:
            time.sleep(0.01)
        print(before, drain.is_asked_to_leave(), flush=True)
    else:
        os.read(reader, 5)
    os._exit(0)
os.wait()
"""


@pytest.fixture
def failing_shift(monkeypatch):
    def fail():
        raise OperationalError("the database does not respond")

    monkeypatch.setattr(shift, "work_shift", fail)
    monkeypatch.setattr(tasks, "_own_connections", nullcontext)  # the test keeps its own


def test_a_worker_ends_after_a_shift_that_failed_if_it_is_asked_to_leave(
    failing_shift, monkeypatch
):
    monkeypatch.setattr(drain, "_signals", 1)
    with pytest.raises(SystemExit):
        tasks.work_shift()


def test_a_worker_goes_on_after_a_shift_that_failed(failing_shift):
    with pytest.raises(OperationalError):
        tasks.work_shift()


def test_a_worker_notices_that_its_parent_died_although_the_signal_was_lost():
    done = subprocess.run(
        [sys.executable, "-c", LOST_SIGNAL], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["False", "True"], done.stderr
