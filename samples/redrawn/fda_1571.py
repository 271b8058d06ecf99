"""Draws Form FDA 1571, the cover sheet of an investigational new drug application."""

from functools import partial

from samples.redrawn.header import AGENCY, DEPARTMENT
from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, Cell, Redrawing, cell

_FIRST = ("may be shipped or clinical investigation begun", "form fda 1571")
_SECOND = ("sponsor's authorized representative", "form fda 1571")
_PHASES = ("PHASE 1", "PHASE 2", "PHASE 3", "OTHER")
_NUMBERS = (
    "9. LIST NUMBERS OF ALL INVESTIGATIONAL NEW DRUG APPLICATIONS (21 CFR Part 312), NEW DRUG OR "
    "ANTIBIOTIC APPLICATIONS (21 CFR Part 314), DRUG MASTER FILES (21 CFR Part 314.420), AND "
    "PRODUCT LICENSE APPLICATIONS (21 CFR Part 601) REFERRED TO IN THIS APPLICATION."
)
_SERIAL = (
    "10. IND submission should be consecutively numbered. The initial IND should be numbered "
    "\u201cSerial number: 0000.\u201d The next submission (e.g., amendment, report, or "
    "correspondence) should be numbered \u201cSerial Number: 0001.\u201d Subsequent submissions "
    "should be numbered consecutively in the order in which they are submitted."
)
_SUBMISSIONS = (
    ("INITIAL INVESTIGATIONAL NEW DRUG APPLICATION (IND)", "RESPONSE TO CLINICAL HOLD"),
    ("PROTOCOL AMENDMENT: NEW PROTOCOL", "INFORMATION AMENDMENT: CHEMISTRY/MICROBIOLOGY"),
    ("PROTOCOL AMENDMENT: CHANGE IN PROTOCOL", "INFORMATION AMENDMENT: PHARMACOLOGY/TOXICOLOGY"),
    ("PROTOCOL AMENDMENT: NEW INVESTIGATOR", "INFORMATION AMENDMENT: CLINICAL"),
    (
        "IND SAFETY REPORT: INITIAL WRITTEN REPORT",
        "IND SAFETY REPORT: FOLLOW-UP TO A WRITTEN REPORT",
    ),
    ("RESPONSE TO FDA REQUEST FOR INFORMATION", "ANNUAL REPORT"),
    ("REQUEST FOR REINSTATEMENT OF IND THAT IS WITHDRAWN", "GENERAL CORRESPONDENCE"),
)
_APPLICABLE = (
    "TREATMENT IND 21 CFR 312.35(b)", "TREATMENT PROTOCOL 21 CFR 312.35(a)",
    "CHARGE REQUEST/NOTIFICATION 21 CFR 312.7(d)",
)  # fmt: skip
_CONTENTS = (
    "1. Form FDA 1571 [21 CFR 312.23(a)(1)]",
    "2. Table of Contents [21 CFR 312.23(a)(2)]",
    "3. Introductory statement [21 CFR 312.23(a)(3)]",
    "4. General Investigational plan [21 CFR 312.23(a)(3)]",
    "5. Investigator's brochure [21 CFR 312.23(a)(5)]",
    "6. Protocol(s) [21 CFR 312.23(a)(6)]",
    "7. Chemistry, manufacturing, and control data [21 CFR 312.23(a)(7)]",
    "8. Pharmacology and toxicology data [21 CFR 312.23(a)(8)]",
    "9. Previous human experience [21 CFR 312.23(a)(9)]",
    "10. Additional information [21 CFR 312.23(a)(10)]",
)
_ORGANIZATION = (
    "13. IS ANY PART OF THE CLINICAL STUDY TO BE CONDUCTED BY A CONTRACT RESEARCH ORGANIZATION? IF "
    "YES, ATTACH A STATEMENT CONTAINING THE NAME AND ADDRESS OF THE CONTRACT RESEARCH "
    "ORGANIZATION, IDENTIFICATION OF THE CLINICAL STUDY, AND A LISTING OF THE OBLIGATIONS "
    "TRANSFERRED."
)
_AGREEMENT = (
    "I agree not to begin clinical investigations until 30 days after FDA's receipt of the IND "
    "unless I receive earlier notification by FDA that the studies may begin. I also agree not to "
    "begin or continue clinical investigations covered by the IND if those studies are placed on "
    "clinical hold. I agree that an Institutional Review Board (IRB) that complies with the "
    "requirements set forth in 21 CFR Part 56 will be responsible for initial and continuing "
    "review and approval of each of the studies in the proposed clinical investigation. I agree to "
    "conduct the investigation in accordance with all other applicable regulatory requirements."
)
_BURDEN = (
    "Public reporting burden for this collection of information is estimated to average 100 hours "
    "per response, including the time for reviewing instructions, searching existing data sources, "
    "gathering and maintaining the data needed, and completing reviewing the collection of "
    "information. An agency may not conduct or sponsor, and a person is not required to respond "
    "to, a collection of information unless it displays a currently valid OMB control number. "
    "Please DO NOT RETURN this application to this address."
)


