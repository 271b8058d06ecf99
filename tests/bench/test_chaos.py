"""Tests of `make chaos`, in a short version: a real installation survives the faults of a seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.chaos.schedule import KILLS, OTHER_FAULTS, draw

ROOT = Path(__file__).parents[2]
SHORT = ["--documents", "60", "--kills", "10", "--seed", "7", "--minutes", "5"]
NO_SERVER = "PostgreSQL is not installed: sudo apt-get install postgresql"


def test_equal_seeds_draw_equal_faults_and_different_seeds_different_ones():
    assert draw(7, 40) == draw(7, 40) != draw(8, 40)


def test_a_schedule_has_the_requested_number_of_kills_and_every_kind_of_fault():
    kinds = [fault.kind for fault in draw(7, 40)]
    assert sum(kind in KILLS for kind in kinds) == 40
    assert set(kinds) == {*KILLS, *OTHER_FAULTS}


def test_faults_are_ordered_by_the_progress_of_the_work():
    dues = [fault.due for fault in draw(7, 40)]
    assert dues == sorted(dues)


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_an_installation_survives_a_short_run_of_faults(database):
    if database == "postgresql" and not list(Path("/usr/lib/postgresql").glob("*/bin")):
        pytest.skip(NO_SERVER)
    environment = {name: value for name, value in os.environ.items() if name != "SITELEDGER_TESTS"}
    command = [sys.executable, "-m", "bench.chaos", "--database", database, *SHORT]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("lost", "filed twice", "unexplained", "wrong bytes filed", "ledger broken"):
        assert f"| {name} | 0 |" in done.stdout
