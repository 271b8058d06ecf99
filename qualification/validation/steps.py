"""Scripts of qualification steps: the action, the expected result and the observed result."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar

from qualification.sandbox import SandboxError

_Look = TypeVar("_Look", bound=Callable[..., str])


class StepOutcome(StrEnum):
    PASS = "pass"  # noqa: S105 - no password
    NOTE = "note"  #: neither passed nor failed: a person has to judge it
    FAIL = "FAIL"
    NOT_RUN = "not run"


class StepFailed(Exception):
    """The result is not the expected one. The message says what was observed."""


class NeedsJudgement(Exception):
    """A person has to judge the result. The message says what was observed."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    id: str
    done: str
    expected: str
    look: Callable[[], str]  # answers what was observed; raises Differs, Noted
    is_needed: bool = False  # when it fails, the rest is not run


class Script:
    """The steps of a script, in the order in which they are defined."""

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

    def steps(self, *given: object) -> list[ScriptStep]:
        """`given`: what each is called with."""
        return [
            ScriptStep(f"{self._name}-{n:02}", done, expected, partial(look, *given), is_needed)
            for n, (done, expected, look, is_needed) in enumerate(self._written, start=1)
        ]


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step that was run or skipped."""

    id: str
    done: str
    expected: str
    observed: str
    result: StepOutcome
    at: datetime
    seconds: float


def run_steps(
    steps: Iterable[ScriptStep], progress: Callable[[StepResult], None]
) -> Iterator[StepResult]:
    """Run the steps in order and yield their results. `progress` is called with each."""
    stopped_by = ""
    for step in steps:
        taken = (
            _left_out(step, f"{stopped_by} failed, which this needs") if stopped_by else _take(step)
        )
        if step.is_needed and taken.result is StepOutcome.FAIL:
            stopped_by = step.id
        progress(taken)
        yield taken


def skip_steps(steps: Iterable[ScriptStep], why: str) -> list[StepResult]:
    return [_left_out(step, why) for step in steps]


def _take(step: ScriptStep) -> StepResult:
    at, started = datetime.now(UTC), time.monotonic()
    observed, result = _observed(step)
    return StepResult(
        step.id, step.done, step.expected, observed, result, at, time.monotonic() - started
    )


def _observed(step: ScriptStep) -> tuple[str, StepOutcome]:
    try:
        return step.look(), StepOutcome.PASS
    except (StepFailed, SandboxError) as difference:
        return str(difference), StepOutcome.FAIL
    except NeedsJudgement as note:
        return str(note), StepOutcome.NOTE
    except Exception as error:  # noqa: BLE001 - a step that breaks has failed, and the next ones tell more
        return f"The step broke: {type(error).__name__}: {error}", StepOutcome.FAIL


def _left_out(step: ScriptStep, why: str) -> StepResult:
    return StepResult(
        step.id, step.done, step.expected, why, StepOutcome.NOT_RUN, datetime.now(UTC), 0.0
    )
