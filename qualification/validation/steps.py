"""Runs scripts of qualification steps: the action, the expected and the observed result."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar

from qualification.sandbox import SandboxError

StepFunction = TypeVar("StepFunction", bound=Callable[..., str])


class StepOutcome(StrEnum):
    """Lists the outcomes of a step."""

    PASS = "pass"  # noqa: S105 - not a password
    NOTE = "note"  #: neither passed nor failed: a person has to judge it
    FAIL = "FAIL"
    NOT_RUN = "not run"


class StepFailed(Exception):
    """The result is not the expected one. The message says what was observed."""


class NeedsJudgement(Exception):
    """A person has to judge the result. The message says what was observed."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """Describes a step: an action, its expected result, and the function that runs it."""

    id: str
    action: str
    expected: str
    run: Callable[[], str]  # returns what was observed; raises StepFailed or NeedsJudgement
    is_needed: bool = False  # if it fails, later steps are not run


class Script:
    """The steps of a script, in the order in which they are defined."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._defined: list[tuple[str, str, Callable[..., str], bool]] = []

    def step(
        self, action: str, expected: str, *, is_needed: bool = False
    ) -> Callable[[StepFunction], StepFunction]:
        """Return a decorator that adds a function to the script as its next step."""

        def add(function: StepFunction) -> StepFunction:
            self._defined.append((action, expected, function, is_needed))
            return function

        return add

    def steps(self, *arguments: object) -> list[ScriptStep]:
        """Return the steps. Each function is called with these arguments, such as `self`."""
        return [
            ScriptStep(
                f"{self._name}-{n:02}", action, expected, partial(function, *arguments), is_needed
            )
            for n, (action, expected, function, is_needed) in enumerate(self._defined, start=1)
        ]


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step that was run or skipped."""

    id: str
    action: str
    expected: str
    observed: str
    outcome: StepOutcome
    at: datetime
    seconds: float


def run_steps(
    steps: Iterable[ScriptStep], progress: Callable[[StepResult], None]
) -> Iterator[StepResult]:
    """Run the steps in order and yield their results. `progress` is called with each."""
    failed_id = ""
    for step in steps:
        if failed_id:
            result = _skip(step, f"not run because step {failed_id} failed")
        else:
            started, started_at = time.monotonic(), datetime.now(UTC)
            observed, outcome = _observe(step)
            seconds = time.monotonic() - started
            result = StepResult(
                step.id, step.action, step.expected, observed, outcome, started_at, seconds
            )
        if step.is_needed and result.outcome is StepOutcome.FAIL:
            failed_id = step.id
        progress(result)
        yield result


def skip_steps(steps: Iterable[ScriptStep], reason: str) -> list[StepResult]:
    """Return a result "not run" with the reason for each step."""
    return [_skip(step, reason) for step in steps]


def _skip(step: ScriptStep, reason: str) -> StepResult:
    return StepResult(
        step.id, step.action, step.expected, reason, StepOutcome.NOT_RUN, datetime.now(UTC), 0.0
    )


def _observe(step: ScriptStep) -> tuple[str, StepOutcome]:
    try:
        return step.run(), StepOutcome.PASS
    except (StepFailed, SandboxError) as difference:
        return str(difference), StepOutcome.FAIL
    except NeedsJudgement as note:
        return str(note), StepOutcome.NOTE
    except Exception as error:  # noqa: BLE001 - the step has failed, and later steps still run
        return f"The step raised {type(error).__name__}: {error}", StepOutcome.FAIL