def _draw_header(sheet: BlankSheet, expires: str, drug: str) -> None:
    sheet.frame(LEFT, 30, RIGHT, 96)
    sheet.centre(34, DEPARTMENT, size=8, width=350)
    sheet.centre(44, AGENCY.upper(), size=7, width=350)
    sheet.centre(56, "INVESTIGATIONAL NEW DRUG APPLICATION (IND)", size=11,
               font="Helvetica-Bold", width=350)  # fmt: skip
    sheet.centre(72, "(TITLE 21, CODE OF FEDERAL REGULATIONS (CFR) PART 312)", size=8,
               width=350)  # fmt: skip
    sheet.text(392, 34, "Form Approved: OMB No. 0910-0014", size=7)
    sheet.text(392, 43, f"Expiration Date: {expires}", size=7)
    sheet.text(392, 52, "See OMB Statement on Reverse.", size=7)
    sheet.text(
        392,
        64,
        f"NOTE: No {drug} may be shipped or clinical investigation begun until an "
        "IND for that investigation is in effect (21 CFR 312.40).",
        size=7,
        width=180,
    )
    sheet.y = 96


def _draw_first(sheet: BlankSheet, *, edition: str, expires: str, pages: str, drug: str) -> None:
    _draw_header(sheet, expires, drug)
    sheet.row(34, cell("1. NAME OF SPONSOR", "1", share=0.62, field="sponsor"),
              cell("2. DATE OF SUBMISSION", "2", share=0.38, field="submission_date"))  # fmt: skip
    sheet.row(46, cell("3. ADDRESS (Number, Street, City, State and Zip Code)", "3", share=0.62,
                       noun="address of the sponsor"),
              cell("4. TELEPHONE NUMBER (Include Area Code)", "4", share=0.38,
                   noun="telephone number"))  # fmt: skip
    sheet.row(46, cell("5. NAME(S) OF DRUG (Include all available names: Trade, Generic, Chemical, "
                       "Code)", "5", share=0.62, field="drug_name"),
              cell("6. IND NUMBER (If previously assigned)", "6", share=0.38, field="ind_number",
                   is_required=False))  # fmt: skip
    sheet.row(46, cell("7. INDICATION(S) (Covered by this submission)", "7", field="indication"))

    def draw_phases(x: float, y: float, _width: float) -> None:
        for index, phase in enumerate(_PHASES):
            sheet.option(x + 60 + index * 110, y + 5, "8", phase, field="phases", choose="any")

    sheet.row(34, Cell("8. PHASE(S) OF CLINICAL INVESTIGATION TO BE CONDUCTED:", draw=draw_phases))
    sheet.row(58, cell(_NUMBERS, "9", noun="numbers of applications", is_required=False))
    sheet.row(46, Cell(_SERIAL, share=0.7), cell("SERIAL NUMBER", "10", share=0.3,
                                                 field="submission_serial_number"))  # fmt: skip

    def draw_submissions(x: float, y: float, width: float) -> None:
        for left, right in _SUBMISSIONS:
            sheet.option(x + 8, y + 6, "11", left, field="contents", choose="any")
            sheet.option(x + 8 + width / 2, y + 6, "11", right, field="contents", choose="any")
            y += 16

    sheet.row(134, Cell("11. THIS SUBMISSION CONTAINS THE FOLLOWING: (Check all that apply)",
                        draw=draw_submissions))  # fmt: skip

    def draw_applicable(x: float, y: float, width: float) -> None:
        y = sheet.text(x, y + 2, "JUSTIFICATION STATEMENT MUST BE SUBMITTED WITH APPLICATION FOR "
                       "ANY CHECKED BELOW. REFER TO THE CITED CFR SECTION FOR FURTHER INFORMATION.",
                       width=width)  # fmt: skip
        for index, option in enumerate(_APPLICABLE):
            sheet.option(x + 8 + index * width / 3, y + 5, "", option, size=6.5,
                         noun="special requests", is_required=False)  # fmt: skip

    sheet.row(54, Cell("CHECK ONLY IF APPLICABLE", font="Helvetica-Bold", draw=draw_applicable))
    sheet.row(76, Cell("FOR FDA USE ONLY", font="Helvetica-Bold"))
    sheet.text(LEFT, 752, f"FORM FDA 1571 ({edition})", size=8, font="Helvetica-Bold")
    sheet.text(240, 752, "PREVIOUS EDITION IS OBSOLETE.", size=7)
    sheet.text(500, 752, f"PAGE 1 OF {pages}", size=7)


