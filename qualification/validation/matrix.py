"""Requirements against the tests that prove them, and how those ended."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qualification.validation.requirements import ALL, Requirement
from qualification.validation.results import (
    NOT_RUN,
    Read,
    cases,
    outcome,
)


@dataclass(frozen=True, slots=True)
class Proof:
    test: str
    outcome: str  # passed, failed, skipped, or NOT_RUN
    times: Counter[str]  # how often it ended so, over parameters and runs

    def __str__(self) -> str:
        return ", ".join(f"{n} {how}" for how, n in sorted(self.times.items())) or NOT_RUN


@dataclass(frozen=True, slots=True)
class Row:
    requirement: Requirement
    proofs: tuple[Proof, ...]

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
        """How many tests ended how."""
        ended = Counter(proof.outcome for proof in self.proofs)
        return ", ".join(f"{n} {how}" for how, n in sorted(ended.items()))


def rows(marked: Mapping[str, frozenset[str]], runs: Iterable[Read]) -> list[Row]:
    """A row for each requirement; its tests are those marked here, and those that ran with it."""
    times: dict[str, Counter[str]] = defaultdict(Counter)
    proving: dict[str, set[str]] = defaultdict(set)
    for test, named in marked.items():
        for row in named:
            proving[row].add(test)
    for case in cases(runs):
        times[case.test][case.outcome] += 1
        for row in case.requirements:
            proving[row].add(case.test)
    return [
        Row(
            requirement,
            tuple(_proof(test, times[test]) for test in sorted(proving[requirement.id])),
        )
        for requirement in ALL.values()
    ]


def _proof(test: str, times: Counter[str]) -> Proof:
    return Proof(test, outcome(times), times)
