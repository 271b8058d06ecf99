"""Draws the site signature log and the log of the tasks that the investigator has delegated."""

from datetime import timedelta

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

_TASKS = (
    "1 Informed consent",
    "2 Eligibility",
    "3 Medical history and examination",
    "4 Adverse events, causality",
    "5 Dispensing of product",
    "6 Accountability of product",
    "7 Sampling and shipment",
    "8 Case report forms and queries",
    "9 Regulatory documents",
)
_TASKS_OF_ROLE = {
    "Principal Investigator": "1, 2, 3, 4",
    "Sub-Investigator": "1, 2, 3, 4",
    "Study Coordinator": "7, 8, 9",
    "Study Pharmacist": "5, 6",
}
_HEADINGS = ("Name", "Role", "Signature", "Initials", "Tasks", "Start date", "Stop date")
_ROWS = 8  # rows of the printed form with its header
_WIDTHS = (140, 110, 150, 60, 70, 80, 70)


def draw_delegation_log(facts: DocumentFacts) -> bytes:
    """Return the delegation log of the site as a PDF in landscape format."""
    footer = f"{facts.site.study.protocol_number} Delegation of Authority Log, version 1"
    sheet = get_page_format(facts.site, "Delegation of Authority Log", wide=True, footer=footer)
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    site, study = facts.site, facts.site.study
    numbers = f"Protocol number: {study.protocol_number} | Site number: {site.site_id}"
    return [
        blocks.make_paragraph("SITE SIGNATURE LOG / DELEGATION OF AUTHORITY LOG", blocks.TITLE),
        blocks.make_paragraph(f"{numbers} | Sponsor: {study.sponsor}", blocks.CENTRED),
        blocks.make_paragraph(
            f"Principal Investigator: {site.investigator.printed} | {site.hospital}", blocks.CENTRED
        ),
        _delegation_table(facts),
        blocks.make_vertical_space(6),
        blocks.make_paragraph(f"Tasks: {'; '.join(_TASKS)}.", blocks.SMALL),
        blocks.make_paragraph(
            "I confirm that the tasks above were delegated by me to persons qualified by education,"
            " training and experience, and that I remain responsible for the conduct of the study.",
            blocks.SMALL,
        ),
        blocks.FillRemainingHeight(80),
        marks.SignatureLine(
            "Signature of Principal Investigator",
            site.investigator.printed,
            format_short_date(facts.dates.signature),
            seed=facts.signature_seed,
        ),
    ]


def _delegation_table(facts: DocumentFacts) -> object:
    rows: list[list[object]] = [
        [blocks.make_paragraph(heading, blocks.PLAIN) for heading in _HEADINGS]
    ]
    start = facts.dates.signature - timedelta(days=facts.rng.randint(0, 4))
    for person in (facts.site.investigator, *facts.site.team):
        initials = "".join(part[0] for part in person.name.split())
        rows.append(
            [
                blocks.make_paragraph(person.printed, blocks.PLAIN),
                blocks.make_paragraph(person.role, blocks.PLAIN),
                marks.HandwrittenSignature(person.name, facts.seed, (110, 24)),
                blocks.make_paragraph(initials, blocks.PLAIN),
                blocks.make_paragraph(_TASKS_OF_ROLE[person.role], blocks.PLAIN),
                blocks.make_paragraph(format_short_date(start), blocks.PLAIN),
                "",
            ]
        )
    rows += [[""] * len(_HEADINGS)] * (_ROWS - len(rows))
    return blocks.make_ruled_table(rows, widths=_WIDTHS)