def _draw_second(sheet: BlankSheet, *, edition: str, pages: str) -> None:
    def draw_contents(x: float, y: float, width: float) -> None:
        y = sheet.text(x, y + 2, "This application contains the following items: (Check all that "
                       "apply)", width=width)  # fmt: skip
        for content in _CONTENTS:
            sheet.option(x + 12, y + 5, "12", content, noun="contents of the application",
                         choose="any", is_required=False)  # fmt: skip
            y += 15

    def draw_organization(x: float, y: float, _width: float) -> None:
        for left, option in ((380, "YES"), (440, "NO")):
            sheet.option(x + left, y + 5, "13", option, noun="answer about contract research")

    sheet.row(188, Cell("12. CONTENTS OF APPLICATION", size=8, font="Helvetica-Bold",
                        draw=draw_contents))  # fmt: skip
    sheet.row(56, Cell(_ORGANIZATION, draw=draw_organization))
    sheet.row(44, cell("14. NAME AND TITLE OF THE PERSON RESPONSIBLE FOR MONITORING THE CONDUCT "
                       "AND PROGRESS OF THE CLINICAL INVESTIGATIONS", "14",
                       noun="person responsible for monitoring"))  # fmt: skip
    sheet.row(44, cell("15. NAME(S) AND TITLE(S) OF THE PERSON(S) RESPONSIBLE FOR REVIEW AND "
                       "EVALUATION OF INFORMATION RELEVANT TO THE SAFETY OF THE DRUG", "15",
                       noun="person responsible for safety"))  # fmt: skip
    sheet.row(72, Cell(_AGREEMENT, size=7.5))
    sheet.row(40, cell("16. NAME OF SPONSOR OR SPONSOR'S AUTHORIZED REPRESENTATIVE", "16",
                       noun="name of the signer"),
              cell("17. SIGNATURE OF SPONSOR OR SPONSOR'S AUTHORIZED REPRESENTATIVE", "17",
                   "signature", noun="signature of the sponsor"))  # fmt: skip
    sheet.row(44, cell("18. ADDRESS (Number, Street, City, State and Zip Code)", "18", share=0.5,
                       noun="address of the signer", is_required=False),
              cell("19. TELEPHONE NUMBER (Include Area Code)", "19", share=0.28,
                   noun="telephone number of the signer", is_required=False),
              cell("20. DATE", "20", "date", 0.22, field="signature_date"))  # fmt: skip
    sheet.row(16, Cell("(WARNING: A willfully false statement is a criminal offense. U.S.C. Title "
                       "18, Sec. 1001.)", size=8))  # fmt: skip
    sheet.row(50, Cell(_BURDEN, size=6.8))
    sheet.text(LEFT, 752, f"FORM FDA 1571 ({edition})", size=8, font="Helvetica-Bold")
    sheet.text(500, 752, f"PAGE 2 OF {pages}", size=7)


def _edition(key: str, edition: str, name: str, expires: str, drug: str) -> Redrawing:
    return Redrawing(
        key, "Form FDA 1571", "form-fda-1571", edition, name, is_superseded=True,
        pages=[
            (_FIRST, partial(_draw_first, edition=edition, expires=expires, pages="2", drug=drug)),
            (_SECOND, partial(_draw_second, edition=edition, pages="2")),
        ],
    )  # fmt: skip


EDITIONS = (
    _edition("fda-1571-2006-04-redrawn", "4/06", "April 2006", "May 31, 2009", "drug"),
    _edition("fda-1571-2013-07-redrawn", "7/13", "July 2013", "April 30, 2015", "drug/biologic"),
)
