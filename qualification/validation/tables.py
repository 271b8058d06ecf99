"""Formats the CSV files of the validation pack: UTF-8, with commas and a header line."""

import csv
import io
from collections.abc import Iterable, Sequence

from audit.files.csv_export import escape_formula
from qualification.validation.matrix import MatrixRow
from qualification.validation.steps import StepResult

# The headings are part of the export format: do not translate or rename them.
MATRIX_HEADINGS = (
    "requirement", "asks", "sources", "by", "note", "verdict", "test", "outcome", "times",
)  # fmt: skip
SCRIPT_HEADINGS = (
    "step", "done", "expected", "observed", "result", "at (UTC)", "seconds", "by",
)  # fmt: skip
SETTINGS_HEADINGS = ("setting", "value")


def format_matrix_csv(rows: Iterable[MatrixRow]) -> bytes:
    """Return a line for each test of a requirement, and one for a requirement without tests."""
    lines = []
    for row in rows:
        requirement = row.requirement
        columns = (
            requirement.id,
            requirement.asks,
            "; ".join(requirement.sources),
            str(requirement.by),
            requirement.note or requirement.open,
            row.verdict,
        )
        tests = [(test.test, test.outcome, str(test)) for test in row.evidence]
        lines += [(*columns, *test) for test in tests or [("", "", "")]]
    return _write_csv(MATRIX_HEADINGS, lines)


def format_script_csv(results: Iterable[StepResult], by: str) -> bytes:
    """Return a line for each step, with its duration in seconds and who ran the script."""
    rows = ((*list_step_columns(result), f"{result.seconds:.1f}", by) for result in results)
    return _write_csv(SCRIPT_HEADINGS, rows)


def list_step_columns(step: StepResult) -> tuple[str, ...]:
    """Return the columns that show a step. Times are in UTC."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S}"
    return step.id, step.action, step.expected, step.observed, step.outcome.value, at


def format_settings_csv(values: Iterable[tuple[str, str]]) -> bytes:
    """Return a line for each setting: its name and its displayed value."""
    return _write_csv(SETTINGS_HEADINGS, values)


def _write_csv(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return the file with a byte order mark, without which Excel does not detect UTF-8."""
    target = io.StringIO(newline="")
    writer = csv.writer(target)
    writer.writerow(headings)
    writer.writerows(map(escape_formula, row) for row in rows)
    return target.getvalue().encode("utf-8-sig")
