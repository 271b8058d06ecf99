"""The traceability matrix: each requirement with its tests and their outcomes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qualification.validation.requirements import REQUIREMENTS, ValidationRequirement
from qualification.validation.results import (
    NOT_RUN,
    RecordedRun,
    all_cases,
    combined_outcome,
)


@dataclass(frozen=True, slots=True)
class TestEvidence:
    test: str
    outcome: str  # passed, failed, skipped, or NOT_RUN
    times: Counter[str]  # number of each outcome over all parameters and runs

    def __str__(self) -> str:
        return ", ".join(f"{n} {how}" for how, n in sorted(self.times.items())) or NOT_RUN


@dataclass(frozen=True, slots=True)
class MatrixRow:
    requirement: ValidationRequirement
    proofs: tuple[TestEvidence, ...]

    @property
    def verdict(self) -> str:
        if not self.requirement.wants_a_test:
            return "the user's"
        if not self.proofs:
            return "OPEN"
        ended = Counter(proof.outcome for proof in self.proofs)
        if ended["failed"]:
            return "FAILED"
        if ended["passed"] == len(self.proofs):
            return "passed"
        return "passed in part" if ended["passed"] else NOT_RUN

    @property
    def told(self) -> str:
        """The number of tests for each outcome, as a sentence."""
        ended = Counter(proof.outcome for proof in self.proofs)
        return ", ".join(f"{n} {how}" for how, n in sorted(ended.items()))


def matrix_rows(
    marked: Mapping[str, frozenset[str]], runs: Iterable[RecordedRun]
) -> list[MatrixRow]:
    """Return a row for each requirement, with the tests marked here and those recorded in runs."""
    times: dict[str, Counter[str]] = defaultdict(Counter)
    proving: dict[str, set[str]] = defaultdict(set)
    for test, named in marked.items():
        for row in named:
            proving[row].add(test)
    for case in all_cases(runs):
        times[case.test][case.outcome] += 1
        for row in case.requirements:
            proving[row].add(case.test)
    return [
        MatrixRow(
            requirement,
            tuple(_proof(test, times[test]) for test in sorted(proving[requirement.id])),
        )
        for requirement in REQUIREMENTS.values()
    ]


def _proof(test: str, times: Counter[str]) -> TestEvidence:
    return TestEvidence(test, combined_outcome(times), times)
