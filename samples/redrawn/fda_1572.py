"""Draws Form FDA 1572, the statement of an investigator."""

from functools import partial

from samples.redrawn.header import AGENCY, DEPARTMENT
from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, Cell, Redrawing, cell

_FIRST = ("statement of investigator", "name and address of investigator")
_SECOND = ("signature of investigator", "for phase 1 investigations")
_QUALIFICATION = (
    "2. EDUCATION, TRAINING, AND EXPERIENCE THAT QUALIFY THE INVESTIGATOR AS AN EXPERT IN THE "
    "CLINICAL INVESTIGATION OF THE DRUG FOR THE USE UNDER INVESTIGATION. ONE OF THE FOLLOWING IS "
    "PROVIDED (Select one of the following.)"
)
_ADDRESSES = (
    (
        "1", "investigator", "1. NAME AND ADDRESS OF INVESTIGATOR", "",
    ),
    (
        "3", "facilities",
        ("3. NAME AND ADDRESS OF ANY MEDICAL SCHOOL, HOSPITAL, OR OTHER RESEARCH FACILITY WHERE "
         "THE CLINICAL INVESTIGATION(S) WILL BE CONDUCTED"),
        "Name of Medical School, Hospital, or Other Research Facility",
    ),
    (
        "4", "labs",
        "4. NAME AND ADDRESS OF ANY CLINICAL LABORATORY FACILITIES TO BE USED IN THE STUDY",
        "Name of Clinical Laboratory Facility",
    ),
    (
        "5", "irb",
        ("5. NAME AND ADDRESS OF THE INSTITUTIONAL REVIEW BOARD (IRB) THAT IS RESPONSIBLE FOR "
        "REVIEW AND APPROVAL OF THE STUDY(IES)"),
        "Name of IRB",
    ),
)  # fmt: skip
_PHASES = (
    (
        "for phase 1 investigations",
        (
            "For Phase 1 investigations, a general outline of the planned investigation including "
            "the estimated duration of the study and the maximum number of subjects that will be "
            "involved."
        ),
    ),
    (
        "for phase 2 or 3 investigations",
        (
            "For Phase 2 or 3 investigations, an outline of the study protocol including an "
            "approximation of the number of subjects to be treated with the drug and the number to "
            "be employed as controls, if any; the clinical uses to be investigated; "
            "characteristics of subjects by age, sex, and condition; the kind of clinical "
            "observations and laboratory tests to be conducted; the estimated duration of the "
            "study; and copies or a description of case report forms to be used."
        ),
    ),
)
_COMMITMENTS = (
    (
        "I agree to conduct the study(ies) in accordance with the relevant, current protocol(s) "
        "and will only make changes in a protocol after notifying the sponsor, except when "
        "necessary to protect the safety, rights, or welfare of subjects."
    ),
    "I agree to personally conduct or supervise the described investigation(s).",
    (
        "I agree to inform any patients, or any persons used as controls, that the drugs are being "
        "used for investigational purposes and I will ensure that the requirements relating to "
        "obtaining informed consent in 21 CFR Part 50 and institutional review board (IRB) review "
        "and approval in 21 CFR Part 56 are met."
    ),
    (
        "I agree to report to the sponsor adverse experiences that occur in the course of the "
        "investigation(s) in accordance with 21 CFR 312.64. I have read and understand the "
        "information in the investigator's brochure, including the potential risks and side "
        "effects of the drug."
    ),
    (
        "I agree to ensure that all associates, colleagues, and employees assisting in the conduct "
        "of the study(ies) are informed about their obligations in meeting the above commitments."
    ),
    (
        "I agree to maintain adequate and accurate records in accordance with 21 CFR 312.62 and to "
        "make those records available for inspection in accordance with 21 CFR 312.68."
    ),
    (
        "I will ensure that an IRB that complies with the requirements of 21 CFR Part 56 will be "
        "responsible for the initial and continuing review and approval of the clinical "
        "investigation. I also agree to promptly report to the IRB all changes in the research "
        "activity and all unanticipated problems involving risks to human subjects or others. "
        "Additionally, I will not make any changes in the research without IRB approval, except "
        "where necessary to eliminate apparent immediate hazards to human subjects."
    ),
    (
        "I agree to comply with all other requirements regarding the obligations of clinical "
        "investigators and all other pertinent requirements in 21 CFR Part 312."
    ),
)
_INSTRUCTIONS = (
    "1. Complete all sections. Provide a separate page if additional space is needed.",
    "2. Provide curriculum vitae or other statement of qualifications as described in Section 2.",
    "3. Provide protocol outline as described in Section 8.",
    "4. Sign and date below.",
    (
        "5. FORWARD THE COMPLETED FORM AND OTHER DOCUMENTS BEING PROVIDED TO THE SPONSOR. The "
        "sponsor will incorporate this information along with other technical data into an "
        "Investigational New Drug Application (IND). INVESTIGATORS SHOULD NOT SEND THIS FORM "
        "DIRECTLY TO THE FOOD AND DRUG ADMINISTRATION."
    ),
)
_BURDEN = (
    "The information below applies only to requirements of the Paperwork Reduction Act of 1995. "
    "The burden time for this collection of information is estimated to average 100 hours per "
    "response, including the time to review instructions, search existing data sources, gather and "
    "maintain the data needed and complete and review the collection of information. An agency may "
    "not conduct or sponsor, and a person is not required to respond to, a collection of "
    "information unless it displays a currently valid OMB number."
)


