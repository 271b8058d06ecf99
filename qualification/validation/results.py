"""What runs of the tests came to. Written by `tests/evidence.py`, a file for each run."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

NOT_RUN = "not run here"


class Unusable(Exception):
    """A file that is no record of a run. The message names it."""


class Case(BaseModel):
    """A test with one set of parameters."""

    model_config = ConfigDict(extra="forbid")
    id: str
    outcome: Annotated[str, Field(pattern="^(passed|failed|skipped)$")]
    requirements: list[str]
    seconds: float

    @property
    def test(self) -> str:
        return self.id.partition("[")[0]


class Run(BaseModel):
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
    tests: list[Case]

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(case.outcome for case in self.tests)


@dataclass(frozen=True, slots=True)
class Read:
    """A run, and the file that tells of it."""

    name: str
    sha256: str
    run: Run


def read(paths: Iterable[Path]) -> list[Read]:
    """Of files, and of all `*.json` in folders. Raises Unusable."""
    return [_read(file) for path in paths for file in _files(path)]


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.json")):
        return files
    raise Unusable(f"there are no results (*.json) in {path}")


def _read(file: Path) -> Read:
    try:
        content = file.read_bytes()
        run = Run.model_validate_json(content)
    except OSError as error:
        raise Unusable(f"{file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise Unusable(f"{file} is no record of a run: {where}: {first['msg']}") from error
    return Read(file.name, hashlib.sha256(content).hexdigest(), run)


def outcome(outcomes: Counter[str]) -> str:
    """Of a test over all its parameters and runs: one that failed anywhere has failed."""
    for worst in ("failed", "passed", "skipped"):
        if outcomes[worst]:
            return worst
    return NOT_RUN


def cases(runs: Iterable[Read]) -> Iterator[Case]:
    for each in runs:
        yield from each.run.tests
