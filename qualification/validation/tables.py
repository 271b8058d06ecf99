"""The pack's CSV files: UTF-8, comma, a header line. Each is a list of rows, complete."""

import csv
import io
from collections.abc import Iterable, Sequence

from audit.files.csv_export import inert
from qualification.validation.matrix import Row
from qualification.validation.steps import Taken

MATRIX = (
    "requirement", "asks", "sources", "by", "note", "verdict", "test", "outcome", "times",
)  # fmt: skip
SCRIPT = (
    "step", "done", "expected", "observed", "result", "at (UTC)", "seconds", "by",
)  # fmt: skip
SETTINGS = ("setting", "value")


def matrix(rows: Iterable[Row]) -> bytes:
    """A line for each test of a requirement, and one for a requirement without any."""
    return _csv(MATRIX, (line for row in rows for line in _lines(row)))


def _lines(row: Row) -> list[Sequence[str]]:
    asked = row.requirement
    told = (asked.id, asked.asks, "; ".join(asked.sources), str(asked.by), asked.note or asked.open)
    proofs = [(proof.test, proof.outcome, str(proof)) for proof in row.proofs]
    return [(*told, row.verdict, *proof) for proof in proofs or [("", "", "")]]


def script(taken: Iterable[Taken], by: str) -> bytes:
    return _csv(SCRIPT, ((*told(each), f"{each.seconds:.1f}", by) for each in taken))


def told(step: Taken) -> tuple[str, ...]:
    """A step as people read it; the time in UTC."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S}"
    return step.id, step.done, step.expected, step.observed, step.result.value, at


def settings(values: Iterable[tuple[str, str]]) -> bytes:
    return _csv(SETTINGS, values)


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Excel takes UTF-8 for UTF-8 only with a byte order mark in front."""
    target = io.StringIO(newline="")
    writer = csv.writer(target)
    writer.writerow(header)
    writer.writerows(map(inert, row) for row in rows)
    return target.getvalue().encode("utf-8-sig")
