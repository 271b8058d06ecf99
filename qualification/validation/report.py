"""Draw validation.pdf, which people read, judge and sign."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from reportlab.lib.pagesizes import A4, landscape
from reportlab.platypus import PageBreak, Spacer

from audit.files.pdf_layout import (
    PdfDocument,
    make_cell,
    make_heading,
    make_title,
)
from qualification.validation.matrix import MatrixRow
from qualification.validation.results import RecordedRun
from qualification.validation.steps import StepOutcome, StepResult
from qualification.validation.tables import list_step_columns

NAME = "Raw material for validation"
STATEMENT = (
    "This pack is raw material for your validation. It is not a validation, and it certifies "
    "nothing. 21 CFR 11.10(a), EU GMP Annex 11 (4) and ICH E6(R3) 4.3.4 require you, the user of "
    "the system, to show that it is fit for your purpose. You are responsible for the plan, the "
    "risk assessment, your own requirements, the tests of your own processes, and the decision to "
    "use the system. The manufacturer of the software selected the requirements and wrote the "
    "tests and scripts. No independent party has assessed them."
)
CONTENTS = {
    "Matrix": "regulatory requirements, who is responsible for each, and the tests that name it. A "
    "test proves only the cases that it tries.",
    "IQ": "installation qualification: a script checks what is installed here, without changes.",
    "OQ": "operational qualification: small operations from end to end, with the software, "
    "packages and settings that are installed here, on SQLite and in temporary folders, over "
    "plain HTTP. The database, mail, portals, scanner and time servers of this installation were "
    "not used.",
    "Not included": "performance qualification, backup and restore of this installation, your "
    "procedures, the training of your staff, and all functions of the network and the hosts.",
}
SIGNATURES = ("Prepared", "Reviewed", "Approved")
SIGNATURE_SPACE = "\n\n\n"


def draw_report(
    facts: Mapping[str, str],
    rows: Sequence[MatrixRow],
    scripts: Mapping[str, Sequence[StepResult]],
    runs: Sequence[RecordedRun],
    settings: Mapping[str, str],
) -> bytes:
    """Return the PDF. `facts` appear on the first page; `scripts` are results by script name."""
    sheet = PdfDocument(landscape(A4), title=NAME, author=facts["Software"], footer=facts["Footer"])
    signature_header = ("", "Name and role", "Signature", "Date")
    signature_lines = [(name, "", SIGNATURE_SPACE, "") for name in SIGNATURES]
    step_header = ("Step", "Action", "Expected", "Observed", "Result", "At (UTC)")
    step_widths = (0.06, 0.24, 0.21, 0.32, 0.06, 0.11)
    test_header = ("No.", "Test", "Outcomes over all parameters and runs")
    test_lines = [
        (row.requirement.id, test.test, str(test)) for row in rows for test in row.evidence
    ]
    story: list[Any] = [
        make_title(NAME),
        make_cell(STATEMENT),
        Spacer(1, 6),
        sheet.facts({name: fact for name, fact in facts.items() if name != "Footer"}),
        make_heading("Results"),
        sheet.facts(_summarize(rows, scripts)),
        make_heading("Contents"),
        sheet.facts(CONTENTS),
        PageBreak(),
        *_draw_runs(sheet, runs),
        *sheet.section("Signatures", signature_header, (0.12, 0.38, 0.35, 0.15), signature_lines),
        PageBreak(),
        *_draw_matrix(sheet, rows),
    ]
    for name, results in scripts.items():
        lines = [list_step_columns(result) for result in results]
        story += [PageBreak(), *sheet.section(name, step_header, step_widths, lines)]
    story += [
        PageBreak(),
        *sheet.section("Settings in effect", ("Setting", "Value"), (0.3, 0.7), [*settings.items()]),
        PageBreak(),
        *sheet.section("Tests by requirement", test_header, (0.05, 0.7, 0.25), test_lines),
    ]
    target = BytesIO()
    sheet.write(target, story)
    return target.getvalue()


def _summarize(
    rows: Sequence[MatrixRow], scripts: Mapping[str, Sequence[StepResult]]
) -> dict[str, str]:
    verdicts = _format_counts(row.verdict for row in rows)
    summary = {"Requirements": f"{verdicts}, of {len(rows)}"}
    if unmet := [row.requirement.id for row in rows if row.verdict in {"OPEN", "FAILED"}]:
        summary["Open or failed"] = ", ".join(unmet)
    for name, results in scripts.items():
        outcomes = _format_counts(result.outcome.value for result in results)
        summary[name] = f"{outcomes}, of {len(results)}"
    all_results = (result for results in scripts.values() for result in results)
    if failed := [result.id for result in all_results if result.outcome is StepOutcome.FAIL]:
        summary["Failed steps"] = ", ".join(failed)
    return summary


def _draw_runs(sheet: PdfDocument, runs: Sequence[RecordedRun]) -> Iterator[Any]:
    if not runs:
        yield make_heading("Test runs")
        yield make_cell("No results were given for this pack. See docs/validation.md.")
        return
    header = ("File, SHA-256", "When (UTC), where, by whom", "Environment", "Code", "Outcome")
    lines = [
        (
            f"{recorded.name}\n{recorded.sha256}",
            f"{run.started} to {run.ended}\n{run.host}, {run.user}",
            f"Python {run.python}, {run.database}\n{' '.join(run.arguments)}",
            f"SiteLedger {run.software}\n{run.code}\n{run.commit}",
            f"{_format_counts(case.outcome for case in run.tests)}; exit code {run.exit_code}",
        )
        for recorded, run in ((recorded, recorded.run) for recorded in runs)
    ]
    yield from sheet.section("Test runs", header, (0.24, 0.2, 0.18, 0.24, 0.14), lines)


def _draw_matrix(sheet: PdfDocument, rows: Sequence[MatrixRow]) -> Iterator[Any]:
    header = ("No.", "Requirement", "Source", "Responsible", "Tests", "Verdict")
    lines = [
        (
            row.requirement.id,
            "\n".join(filter(None, (row.requirement.asks, row.requirement.note))),
            "\n".join(row.requirement.sources),
            str(row.requirement.by),
            row.summary or row.requirement.open,
            row.verdict,
        )
        for row in rows
    ]
    yield from sheet.section("Requirements", header, (0.05, 0.43, 0.22, 0.08, 0.12, 0.1), lines)


def _format_counts(words: Iterable[str]) -> str:
    """Return the number of each word, as in "3 passed, 1 failed"."""
    return ", ".join(f"{n} {word}" for word, n in Counter(words).items())