def _draw_header(sheet: BlankSheet, expires: str) -> None:
    sheet.frame(LEFT, 30, RIGHT, 106)
    sheet.centre(34, DEPARTMENT, size=8, font="Helvetica-Bold", width=350)
    sheet.centre(44, AGENCY.upper(), size=7, width=350)
    sheet.centre(56, "STATEMENT OF INVESTIGATOR", size=11, font="Helvetica-Bold", width=350)
    sheet.centre(72, "(TITLE 21, CODE OF FEDERAL REGULATIONS (CFR) PART 312)", size=8,
               font="Helvetica-BoldOblique", width=350)  # fmt: skip
    sheet.centre(84, "(See instructions on reverse side.)", size=8, width=350)
    sheet.text(392, 34, "Form Approved: OMB No. 0910-0014", size=7)
    sheet.text(392, 43, f"Expiration Date: {expires}", size=7)
    sheet.text(392, 52, "See OMB Statement on Reverse.", size=7, font="Helvetica-Oblique")
    sheet.line(388, 62, RIGHT)
    sheet.text(
        392, 65,
        "NOTE: No investigator may participate in an investigation until he/she provides the "
        "sponsor with a completed, signed Statement of Investigator, Form FDA 1572 (21 CFR "
        "312.53(c)).",
        size=7, width=180,
    )  # fmt: skip
    sheet.y = 106


def _draw_first(sheet: BlankSheet, *, edition: str, expires: str, person: str) -> None:
    _draw_header(sheet, expires)
    for number, field, caption, named in _ADDRESSES:
        if number == "3":
            _draw_qualification(sheet)
        sheet.row(12, Cell(caption, size=6.5))
        part = partial(cell, number=number, field=field, is_part=True, is_required=False)
        sheet.row(24, cell(named or person, number, field=field))
        sheet.row(22, part("Address 1"), part("Address 2"))
        sheet.row(
            22, part("City", share=1.4), part("State/Province/Region", share=1.2),
            part("Country"), part("ZIP or Postal Code", share=0.9),
        )  # fmt: skip
    sheet.row(
        72, cell("6. NAMES OF SUBINVESTIGATORS (If not applicable, enter \u201cNone\u201d)", "6",
                 field="subinvestigators"),
    )  # fmt: skip
    sheet.row(
        66, cell("7. NAME AND CODE NUMBER, IF ANY, OF THE PROTOCOL(S) IN THE IND FOR THE "
                 "STUDY(IES) TO BE CONDUCTED BY THE INVESTIGATOR", "7", field="protocols"),
    )  # fmt: skip
    _draw_footer(sheet, edition, "PREVIOUS EDITION IS OBSOLETE.", "Page 1 of 2")


