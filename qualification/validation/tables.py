"""The CSV files of the validation pack: UTF-8, separated by commas, with a header line."""

import csv
import io
from collections.abc import Iterable, Sequence

from audit.files.csv_export import escape_formula
from qualification.validation.matrix import MatrixRow
from qualification.validation.steps import StepResult

MATRIX = (
    "requirement", "asks", "sources", "by", "note", "verdict", "test", "outcome", "times",
)  # fmt: skip
SCRIPT = (
    "step", "done", "expected", "observed", "result", "at (UTC)", "seconds", "by",
)  # fmt: skip
SETTINGS = ("setting", "value")


def matrix_csv(rows: Iterable[MatrixRow]) -> bytes:
    """Return a line for each test of a requirement, and one for a requirement without tests."""
    return _csv(MATRIX, (line for row in rows for line in _lines(row)))


def _lines(row: MatrixRow) -> list[Sequence[str]]:
    asked = row.requirement
    asked_columns = (
        asked.id,
        asked.asks,
        "; ".join(asked.sources),
        str(asked.by),
        asked.note or asked.open,
    )
    proofs = [(proof.test, proof.outcome, str(proof)) for proof in row.proofs]
    return [(*asked_columns, row.verdict, *proof) for proof in proofs or [("", "", "")]]


def script_csv(taken: Iterable[StepResult], by: str) -> bytes:
    return _csv(SCRIPT, ((*step_columns(each), f"{each.seconds:.1f}", by) for each in taken))


def step_columns(step: StepResult) -> tuple[str, ...]:
    """Return the columns that show a step. Times are in UTC."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S}"
    return step.id, step.done, step.expected, step.observed, step.result.value, at


def settings_csv(values: Iterable[tuple[str, str]]) -> bytes:
    return _csv(SETTINGS, values)


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return the file with a byte order mark, without which Excel does not detect UTF-8."""
    target = io.StringIO(newline="")
    writer = csv.writer(target)
    writer.writerow(header)
    writer.writerows(map(escape_formula, row) for row in rows)
    return target.getvalue().encode("utf-8-sig")
