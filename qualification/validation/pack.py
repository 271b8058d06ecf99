"""The validation pack: a folder with validation.pdf and the tables it is made from."""

import hashlib
import platform
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from ingestion.rules.document_types import RULES_VERSION
from qualification.validation import (
    identity,
    report,
    tables,
    values,
)
from qualification.validation.matrix import MatrixRow
from qualification.validation.results import RecordedRun
from qualification.validation.steps import StepOutcome, StepResult

IQ, OQ = "Installation qualification (IQ)", "Operational qualification (OQ)"
PDF = "validation.pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    rows: Sequence[MatrixRow]
    runs: Sequence[RecordedRun]
    iq: Sequence[StepResult]
    oq: Sequence[StepResult]
    by: str  # the person who requested the pack

    @property
    def shortcomings(self) -> list[str]:
        """Sentences on failed steps and on requirements without passed tests, unless not run."""
        steps = [f"{step.id} failed: {step.done}" for step in (*self.iq, *self.oq) if _failed(step)]
        rows = [
            f"{row.requirement.id} is {row.verdict}: {row.requirement.asks}"
            for row in self.rows
            if row.verdict in {"OPEN", "FAILED"}
        ]
        return [
            *steps,
            *rows,
            *(f"{each.name}: exit code {each.run.exit_code}" for each in self.failed_runs),
        ]

    @property
    def failed_runs(self) -> list[RecordedRun]:
        return [each for each in self.runs if each.run.exit_code]

    def write(self, folder: Path) -> None:
        """Write the pack into a folder that is empty or does not exist. Raises OSError."""
        shown = values.displayed_settings()
        files = {
            "matrix.csv": tables.matrix_csv(self.rows),
            "iq.csv": tables.script_csv(self.iq, self.by),
            "oq.csv": tables.script_csv(self.oq, self.by),
            "settings.csv": tables.settings_csv(shown.items()),
        }
        scripts = {IQ: self.iq, OQ: self.oq}
        files[PDF] = report.draw_report(self._facts(files), self.rows, scripts, self.runs, shown)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)

    def _facts(self, files: Mapping[str, bytes]) -> dict[str, str]:
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        code = identity.code_digest(settings.BASE_DIR)
        sums = "\n".join(f"{_sha256(content)}  {name}" for name, content in files.items())
        return {
            "Software": f"SiteLedger {settings.SOFTWARE_VERSION}",
            "Code": "\n".join(filter(None, (code, identity.commit_id(settings.BASE_DIR)))),
            "Tests ran on": self._ran_on(code),
            "Rules": RULES_VERSION,
            "Trail": settings.AUDIT_TRAIL,
            "Host": f"{socket.gethostname()}, {platform.platform()}, Python "
            f"{platform.python_version()}",
            "Made": f"{now}, by {self.by}",
            "Tables": f"{sums}\n(`sha256sum *.csv` prints the same sums)",
            "Footer": f"{report.NAME}, trail {settings.AUDIT_TRAIL}, made {now}",
        }

    def _ran_on(self, code: str) -> str:
        if not self.runs:
            return "no results were given"
        if other := [each.name for each in self.runs if each.run.code != code]:
            return f"OTHER CODE than is installed here: {', '.join(other)}"
        return "the very code that is installed here"


def _failed(step: StepResult) -> bool:
    return step.result is StepOutcome.FAIL


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
