"""Reads the results of test runs, which `tests/evidence.py` records in one file for each run."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

NOT_RUN = "not run here"


class UnusableTestRecord(Exception):
    """A file does not contain the record of a test run. The message names the file."""


class TestCase(BaseModel):
    """A test with one set of parameters."""

    model_config = ConfigDict(extra="forbid")
    id: str
    outcome: Annotated[str, Field(pattern="^(passed|failed|skipped)$")]
    requirements: list[str]
    seconds: float

    @property
    def test(self) -> str:
        """Return the id of the test without its parameters."""
        return self.id.partition("[")[0]


class TestRun(BaseModel):
    """Describes one test run: when and where it ran, on which code, and its outcomes."""

    model_config = ConfigDict(extra="forbid")
    started: str  # UTC, in the format 2026-08-14T09:31:07Z
    ended: str
    host: str
    user: str
    python: str
    database: str
    software: str
    commit: str
    code: str  # `identity.compute_code_digest`
    arguments: list[str]
    exit_code: int
    tests: list[TestCase]

    @property
    def outcomes(self) -> Counter[str]:
        """Return the number of test cases by outcome."""
        return Counter(case.outcome for case in self.tests)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A test run, and the file that contains its record."""

    name: str
    sha256: str
    run: TestRun


def read_runs(paths: Iterable[Path]) -> list[RecordedRun]:
    """Read records from files, and from all `*.json` in folders. Raises UnusableTestRecord."""
    files: list[Path] = []
    for path in paths:
        in_path = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not in_path:
            raise UnusableTestRecord(f"there are no results (*.json) in {path}")
        files += in_path
    return [_read_run(file) for file in files]


def _read_run(file: Path) -> RecordedRun:
    try:
        content = file.read_bytes()
        run = TestRun.model_validate_json(content)
    except OSError as error:
        raise UnusableTestRecord(f"{file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UnusableTestRecord(
            f"{file} is not the record of a test run: {where}: {first['msg']}"
        ) from error
    return RecordedRun(file.name, hashlib.sha256(content).hexdigest(), run)


def combine_outcomes(outcomes: Counter[str]) -> str:
    """Return the outcome of a test over all parameters and runs. One failure means failed."""
    for worst in ("failed", "passed", "skipped"):
        if outcomes[worst]:
            return worst
    return NOT_RUN


def iter_cases(runs: Iterable[RecordedRun]) -> Iterator[TestCase]:
    """Yield the test cases of all runs."""
    for recorded in runs:
        yield from recorded.run.tests
