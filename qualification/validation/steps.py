"""A script of steps: what is done, what is expected, and what was observed."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar

from qualification.sandbox import Failed

_Look = TypeVar("_Look", bound=Callable[..., str])


class Result(StrEnum):
    PASS = "pass"  # noqa: S105 - no password
    NOTE = "note"  #: neither right nor wrong by itself: for a person to judge
    FAIL = "FAIL"
    NOT_RUN = "not run"


class Differs(Exception):
    """It is not as expected. The message says what was observed."""


class Noted(Exception):
    """It has to be judged by a person. The message says what was observed."""


@dataclass(frozen=True, slots=True)
class Step:
    id: str
    done: str
    expected: str
    look: Callable[[], str]  # answers what was observed; raises Differs, Noted
    is_needed: bool = False  # when it fails, the rest is not run


class Script:
    """Steps in the order in which they are written, each under its own words."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._written: list[tuple[str, str, Callable[..., str], bool]] = []

    def step(
        self, done: str, expected: str, *, is_needed: bool = False
    ) -> Callable[[_Look], _Look]:
        """Decorator."""

        def keep(look: _Look) -> _Look:
            self._written.append((done, expected, look, is_needed))
            return look

        return keep

    def steps(self, *given: object) -> list[Step]:
        """`given`: what each is called with."""
        return [
            Step(f"{self._name}-{n:02}", done, expected, partial(look, *given), is_needed)
            for n, (done, expected, look, is_needed) in enumerate(self._written, start=1)
        ]


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken, or could not be."""

    id: str
    done: str
    expected: str
    observed: str
    result: Result
    at: datetime
    seconds: float


def take(steps: Iterable[Step], progress: Callable[[Taken], None]) -> Iterator[Taken]:
    """One after the other; `progress` hears of each."""
    stopped_by = ""
    for step in steps:
        taken = (
            _left_out(step, f"{stopped_by} failed, which this needs") if stopped_by else _take(step)
        )
        if step.is_needed and taken.result is Result.FAIL:
            stopped_by = step.id
        progress(taken)
        yield taken


def left_out(steps: Iterable[Step], why: str) -> list[Taken]:
    return [_left_out(step, why) for step in steps]


def _take(step: Step) -> Taken:
    at, started = datetime.now(UTC), time.monotonic()
    observed, result = _observed(step)
    return Taken(
        step.id, step.done, step.expected, observed, result, at, time.monotonic() - started
    )


def _observed(step: Step) -> tuple[str, Result]:
    try:
        return step.look(), Result.PASS
    except (Differs, Failed) as difference:
        return str(difference), Result.FAIL
    except Noted as note:
        return str(note), Result.NOTE
    except Exception as error:  # noqa: BLE001 - a step that breaks has failed, and the next ones tell more
        return f"The step broke: {type(error).__name__}: {error}", Result.FAIL


def _left_out(step: Step, why: str) -> Taken:
    return Taken(step.id, step.done, step.expected, why, Result.NOT_RUN, datetime.now(UTC), 0.0)
