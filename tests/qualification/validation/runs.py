"""Factories for records of test runs."""

from qualification.validation.results import RecordedRun, TestCase, TestRun


def case(name, outcome="passed", *rows):
    return TestCase(id=name, outcome=outcome, requirements=list(rows), seconds=0.1)


def run(*cases, **columns):
    defaults = {
        "started": "2026-08-14T09:00:00Z",
        "ended": "2026-08-14T09:31:07Z",
        "host": "builder",
        "user": "ci",
        "python": "3.11.7",
        "database": "postgresql",
        "software": "0.1.0",
        "commit": "c0ffee",
        "code": "0" * 64,
        "arguments": [],
        "exit_code": 0,
    }
    return TestRun(tests=list(cases), **defaults | columns)


def recorded(*cases, **columns):
    return RecordedRun("run.json", "1" * 64, run(*cases, **columns))
