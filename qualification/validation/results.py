"""The results of test runs, which `tests/evidence.py` records in one file for each run."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
        return self.id.partition("[")[0]


class TestRun(BaseModel):
    model_config = ConfigDict(extra="forbid")
    started: str  # UTC, as 2026-08-14T09:31:07Z
    ended: str
    host: str
    user: str
    python: str
    database: str
    software: str
    commit: str
    code: str  # `identity.digest`
    arguments: list[str]
    exit_code: int
    tests: list[TestCase]

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(case.outcome for case in self.tests)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A test run, and the file that contains its record."""

    name: str
    sha256: str
    run: TestRun


def read_runs(paths: Iterable[Path]) -> list[RecordedRun]:
    """Read records from files, and from all `*.json` in folders. Raises UnusableTestRecord."""
    return [_read(file) for path in paths for file in _files(path)]


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.json")):
        return files
    raise UnusableTestRecord(f"there are no results (*.json) in {path}")


def _read(file: Path) -> RecordedRun:
    try:
        content = file.read_bytes()
        run = TestRun.model_validate_json(content)
    except OSError as error:
        raise UnusableTestRecord(f"{file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UnusableTestRecord(
            f"{file} is no record of a run: {where}: {first['msg']}"
        ) from error
    return RecordedRun(file.name, hashlib.sha256(content).hexdigest(), run)


def combined_outcome(outcomes: Counter[str]) -> str:
    """Return the outcome of a test over all parameters and runs. One failure means failed."""
    for worst in ("failed", "passed", "skipped"):
        if outcomes[worst]:
            return worst
    return NOT_RUN


def all_cases(runs: Iterable[RecordedRun]) -> Iterator[TestCase]:
    for each in runs:
        yield from each.run.tests
