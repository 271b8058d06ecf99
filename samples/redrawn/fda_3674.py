"""Draws Form FDA 3674, which certifies compliance with ClinicalTrials.gov's requirements."""

from functools import partial

from samples.redrawn.header import AGENCY, DEPARTMENT
from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, Cell, Redrawing, cell

_SIGNS = ("clinicaltrials.gov data bank", "certification of compliance, under", "form fda 3674")
_APPLICATIONS = ("IND", "NDA", "ANDA", "BLA", "PMA", "HDE", "510(k)", "PDP", "Other")
_STATEMENTS = (
    (
        "A. I certify that the requirements of 42 U.S.C. \u00a7 282(j), Section 402(j) of the "
        "Public Health Service Act, enacted by 121 Stat. 823, Public Law 110-85, do not apply "
        "because the application/submission which this certification accompanies does not "
        "reference any clinical trial."
    ),
    (
        "B. I certify that the requirements of 42 U.S.C. \u00a7 282(j), Section 402(j) of the "
        "Public Health Service Act, enacted by 121 Stat. 823, Public Law 110-85, do not apply to "
        "any clinical trial referenced in the application/submission which this certification "
        "accompanies."
    ),
    (
        "C. I certify that the requirements of 42 U.S.C. \u00a7 282(j), Section 402(j) of the "
        "Public Health Service Act, enacted by 121 Stat. 823, Public Law 110-85, apply to one or "
        "more of the clinical trials referenced in the application/submission which this "
        "certification accompanies and that those requirements have been met."
    ),
)
_NCT = (
    "10. If you checked box C, in number 9, provide the National Clinical Trial (NCT) Number(s) "
    "for any \u201capplicable clinical trial(s),\u201d under 42 U.S.C. \u00a7 282(j)(1)(A)(i), "
    "section 402(j)(1)(A)(i) of the Public Health Service Act, referenced in the "
    "application/submission which this certification accompanies. (Attach extra pages as necessary)"
)
_DECLARATION = (
    "The undersigned declares, to the best of her/his knowledge, that this is an accurate, true, "
    "and complete submission of information. I understand that the failure to submit the "
    "certification required by 42 U.S.C. \u00a7 282(j)(5)(B), section 402(j)(5)(B) of the Public "
    "Health Service Act, and the knowing submission of a false certification under such section "
    "are prohibited acts under 21 U.S.C. \u00a7 331, section 301 of the Federal Food, Drug, and "
    "Cosmetic Act. Warning: A willfully and knowingly false statement is a criminal offense, U.S. "
    "Code, title 18, section 1001."
)
_PURPOSE = (
    "(For submission with an application/submission, including amendments, supplements, and "
    "resubmissions, under \u00a7\u00a7 505, 515, 520(m), or 510(k) of the Federal Food, Drug, and "
    "Cosmetic Act or \u00a7 351 of the Public Health Service Act.)"
)


def _draw_title(sheet: BlankSheet, expires: str) -> None:
    sheet.centre(32, DEPARTMENT, size=8, width=350)
    sheet.centre(42, AGENCY, size=8, width=350)
    sheet.text(400, 32, "Form Approved: OMB No. 0910-0616", size=7)
    sheet.text(400, 41, f"Expiration Date: {expires}", size=7)
    sheet.text(400, 50, "See OMB Statement on Reverse.", size=7)
    sheet.centre(62, "Certification of Compliance, under 42 U.S.C. \u00a7 282(j)(5)(B), with",
               size=11, font="Helvetica-Bold")  # fmt: skip
    sheet.centre(76, "Requirements of ClinicalTrials.gov Data Bank (42 U.S.C. \u00a7 282(j))",
               size=11, font="Helvetica-Bold")  # fmt: skip
    sheet.y = sheet.centre(92, _PURPOSE, size=6.5) + 4


