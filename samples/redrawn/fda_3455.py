"""Draws Form FDA 3455, which discloses the financial interests of a clinical investigator."""

from functools import partial

from samples.redrawn.header import draw_burden, draw_disclosure_title, draw_signer
from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, DrawnBox, Redrawing

_SIGNS = ("arrangements of clinical investigators", "form fda 3455")
_NOUN = "interests that are disclosed"
_ACCORDANCE = (
    "is submitted in accordance with 21 CFR part 54. The named individual has participated in "
    "financial arrangements or holds financial interests that are required to be disclosed as "
    "follows:"
)
_INTERESTS = (
    (
        "any financial arrangement",
        (
            "any financial arrangement entered into between the sponsor of the covered study and "
            "the clinical investigator involved in the conduct of the covered study, whereby the "
            "value of the compensation to the clinical investigator for conducting the study could "
            "be influenced by the outcome of the study;"
        ),
    ),
    (
        "any significant payments of other sorts",
        (
            "any significant payments of other sorts made on or after February 2, 1999, from the "
            "sponsor of the covered study, such as a grant to fund ongoing research, compensation "
            "in the form of equipment, retainer for ongoing consultation, or honoraria;"
        ),
    ),
    (
        "any proprietary interest",
        (
            "any proprietary interest in the product tested in the covered study held by the "
            "clinical investigator;"
        ),
    ),
    (
        "any significant equity interest",
        (
            "any significant equity interest, as defined in 21 CFR 54.2(b), held by the clinical "
            "investigator in the sponsor of the covered study."
        ),
    ),
)
_DETAILS = (
    "Details of the individual's disclosable financial arrangements and interests are attached, "
    "along with a description of steps taken to minimize the potential bias of clinical study "
    "results by any of the disclosed arrangements or interests."
)


def _draw(sheet: BlankSheet, *, edition: str, expires: str, mark: str) -> None:
    draw_disclosure_title(sheet, "DISCLOSURE", expires)
    sheet.text(LEFT + 4, 136, "The following information concerning", size=10)
    sheet.line(206, 150, 478)
    sheet.text(290, 152, "Name of clinical investigator", size=7)
    sheet.text(484, 136, ", who participated", size=10)
    investigator = {"field": "investigator", "noun": "name of the clinical investigator"}
    sheet.boxes.append(DrawnBox("", "text", (206, 132, 478, 149.5), {**investigator}))
    sheet.text(LEFT + 4, 172, "as a clinical investigator in the submitted study", size=10)
    sheet.line(262, 186, RIGHT - 6)
    sheet.text(390, 188, "Name of", size=7)
    study = {"noun": "name of the clinical study"}
    sheet.boxes.append(DrawnBox("", "text", (262, 168, RIGHT - 6, 185.5), {**study}))
    sheet.line(LEFT + 4, 214, RIGHT - 6)
    sheet.text(280, 216, "clinical study", size=7)
    y = sheet.text(LEFT + 4, 234, _ACCORDANCE, size=10, width=532)
    y = sheet.centre(y + 8, mark, size=9, font="Helvetica-Bold") + 12
    for option, statement in _INTERESTS:
        sheet.square(LEFT + 24, y + 1, "", option, noun=_NOUN, choose="any")
        y = sheet.text(LEFT + 50, y, statement, size=10, width=480) + 12
    y = sheet.text(LEFT + 4, y + 4, _DETAILS, size=10, width=532) + 10
    sheet.y = y
    draw_signer(sheet)
    draw_burden(sheet, "Form FDA 3455", "5 hours")
    sheet.text(LEFT, 752, f"FORM FDA 3455 ({edition})", size=8, font="Helvetica-Bold")


EDITIONS = (
    Redrawing(
        "fda-3455-2006-04-redrawn", "Form FDA 3455", "financial-disclosure", "4/06", "April 2006",
        is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="4/06", expires="April 30, 2009",
                                mark="Please mark the applicable checkboxes."))],
    ),
    Redrawing(
        "fda-3455-2009-10-redrawn", "Form FDA 3455", "financial-disclosure", "10/09",
        "October 2009", is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="10/09", expires="August 31, 2012",
                                mark="Please mark the applicable check boxes."))],
    ),
)  # fmt: skip
