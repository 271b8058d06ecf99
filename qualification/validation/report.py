"""Draw validation.pdf, which people read, judge and sign."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from reportlab.lib.pagesizes import A4, landscape
from reportlab.platypus import PageBreak, Spacer

from audit.files.pdf_layout import (
    PdfDocument,
    cell,
    heading,
    title,
)
from qualification.validation.matrix import MatrixRow
from qualification.validation.results import RecordedRun
from qualification.validation.steps import StepOutcome, StepResult
from qualification.validation.tables import step_columns

NAME = "Raw material for validation"
STATEMENT = (
    "This pack is raw material for your validation. It is not a validation, and it certifies "
    "nothing: 21 CFR 11.10(a), EU GMP Annex 11 (4) and ICH E6(R3) 4.3.4 ask you, who use the "
    "system, to show that it is fit for what you use it for. Plan, assessment of risk, your own "
    "requirements, tests of your own work and the decision to use it are yours. The makers of the "
    "software chose the requirements, wrote the tests and the scripts, and nobody independent has "
    "judged either."
)
PARTS = {
    "Matrix": "what regulations ask, who sees to it, and the tests that say they prove it. A test "
    "shows the cases that it tries, no more.",
    "IQ": "installation qualification: what is installed here, looked at by a script that changes "
    "nothing.",
    "OQ": "operational qualification: small operations from end to end, with the software, "
    "packages and settings that are installed here, on SQLite and folders of their own, over "
    "plain HTTP. The database, mail, portals, scanner and time servers of this installation were "
    "not used in it.",
    "Not here": "performance qualification, backups of this installation and their return, your "
    "procedures, your people's training, and anything that the network and the hosts do.",
}
SIGNING = ("Prepared", "Reviewed", "Approved")
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
    shown = {name: fact for name, fact in facts.items() if name != "Footer"}
    story = [
        *_first_page(sheet, shown, rows, scripts),
        PageBreak(),
        *_runs(sheet, runs),
        *_signing(sheet),
        PageBreak(),
        *_matrix(sheet, rows),
        *(part for name, taken in scripts.items() for part in _script(sheet, name, taken)),
        PageBreak(),
        *sheet.section("Settings in force", ("Setting", "Value"), (0.3, 0.7), [*settings.items()]),
        PageBreak(),
        *_tests(sheet, rows),
    ]
    target = BytesIO()
    sheet.write(target, story)
    return target.getvalue()


def _first_page(
    sheet: PdfDocument,
    facts: Mapping[str, str],
    rows: Sequence[MatrixRow],
    scripts: Mapping[str, Sequence[StepResult]],
) -> Iterator[Any]:
    yield title(NAME)
    yield cell(STATEMENT)
    yield Spacer(1, 6)
    yield sheet.facts(facts)
    yield heading("What came out")
    yield sheet.facts(_outcome(rows, scripts))
    yield heading("What it covers")
    yield sheet.facts(PARTS)


def _signing(sheet: PdfDocument) -> Iterator[Any]:
    header = ("", "Name and role", "Signature", "Date")
    lines = [(name, "", SIGNATURE_SPACE, "") for name in SIGNING]
    yield from sheet.section("For you to sign", header, (0.12, 0.38, 0.35, 0.15), lines)


def _outcome(
    rows: Sequence[MatrixRow], scripts: Mapping[str, Sequence[StepResult]]
) -> dict[str, str]:
    verdicts = _counted(row.verdict for row in rows)
    named = {"Requirements": f"{verdicts}, of {len(rows)}"}
    if wanting := [row.requirement.id for row in rows if row.verdict in {"OPEN", "FAILED"}]:
        named["Open or failed"] = ", ".join(wanting)
    for name, taken in scripts.items():
        named[name] = f"{_counted(step.result.value for step in taken)}, of {len(taken)}"
    steps = (step for taken in scripts.values() for step in taken)
    if failed := [step.id for step in steps if step.result is StepOutcome.FAIL]:
        named["Failed steps"] = ", ".join(failed)
    return named


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{n} {word}" for word, n in Counter(words).items())


def _runs(sheet: PdfDocument, runs: Sequence[RecordedRun]) -> Iterator[Any]:
    if not runs:
        yield heading("Runs of the tests")
        yield cell("None was given: no test was run for this pack. See docs/validation.md.")
        return
    header = ("File, SHA-256", "When (UTC), where, by whom", "On what", "Code", "Outcome")
    lines = [
        (
            f"{each.name}\n{each.sha256}",
            f"{each.run.started} to {each.run.ended}\n{each.run.host}, {each.run.user}",
            f"Python {each.run.python}, {each.run.database}\n{' '.join(each.run.arguments)}",
            f"SiteLedger {each.run.software}\n{each.run.code}\n{each.run.commit}",
            f"{_counted(case.outcome for case in each.run.tests)}; exit code {each.run.exit_code}",
        )
        for each in runs
    ]
    yield from sheet.section("Runs of the tests", header, (0.24, 0.2, 0.18, 0.24, 0.14), lines)


def _matrix(sheet: PdfDocument, rows: Sequence[MatrixRow]) -> Iterator[Any]:
    header = ("No.", "What is asked", "Where", "Seen to by", "Tests", "Verdict")
    lines = [
        (
            row.requirement.id,
            "\n".join(filter(None, (row.requirement.asks, row.requirement.note))),
            "\n".join(row.requirement.sources),
            str(row.requirement.by),
            row.told or row.requirement.open,
            row.verdict,
        )
        for row in rows
    ]
    yield from sheet.section("Requirements", header, (0.05, 0.43, 0.22, 0.08, 0.12, 0.1), lines)


def _script(sheet: PdfDocument, name: str, taken: Sequence[StepResult]) -> Iterator[Any]:
    header = ("Step", "What is done", "Expected", "Observed", "Result", "At (UTC)")
    widths = (0.06, 0.24, 0.21, 0.32, 0.06, 0.11)
    yield PageBreak()
    yield from sheet.section(name, header, widths, [step_columns(step) for step in taken])


def _tests(sheet: PdfDocument, rows: Sequence[MatrixRow]) -> Iterator[Any]:
    lines = [(row.requirement.id, proof.test, str(proof)) for row in rows for proof in row.proofs]
    header = ("No.", "Test", "How it ended, over parameters and runs")
    yield from sheet.section("Tests by requirement", header, (0.05, 0.7, 0.25), lines)
