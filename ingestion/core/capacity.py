"""Decides which shift and host take work, and how many hosts are wanted.

Load concentrates on few hosts, so that the others are idle and can end. Running shifts are filled
first. A wakeup is then taken by the first host that has an idle worker, in an order that never
changes while the hosts live. When all hosts are full, one more is wanted.

The module is pure. `bench.load_simulation` runs it with simulated hosts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

UNLIMITED_ROOM = 1_000_000  # chunks
# A due chunk that waits for longer is not claimed by a running shift that seems to have room: the
# shift ends, is overloaded, or is busy with another chunk of the same site.
MAX_CLAIM_SECONDS = 1.0
# An earlier host with an idle worker takes a wakeup within this time, unless it has just died.
YIELD_SECONDS = 1.0
CLAIM_MARGIN_SECONDS = 1.0  # before the end of a shift's time, in which it counts as full


def compute_room(chunks: int, max_chunks: int) -> int:
    """Return how many more chunks a shift may claim. `max_chunks` 0 means no limit."""
    return max(0, max_chunks - chunks) if max_chunks else UNLIMITED_ROOM


@dataclass(frozen=True, slots=True)
class RunningShift:
    """Describes the shift of one worker."""

    age_seconds: float
    chunks: int  # that it holds, of the queue in question

    def has_room(self, max_chunks: int, shift_seconds: float) -> bool:
        """Return whether the shift will claim another chunk of the queue."""
        is_young = self.age_seconds < shift_seconds - CLAIM_MARGIN_SECONDS
        return is_young and compute_room(self.chunks, max_chunks) > 0


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Describes a living worker host."""

    name: str
    workers: int
    busy: int  # workers with a task

    @property
    def has_idle_worker(self) -> bool:
        """Return whether a wakeup would be answered at once."""
        return self.busy < self.workers


def compute_yield_seconds(hosts: Sequence[HostLoad], own: str) -> float:
    """Return for how long the host `own` leaves a wakeup to earlier hosts.

    `hosts` are in their stable order. The first one with an idle worker does not wait, and each
    following one waits longer. So a host that has just died delays a wakeup, and does not keep it.
    """
    earlier = takewhile(lambda host: host.name != own, hosts)
    return YIELD_SECONDS * sum(host.has_idle_worker for host in earlier)


def may_leave(hosts: Sequence[HostLoad], own: str, min_hosts: int) -> bool:
    """Return whether the host `own` may end when it is idle, because enough earlier hosts live."""
    names = [host.name for host in hosts]
    return own in names[min_hosts:]


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """Bounds the number of wanted hosts, and delays its changes."""

    min_hosts: int
    max_hosts: int
    out_seconds: float  # for which all hosts have to be full before one more is wanted
    cooldown_seconds: float  # after that, in which the new host starts
    in_seconds: float  # for which hosts have to be idle before fewer are wanted


@dataclass(frozen=True, slots=True)
class ScalingState:
    """Holds what one decision leaves to the next. Times are seconds since 1970."""

    wanted: int
    full_since: float | None = None  # all hosts are full and work waits; None: they are not
    idle_since: float | None = None  # work waits for nothing and a host is idle; None: not so
    asked_at: float | None = None  # when one more host was last asked for


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """Holds the next state, and whether one more host is to be asked for now."""

    state: ScalingState
    asks_for_host: bool = False


def decide_scaling(
    hosts: Sequence[HostLoad],
    waiting_seconds: float,
    state: ScalingState,
    rules: ScalingRules,
    now: float,
) -> ScalingDecision:
    """Return how many hosts are wanted, and whether to ask for one more.

    `waiting_seconds` is for how long the oldest claimable chunk has been due; 0: there is none.
    Hosts are asked for one at a time, and again after the cooldown if all are still full. One less
    is wanted each time that a host was idle for `in_seconds`. Between full and idle nothing
    changes, so a load that varies a little does not start and end hosts.
    """
    is_full = waiting_seconds > MAX_CLAIM_SECONDS and not any(h.has_idle_worker for h in hosts)
    is_any_idle = not waiting_seconds and any(not host.busy for host in hosts)
    state = replace(
        state,
        wanted=min(max(state.wanted, rules.min_hosts), max(rules.max_hosts, rules.min_hosts)),
        full_since=_since(is_full, state.full_since, now),
        idle_since=_since(is_any_idle, state.idle_since, now),
    )
    if state.full_since is not None and now - state.full_since >= rules.out_seconds:
        is_cool = state.asked_at is None or now - state.asked_at >= rules.cooldown_seconds
        wanted = min(max(len(hosts) + 1, state.wanted), rules.max_hosts)
        if is_cool and wanted > len(hosts):
            return ScalingDecision(replace(state, wanted=wanted, asked_at=now), asks_for_host=True)
    if state.idle_since is not None and now - state.idle_since >= rules.in_seconds:
        wanted = max(rules.min_hosts, min(state.wanted, len(hosts)) - 1)
        return ScalingDecision(replace(state, wanted=wanted, idle_since=now))
    return ScalingDecision(state)


def _since(is_so: bool, since: float | None, now: float) -> float | None:
    return (now if since is None else since) if is_so else None
