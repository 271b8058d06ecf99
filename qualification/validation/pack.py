"""Writes the validation pack: a folder with validation.pdf and the tables it is made from."""

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
    """Contains the results from which the files of the pack are made."""

    rows: Sequence[MatrixRow]
    runs: Sequence[RecordedRun]
    iq: Sequence[StepResult]
    oq: Sequence[StepResult]
    by: str  # the person who requested the pack

    @property
    def shortcomings(self) -> list[str]:
        """Return sentences on failed steps and runs, and on requirements without passed tests.

        Requirements whose tests were not run are not mentioned.
        """
        steps = [
            f"{step.id} failed: {step.action}"
            for step in (*self.iq, *self.oq)
            if step.outcome is StepOutcome.FAIL
        ]
        rows = [
            f"{row.requirement.id} is {row.verdict}: {row.requirement.asks}"
            for row in self.rows
            if row.verdict in {"OPEN", "FAILED"}
        ]
        runs = [
            f"{recorded.name}: exit code {recorded.run.exit_code}"
            for recorded in self.runs
            if recorded.run.exit_code
        ]
        return [*steps, *rows, *runs]

    def write(self, folder: Path) -> None:
        """Write the pack into a folder that is empty or does not exist. Raises OSError."""
        displayed = values.read_displayed_settings()
        files = {
            "matrix.csv": tables.format_matrix_csv(self.rows),
            "iq.csv": tables.format_script_csv(self.iq, self.by),
            "oq.csv": tables.format_script_csv(self.oq, self.by),
            "settings.csv": tables.format_settings_csv(displayed.items()),
        }
        scripts = {IQ: self.iq, OQ: self.oq}
        files[PDF] = report.draw_report(
            self._facts(files), self.rows, scripts, self.runs, displayed
        )
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)

    def _facts(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Return what the first page of the report and its footer state."""
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        code = identity.compute_code_digest(settings.BASE_DIR)
        digests = "\n".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in files.items()
        )
        other_code = [recorded.name for recorded in self.runs if recorded.run.code != code]
        if not self.runs:
            tested = "no results were given"
        elif other_code:
            tested = f"OTHER CODE than is installed here: {', '.join(other_code)}"
        else:
            tested = "the code that is installed here"
        return {
            "Software": f"SiteLedger {settings.SOFTWARE_VERSION}",
            "Code": "\n".join(filter(None, (code, identity.commit_id(settings.BASE_DIR)))),
            "Tests ran on": tested,
            "Rules": RULES_VERSION,
            "Trail": settings.AUDIT_TRAIL,
            "Host": f"{socket.gethostname()}, {platform.platform()}, Python "
            f"{platform.python_version()}",
            "Made": f"{now}, by {self.by}",
            "Tables": f"{digests}\n(`sha256sum *.csv` prints the same digests)",
            "Footer": f"{report.NAME}, trail {settings.AUDIT_TRAIL}, made {now}",
        }
