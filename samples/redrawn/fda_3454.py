"""Draws Form FDA 3454, which certifies the financial interests of clinical investigators."""

from functools import partial

from samples.redrawn.header import draw_burden, draw_disclosure_title, draw_signer
from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, DrawnBox, Redrawing, Value

_SIGNS = ("arrangements of clinical investigators", "form fda 3454")
_NOUN = "certification"
_INTRODUCTION = (
    "With respect to all covered clinical studies (or specific clinical studies listed below (if "
    "appropriate)) submitted in support of this application, I certify to one of the statements "
    "below as appropriate. I understand that this certification is made in compliance with 21 CFR "
    "part 54 and that for the purposes of this statement, a clinical investigator includes the "
    "spouse and each dependent child of the investigator as defined in 21 CFR 54.2(d)."
)
_STATEMENTS = (
    (
        "(1) As the sponsor of the submitted studies, I certify that I have not entered into any "
        "financial arrangement with the listed clinical investigators (enter names of clinical "
        "investigators below or attach list of names to this form) whereby the value of "
        "compensation to the investigator could be affected by the outcome of the study as defined "
        "in 21 CFR 54.2(a). I also certify that each listed clinical investigator required to "
        "disclose to the sponsor whether the investigator had a proprietary interest in this "
        "product or a significant equity in the sponsor as defined in 21 CFR 54.2(b) did not "
        "disclose any such interests. I further certify that no listed investigator was the "
        "recipient of significant payments of other sorts as defined in 21 CFR 54.2(f)."
    ),
    (
        "(2) As the applicant who is submitting a study or studies sponsored by a firm or party "
        "other than the applicant, I certify that based on information obtained from the sponsor "
        "or from participating clinical investigators, the listed clinical investigators (attach "
        "list of names to this form) did not participate in any financial arrangement with the "
        "sponsor of a covered study whereby the value of compensation to the investigator for "
        "conducting the study could be affected by the outcome of the study (as defined in 21 CFR "
        "54.2(a)); had no proprietary interest in this product or significant equity interest in "
        "the sponsor of the covered study (as defined in 21 CFR 54.2(b)); and was not the "
        "recipient of significant payments of other sorts (as defined in 21 CFR 54.2(f))."
    ),
    (
        "(3) As the applicant who is submitting a study or studies sponsored by a firm or party "
        "other than the applicant, I certify that I have acted with due diligence to obtain from "
        "the listed clinical investigators (attach list of names) or from the sponsor the "
        "information required under 54.4 and it was not possible to do so. The reason why this "
        "information could not be obtained is attached."
    ),
)


def _draw(sheet: BlankSheet, *, edition: str, expires: str, mark: str) -> None:
    draw_disclosure_title(sheet, "CERTIFICATION", expires)
    y = sheet.text(LEFT, 118, _INTRODUCTION, size=9, width=540)
    y = sheet.centre(y + 6, mark, size=9, font="Helvetica-Bold") + 8
    for number, statement in enumerate(_STATEMENTS, start=1):
        sheet.square(LEFT + 20, y, "", statement[:3], noun=_NOUN)
        y = sheet.text(LEFT + 46, y, statement, size=9, width=488) + 8
        if number == 1:
            sheet.frame(LEFT + 46, y, RIGHT, y + 84)
            sheet.text(LEFT + 50, y + 3, "Clinical Investigators", size=7)
            area = (LEFT + 47, y + 1, RIGHT - 1, y + 83)
            rest: dict[str, Value] = {"field": "investigator", "noun": "names of the investigators",
                    "is_required": False}  # fmt: skip
            sheet.boxes.append(DrawnBox("", "text", area, rest))
            y += 94
    sheet.y = y
    draw_signer(sheet)
    draw_burden(sheet, "Form FDA 3454", "1 hour")
    sheet.text(LEFT, 752, f"FORM FDA 3454 ({edition})", size=8, font="Helvetica-Bold")


EDITIONS = (
    Redrawing(
        "fda-3454-2006-04-redrawn", "Form FDA 3454", "financial-disclosure", "4/06", "April 2006",
        is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="4/06", expires="April 30, 2009",
                                mark="Please mark the applicable checkbox."))],
    ),
    Redrawing(
        "fda-3454-2009-10-redrawn", "Form FDA 3454", "financial-disclosure", "10/09",
        "October 2009", is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="10/09", expires="August 31, 2012",
                                mark="Please mark the applicable check box."))],
    ),
)  # fmt: skip
