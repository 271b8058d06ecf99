"""Simulates worker hosts under a changing load, with the decisions of `ingestion.core.capacity`.

`python -m bench.load_simulation` prints a line for each minute: how many hosts run, how many of
them worked, how often another one was asked for, and how long work waited. Beside it, the same load
runs with hosts that take wakeups in any order and with a wakeup for each submission, as before.
Nothing is measured, and the only random choice has a fixed seed, so every run has the same result.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ingestion.core.capacity import (
    MAX_CLAIM_SECONDS,
    HostLoad,
    RunningShift,
    ScalingRules,
    ScalingState,
    compute_room,
    compute_yield_seconds,
    decide_scaling,
    may_leave,
)

STEP_SECONDS = 0.25
CHECK_SECONDS = 5.0  # between two decisions about the number of hosts
BOOT_SECONDS = 20.0  # from a request for a host until it takes work
SHIFT_SECONDS = 600.0
Arrivals = Callable[[float], float]  # chunks that become due in a second, by the time in seconds


@dataclass(slots=True)
class SimulatedChunk:
    """A chunk that is due, or held by a shift."""

    due_at: float
    work_seconds: float  # that are left


@dataclass(slots=True)
class SimulatedShift:
    """The shift of a worker. Its chunks share its processor."""

    began_at: float
    chunks: list[SimulatedChunk] = field(default_factory=list)


@dataclass(slots=True)
class SimulatedHost:
    """A host with workers, of which each has at most one shift."""

    number: int
    workers: int
    shifts: list[SimulatedShift] = field(default_factory=list)
    idle_since: float = 0.0

    @property
    def load(self) -> HostLoad:
        """Return the load as the hosts' rows show it."""
        return HostLoad(f"host-{self.number}", self.workers, len(self.shifts))


@dataclass(frozen=True, slots=True)
class SimulatedInstallation:
    """The settings of a simulation."""

    rules: ScalingRules
    workers: int = 1
    max_chunks: int = 4  # SHIFT_MAX_CHUNKS
    chunk_seconds: float = 6.0  # of the processor
    is_ordered: bool = True  # False: as before, any host takes a wakeup


@dataclass(frozen=True, slots=True)
class SimulatedMoment:
    """Holds the figures of an installation at one time."""

    at: float
    hosts: tuple[str, ...]
    busy_hosts: tuple[str, ...]
    wanted: int
    waiting_seconds: float
    requests: int  # for one more host, so far
    done: int  # chunks, so far
    arrived: int