def _draw_qualification(sheet: BlankSheet) -> None:
    def draw_options(x: float, y: float, _width: float) -> None:
        for left, option in ((110, "Curriculum Vitae"), (280, "Other Statement of Qualifications")):
            sheet.option(x + left, y + 4, "2", option, field="qualification", choose="any")

    sheet.row(42, Cell(_QUALIFICATION, size=6.5, draw=draw_options))


def _draw_second(sheet: BlankSheet, *, edition: str) -> None:
    def draw_phases(x: float, y: float, width: float) -> None:
        for option, text in _PHASES:
            sheet.square(x + 12, y + 5, "8", option, field="phase", choose="any")
            y = sheet.text(x + 28, y + 5, text, width=width - 34) + 3

    def draw_commitments(x: float, y: float, width: float) -> None:
        for commitment in _COMMITMENTS:
            y = sheet.text(x + 12, y + 5, commitment, width=width - 24)

    def draw_instructions(x: float, y: float, width: float) -> None:
        for instruction in _INSTRUCTIONS:
            y = sheet.text(x + 12, y + 4, instruction, size=8, width=width - 24)

    sheet.row(
        88, Cell("8. PROVIDE THE FOLLOWING CLINICAL PROTOCOL INFORMATION. (Select one of the "
                 "following.)", draw=draw_phases),
    )  # fmt: skip
    sheet.row(244, Cell("9. COMMITMENTS", draw=draw_commitments))
    sheet.row(
        122, Cell("INSTRUCTIONS FOR COMPLETING FORM FDA 1572 STATEMENT OF INVESTIGATOR", size=8,
                  font="Helvetica-Bold", draw=draw_instructions),
    )  # fmt: skip
    sheet.row(
        36,
        cell("10. DATE (mm/dd/yyyy)", "10", "date", 0.3, field="signature_date"),
        cell("11. SIGNATURE OF INVESTIGATOR", "11", "signature", 0.7,
             noun="signature of the investigator"),
    )  # fmt: skip
    sheet.row(
        16, Cell("(WARNING: A willfully false statement is a criminal offense. U.S.C. Title 18, "
                 "Sec. 1001.)", size=8),
    )  # fmt: skip
    sheet.row(60, Cell(_BURDEN, size=7))
    _draw_footer(sheet, edition, "", "Page 2 of 2")


def _draw_footer(sheet: BlankSheet, edition: str, middle: str, page: str) -> None:
    sheet.text(LEFT, 752, f"FORM FDA 1572 ({edition})", size=8, font="Helvetica-Bold")
    sheet.text(240, 752, middle, size=7)
    sheet.text(500, 752, page, size=7)


def _edition(key: str, edition: str, name: str, expires: str, person: str, *, old: bool
             ) -> Redrawing:  # fmt: skip
    return Redrawing(
        key, "Form FDA 1572", "form-fda-1572", edition, name, is_superseded=old,
        pages=[
            (_FIRST, partial(_draw_first, edition=edition, expires=expires, person=person)),
            (_SECOND, partial(_draw_second, edition=edition)),
        ],
    )  # fmt: skip


EDITIONS = (
    _edition("fda-1572-2013-07-redrawn", "7/13", "July 2013", "April 30, 2015",
             "Name of Principal Investigator", old=True),
    _edition("fda-1572-2019-03-redrawn", "3/19", "March 2019", "March 31, 2022",
             "Name of Clinical Investigator", old=False),
)  # fmt: skip
