"""Builds the traceability matrix: each requirement with its tests and their outcomes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qualification.validation.requirements import REQUIREMENTS, ValidationRequirement
from qualification.validation.results import (
    NOT_RUN,
    RecordedRun,
    combine_outcomes,
    iter_cases,
)


@dataclass(frozen=True, slots=True)
class TestEvidence:
    """Describes the outcome of one test over all runs, as evidence for a requirement."""

    test: str
    outcome: str  # passed, failed, skipped, or NOT_RUN
    counts: Counter[str]  # of each outcome, over all parameters and runs

    def __str__(self) -> str:
        return _format_counts(self.counts) or NOT_RUN


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """Describes a requirement with the tests that prove it."""

    requirement: ValidationRequirement
    evidence: tuple[TestEvidence, ...]

    @property
    def verdict(self) -> str:
        """Return one of: the user's, OPEN, FAILED, passed, passed in part, not run here."""
        if not self.requirement.needs_test:
            return "the user's"
        if not self.evidence:
            return "OPEN"
        counts = self.outcome_counts
        if counts["failed"]:
            return "FAILED"
        if counts["passed"] == len(self.evidence):
            return "passed"
        return "passed in part" if counts["passed"] else NOT_RUN

    @property
    def outcome_counts(self) -> Counter[str]:
        """Return the number of tests with each outcome."""
        return Counter(test.outcome for test in self.evidence)

    @property
    def summary(self) -> str:
        """Return the number of tests with each outcome, as in "1 failed, 3 passed"."""
        return _format_counts(self.outcome_counts)


def make_matrix_rows(
    marked: Mapping[str, frozenset[str]], runs: Iterable[RecordedRun]
) -> list[MatrixRow]:
    """Return a row for each requirement, with the tests marked here and those recorded in runs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    tests: dict[str, set[str]] = defaultdict(set)  # by requirement
    for test, ids in marked.items():
        for requirement_id in ids:
            tests[requirement_id].add(test)
    for case in iter_cases(runs):
        counts[case.test][case.outcome] += 1
        for requirement_id in case.requirements:
            tests[requirement_id].add(case.test)
    return [
        MatrixRow(
            requirement,
            tuple(
                TestEvidence(test, combine_outcomes(counts[test]), counts[test])
                for test in sorted(tests[requirement.id])
            ),
        )
        for requirement in REQUIREMENTS.values()
    ]


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