class LoadSimulation:
    """Runs one installation in steps of STEP_SECONDS."""

    def __init__(self, installation: SimulatedInstallation, arrivals: Arrivals, hosts: int) -> None:
        self._terms, self._arrivals = installation, arrivals
        self._random = random.Random(26)
        self._hosts = [SimulatedHost(number, installation.workers) for number in range(hosts)]
        self._next_number = hosts
        self._booting: list[float] = []  # when hosts that were asked for are ready
        self._due: list[SimulatedChunk] = []
        self._state = ScalingState(max(hosts, installation.rules.min_hosts))
        self._now = self._owed = self._next_check = 0.0
        self._requests = self._done = self._arrived = 0

    def run(self, seconds: float) -> Iterator[SimulatedMoment]:
        """Run for so long, and yield what is seen after each step."""
        until = self._now + seconds
        while self._now < until:
            self._step()
            yield self._see()

    def _step(self) -> None:
        self._now += STEP_SECONDS
        self._submit()
        self._claim()
        self._wake()
        self._work()
        if self._now >= self._next_check:
            self._next_check += CHECK_SECONDS
            self._scale()

    def _submit(self) -> None:
        self._owed += self._arrivals(self._now) * STEP_SECONDS
        while self._owed >= 1:
            self._owed -= 1
            self._arrived += 1
            self._due.append(SimulatedChunk(self._now, self._terms.chunk_seconds))

    def _claim(self) -> None:
        """Let running shifts claim what is due, as long as they have room and time."""
        for host in self._hosts:
            for shift in host.shifts:
                if self._as_running(shift).has_room(self._terms.max_chunks, SHIFT_SECONDS):
                    room = compute_room(len(shift.chunks), self._terms.max_chunks)
                    shift.chunks += self._due[:room]
                    del self._due[:room]

    def _as_running(self, shift: SimulatedShift) -> RunningShift:
        return RunningShift(self._now - shift.began_at, len(shift.chunks))

    def _wake(self) -> None:
        """Start a shift for due chunks that no running shift claims, on the host whose turn it is.

        The rows of hosts are a second old at most, which is less than what a host waits for an
        earlier one, so the simulation uses the current ones.
        """
        if not self._due:
            return
        shifts = [self._as_running(shift) for host in self._hosts for shift in host.shifts]
        is_served = any(shift.has_room(self._terms.max_chunks, SHIFT_SECONDS) for shift in shifts)
        is_patient = self._now - self._due[0].due_at <= MAX_CLAIM_SECONDS
        if self._terms.is_ordered and is_served and is_patient:
            return
        idle = [host for host in self._hosts if host.load.has_idle_worker]
        if not idle:
            return
        loads = [host.load for host in self._hosts]
        if self._terms.is_ordered:
            host = min(idle, key=lambda each: compute_yield_seconds(loads, each.load.name))
        else:
            host = self._random.choice(idle)
        room = compute_room(0, self._terms.max_chunks)
        host.shifts.append(SimulatedShift(self._now, self._due[:room]))
        del self._due[:room]

    def _work(self) -> None:
        for host in self._hosts:
            for shift in host.shifts:
                share = STEP_SECONDS / max(1, len(shift.chunks))
                for chunk in shift.chunks:
                    chunk.work_seconds -= share
                before = len(shift.chunks)
                shift.chunks = [chunk for chunk in shift.chunks if chunk.work_seconds > 0]
                self._done += before - len(shift.chunks)
            host.shifts = [shift for shift in host.shifts if shift.chunks]
            if host.shifts:
                host.idle_since = self._now

    def _scale(self) -> None:
        """Decide as `operations.scaling` does, start what was asked for, and let idle hosts go."""
        ready = [at for at in self._booting if at <= self._now]
        self._booting = [at for at in self._booting if at > self._now]
        for _ in ready:
            self._hosts.append(
                SimulatedHost(self._next_number, self._terms.workers, idle_since=self._now)
            )
            self._next_number += 1
        rules, loads = self._terms.rules, [host.load for host in self._hosts]
        decision = decide_scaling(loads, self._waiting_seconds(), self._state, rules, self._now)
        self._state = decision.state
        if decision.asks_for_host:
            self._requests += 1
            self._booting.append(self._now + BOOT_SECONDS)
        for host in list(self._hosts):
            is_idle = self._now - host.idle_since >= rules.in_seconds
            loads = [each.load for each in self._hosts]
            if is_idle and may_leave(loads, host.load.name, rules.min_hosts):
                self._hosts.remove(host)

    def _waiting_seconds(self) -> float:
        return self._now - self._due[0].due_at if self._due else 0.0

    def _see(self) -> SimulatedMoment:
        return SimulatedMoment(
            at=self._now,
            hosts=tuple(host.load.name for host in self._hosts),
            busy_hosts=tuple(host.load.name for host in self._hosts if host.shifts),
            wanted=self._state.wanted,
            waiting_seconds=self._waiting_seconds(),
            requests=self._requests,
            done=self._done,
            arrived=self._arrived,
        )


def quiet_busy_quiet(at: float) -> float:
    """Return the load of the printed simulation: little, then much for 20 minutes, then little."""
    return 0.5 if 600 <= at < 1800 else 0.05


def main() -> None:
    """Print both simulations side by side."""
    rules = ScalingRules(
        min_hosts=1, max_hosts=4, out_seconds=30.0, cooldown_seconds=120.0, in_seconds=600.0
    )
    sides = [
        LoadSimulation(SimulatedInstallation(rules, is_ordered=ordered), quiet_busy_quiet, hosts=4)
        for ordered in (True, False)
    ]
    minutes = zip(*(_summarise_minutes(side.run(4800.0)) for side in sides), strict=True)
    sys.stdout.write("        now                                before\n")
    sys.stdout.write(
        "minute  hosts  worked  requests  waiting   hosts  worked  requests  waiting\n"
    )
    for number, pair in enumerate(minutes, start=1):
        sys.stdout.write(f"{number:6}  {'   '.join(pair)}\n")


def _summarise_minutes(moments: Iterator[SimulatedMoment]) -> Iterator[str]:
    """Yield for each minute: hosts, those that worked, requests so far, the longest wait."""
    while minute := list(islice(moments, round(60 / STEP_SECONDS))):
        worked = {name for seen in minute for name in seen.busy_hosts}
        waiting = max(seen.waiting_seconds for seen in minute)
        last = minute[-1]
        yield f"{len(last.hosts):5}  {len(worked):6}  {last.requests:8}  {waiting:6.1f}s"


if __name__ == "__main__":
    main()
