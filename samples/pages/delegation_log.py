"""The log of who signs how, and which tasks the investigator has delegated to whom."""

from datetime import timedelta

from samples import blocks, marks
from samples.document_facts import Dossier, short
from samples.paper import Story, sheet_for, typeset
from samples.people_and_sites import Person

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
_USUAL = {
    "Principal Investigator": "1, 2, 3, 4",
    "Sub-Investigator": "1, 2, 3, 4",
    "Study Coordinator": "7, 8, 9",
    "Study Pharmacist": "5, 6",
}
_HEADS = ("Name", "Role", "Signature", "Initials", "Tasks", "Start date", "Stop date")
_LINES = 8  # of the printed form, with its header
_WIDTHS = (140, 110, 150, 60, 70, 80, 70)


def page(dossier: Dossier) -> bytes:
    footer = f"{dossier.site.study.protocol_number} Delegation of Authority Log, version 1"
    sheet = sheet_for(dossier.site, "Delegation of Authority Log", wide=True, footer=footer)
    return typeset(sheet, lambda: _story(dossier))


def _story(dossier: Dossier) -> Story:
    site, study = dossier.site, dossier.site.study
    named = f"Protocol number: {study.protocol_number} | Site number: {site.site_id}"
    return [
        blocks.text("SITE SIGNATURE LOG / DELEGATION OF AUTHORITY LOG", blocks.TITLE),
        blocks.text(f"{named} | Sponsor: {study.sponsor}", blocks.CENTRED),
        blocks.text(
            f"Principal Investigator: {site.investigator.printed} | {site.hospital}", blocks.CENTRED
        ),
        _table(dossier),
        blocks.gap(6),
        blocks.text(f"Tasks: {'; '.join(_TASKS)}.", blocks.SMALL),
        blocks.text(
            "I confirm that the tasks above were delegated by me to persons qualified by education,"
            " training and experience, and that I remain responsible for the conduct of the study.",
            blocks.SMALL,
        ),
        blocks.PushDown(80),
        marks.SignatureLine(
            "Signature of Principal Investigator",
            site.investigator.printed,
            short(dossier.dates.signature),
            seed=dossier.seed if dossier.signed else None,
        ),
    ]


def _table(dossier: Dossier) -> object:
    rows: list[list[object]] = [[blocks.text(head, blocks.PLAIN) for head in _HEADS]]
    rows += [_row(person, dossier) for person in (dossier.site.investigator, *dossier.site.team)]
    rows += [[""] * len(_HEADS)] * (_LINES - len(rows))
    return blocks.grid(rows, widths=_WIDTHS)


def _row(person: Person, dossier: Dossier) -> list[object]:
    initials = "".join(part[0] for part in person.name.split())
    start = dossier.dates.signature - timedelta(days=dossier.rng.randint(0, 4))
    return [
        blocks.text(person.printed, blocks.PLAIN),
        blocks.text(person.role, blocks.PLAIN),
        marks.Ink(person.name, dossier.seed, (110, 24)),
        blocks.text(initials, blocks.PLAIN),
        blocks.text(_USUAL[person.role], blocks.PLAIN),
        blocks.text(short(start), blocks.PLAIN),
        "",
    ]
