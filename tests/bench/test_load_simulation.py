"""Tests that simulated hosts concentrate load, share it, and end when they are not needed."""

import itertools

import pytest

from bench.load_simulation import LoadSimulation, SimulatedInstallation
from ingestion.core.capacity import ScalingRules

RULES = ScalingRules(min_hosts=1, max_hosts=4, out_seconds=30, cooldown_seconds=60, in_seconds=120)
FIXED = ScalingRules(min_hosts=4, max_hosts=4, out_seconds=30, cooldown_seconds=60, in_seconds=120)
LITTLE, MUCH = 0.1, 0.6  # chunks per second; a worker does one in six seconds


def run(arrivals, seconds, *, rules=RULES, hosts=1, **terms):
    installation = SimulatedInstallation(rules, **terms)
    return list(LoadSimulation(installation, arrivals, hosts).run(seconds))


def list_workers_used(moments):
    return {name for seen in moments for name in seen.busy_hosts}


def test_a_small_load_stays_on_the_first_host():
    assert list_workers_used(run(lambda _: LITTLE, 600, rules=FIXED, hosts=4)) == {"host-0"}


def test_hosts_that_take_wakeups_in_any_order_all_work_on_a_small_load():
    moments = run(lambda _: LITTLE, 600, rules=FIXED, hosts=4, is_ordered=False)
    assert len(list_workers_used(moments)) == 4


def test_a_large_load_is_shared_by_all_hosts():
    moments = run(lambda at: MUCH if at < 300 else 0, 600, rules=FIXED, hosts=4)
    assert max(len(seen.busy_hosts) for seen in moments) == 4
    assert moments[-1].done == moments[-1].arrived


def test_a_shift_without_a_limit_takes_everything():
    moments = run(lambda _: MUCH, 300, rules=FIXED, hosts=4, max_chunks=0)
    assert list_workers_used(moments) == {"host-0"}


def test_hosts_are_asked_for_while_all_are_full_and_end_when_they_are_idle():
    moments = run(lambda at: MUCH if at < 600 else 0.02, 1800)
    assert moments[-1].done >= moments[-1].arrived - 1
    assert max(len(seen.hosts) for seen in moments) == 4
    assert max(seen.wanted for seen in moments) == 4
    assert moments[-1].hosts == ("host-0",)
    assert moments[-1].waiting_seconds < 2


@pytest.mark.parametrize("period", [20, 40, 59])
def test_a_load_that_varies_does_not_start_and_end_hosts(period):
    """The load is too much for one host in half of each period, and nothing in the other."""
    moments = run(lambda at: 0.3 if at % period < period / 2 else 0, 3600)
    counts = [len(seen.hosts) for seen in moments]
    changes = sum(before != after for before, after in itertools.pairwise(counts))
    assert changes <= 2
    assert moments[-1].requests <= 2


def test_every_run_has_the_same_result():
    assert run(lambda _: MUCH, 120) == run(lambda _: MUCH, 120)
