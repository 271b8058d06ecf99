"""`make chaos` in short: a seed's harms over a real installation, and nothing is lost or wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.chaos.schedule import HARMS, KILLS, draw

ROOT = Path(__file__).parents[3]
SHORT = ["--documents", "60", "--kills", "10", "--seed", "7", "--minutes", "5"]
NO_SERVER = "PostgreSQL is not installed: sudo apt-get install postgresql"


def test_a_seed_draws_the_same_storm_again_and_another_one_another():
    assert draw(7, 40) == draw(7, 40) != draw(8, 40)


def test_a_storm_has_as_many_kills_as_were_asked_for_and_every_other_harm():
    kinds = [harm.kind for harm in draw(7, 40)]
    assert sum(kind in KILLS for kind in kinds) == 40
    assert set(kinds) == {*KILLS, *HARMS}


def test_harms_come_in_the_order_of_the_work():
    dues = [harm.due for harm in draw(7, 40)]
    assert dues == sorted(dues)


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_an_installation_outlives_a_short_storm(database):
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