def _draw(sheet: BlankSheet, *, edition: str, expires: str, is_first: bool) -> None:
    _draw_title(sheet, expires)
    _draw_heading(sheet, "SPONSOR / APPLICANT / SUBMITTER INFORMATION")
    sheet.row(
        34,
        cell("1. NAME OF SPONSOR/APPLICANT/SUBMITTER", "1", share=0.6, field="sponsor"),
        cell("2. DATE OF THE APPLICATION/SUBMISSION WHICH THIS CERTIFICATION ACCOMPANIES", "2",
             share=0.4, field="submission_date"),
    )  # fmt: skip
    sheet.row(
        46 if is_first else 58,
        cell("3. ADDRESS (Number, Street, State, and ZIP Code)", "3", share=0.6,
             noun="address of the sponsor"),
        cell("4. TELEPHONE AND FAX NUMBERS (Include Area Code)", "4", share=0.4,
             noun="telephone number", is_required=False),
    )  # fmt: skip
    _draw_heading(sheet, "PRODUCT INFORMATION")
    sheet.row(
        64,
        cell("5. FOR DRUGS/BIOLOGICS: Include Any/All Available Established, Proprietary and/or "
             "Chemical/Biochemical/Blood/Cellular/Gene Therapy Product Name(s) FOR DEVICES: "
             "Include Any/All Common or Usual Name(s), Classification, Trade or Proprietary or "
             "Model Name(s) and/or Model Number(s)", "5", field="drug_name"),
    )  # fmt: skip
    _draw_heading(sheet, "APPLICATION / SUBMISSION INFORMATION")

    def draw_applications(x: float, y: float, width: float) -> None:
        for index, name in enumerate(_APPLICATIONS):
            sheet.option(x + 8 + index * width / 9, y + 5, "6", name, field="application_type")

    sheet.row(
        36, Cell("6. TYPE OF APPLICATION/SUBMISSION WHICH THIS CERTIFICATION ACCOMPANIES",
                 draw=draw_applications),
    )  # fmt: skip
    sheet.row(
        34,
        cell("7. INCLUDE IND/NDA/ANDA/BLA/PMA/HDE/510(k)/PDP/OTHER NUMBER (If number previously "
             "assigned)", "7", field="ind_number", is_required=False),
        cell("8. SERIAL NUMBER ASSIGNED TO APPLICATION/SUBMISSION WHICH THIS CERTIFICATION "
             "ACCOMPANIES", "8", noun="serial number", is_required=False),
    )  # fmt: skip
    _draw_heading(sheet, "CERTIFICATION STATEMENT / INFORMATION")

    def draw_statements(x: float, y: float, width: float) -> None:
        for statement in _STATEMENTS:
            sheet.square(x + 8, y + 5, "9", statement[0], field="certification")
            y = sheet.text(x + 24, y + 5, statement, width=width - 30) + 2

    sheet.row(
        108, Cell("9. CHECK ONLY ONE OF THE FOLLOWING BOXES (See instructions for additional "
                  "information and explanation)", draw=draw_statements),
    )  # fmt: skip
    sheet.row(62, cell(_NCT, "10", field="nct_numbers", is_required=False))
    sheet.row(58, Cell(_DECLARATION, size=6.8))
    sheet.row(
        34,
        cell("11. SIGNATURE OF SPONSOR/APPLICANT/SUBMITTER OR AN AUTHORIZED REPRESENTATIVE (Sign)",
             "11", "signature", 0.55, noun="signature"),
        cell("12. NAME AND TITLE OF THE PERSON WHO SIGNED IN NO. 11 (Name)", "12", share=0.45,
             noun="name of the signer"),
    )  # fmt: skip
    sheet.row(
        34,
        cell("13. ADDRESS (Number, Street, State, and ZIP Code)", "13", share=0.5,
             noun="address of the signer", is_required=False),
        cell("14. TELEPHONE AND FAX NUMBERS", "14", share=0.25, noun="telephone number of the "
             "signer", is_required=False),
        cell("15. DATE OF CERTIFICATION", "15", "date", 0.25, field="signature_date"),
    )  # fmt: skip
    sheet.text(LEFT, 752, f"FORM FDA 3674 ({edition})", size=8, font="Helvetica-Bold")


def _draw_heading(sheet: BlankSheet, heading: str) -> None:
    sheet.frame(LEFT, sheet.y, RIGHT, sheet.y + 12)
    sheet.centre(sheet.y + 2, heading, font="Helvetica-Bold")
    sheet.y += 12


EDITIONS = (
    Redrawing(
        "fda-3674-2012-03-redrawn", "Form FDA 3674", "form-fda-3674", "3/12", "March 2012",
        is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="3/12", expires="October 31, 2014",
                                is_first=True))],
    ),
    Redrawing(
        "fda-3674-2017-11-redrawn", "Form FDA 3674", "form-fda-3674", "11/17", "November 2017",
        is_superseded=True,
        pages=[(_SIGNS, partial(_draw, edition="11/17", expires="February 28, 2018",
                                is_first=False))],
    ),
)  # fmt: skip
