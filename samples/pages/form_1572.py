"""Draws Form FDA 1572: two pages of numbered boxes, printed or as a fillable form."""

from collections.abc import Sequence
from typing import Any

from reportlab.platypus import PageBreak, Table

from samples import blocks, marks
from samples.document_facts import BY_HAND, DocumentFacts, format_numeric_date
from samples.paper import Story, get_page_format, typeset

_CAPTIONS = {
    1: "1. NAME AND ADDRESS OF INVESTIGATOR",
    2: "2. EDUCATION, TRAINING, AND EXPERIENCE THAT QUALIFY THE INVESTIGATOR AS AN EXPERT IN THE"
    " CLINICAL INVESTIGATION OF THE DRUG FOR THE USE UNDER INVESTIGATION. ONE OF THE FOLLOWING IS"
    " PROVIDED.",
    3: "3. NAME AND ADDRESS OF ANY MEDICAL SCHOOL, HOSPITAL, OR OTHER RESEARCH FACILITY WHERE THE"
    " CLINICAL INVESTIGATION(S) WILL BE CONDUCTED",
    4: "4. NAME AND ADDRESS OF ANY CLINICAL LABORATORY FACILITIES TO BE USED IN THE STUDY",
    5: "5. NAME AND ADDRESS OF THE INSTITUTIONAL REVIEW BOARD (IRB) THAT IS RESPONSIBLE FOR REVIEW"
    " AND APPROVAL OF THE STUDY(IES)",
    6: '6. NAMES OF SUBINVESTIGATORS (If not applicable, enter "None")',
    7: "7. NAME AND CODE NUMBER, IF ANY, OF THE PROTOCOL(S) IN THE IND FOR THE STUDY(IES) TO BE"
    " CONDUCTED BY THE INVESTIGATOR",
}
_COMMITMENTS = (
    (
        "I agree to conduct the study(ies) in accordance with the relevant, current protocol(s)"
        " and will only make changes in a protocol after notifying the sponsor, except when"
        " necessary to protect the safety, rights, or welfare of subjects."
    ),
    "I agree to personally conduct or supervise the described investigation(s).",
    (
        "I agree to inform any patients, or any persons used as controls, that the drugs are being"
        " used for investigational purposes and I will ensure that the requirements relating to"
        " obtaining informed consent in 21 CFR Part 50 and institutional review board (IRB) review"
        " and approval in 21 CFR Part 56 are met."
    ),
    (
        "I agree to report to the sponsor adverse experiences that occur in the course of the"
        " investigation(s) in accordance with 21 CFR 312.64."
    ),
    (
        "I have read and understand the information in the investigator's brochure, including the"
        " potential risks and side effects of the drug."
    ),
    (
        "I agree to maintain adequate and accurate records in accordance with 21 CFR 312.62 and to"
        " make those records available for inspection in accordance with 21 CFR 312.68."
    ),
    (
        "I agree to comply with all other requirements regarding the obligations of clinical"
        " investigators and all other pertinent requirements in 21 CFR Part 312."
    ),
)

_INSTRUCTIONS = (
    "1. Complete all sections. Provide a separate page if additional space is needed.",
    "2. Provide curriculum vitae or other statement of qualifications as described in Section 2.",
    "3. Provide protocol outline as described in Section 8.",
    "4. Sign and date below.",
    (
        "5. FORWARD THE COMPLETED FORM AND OTHER DOCUMENTS BEING PROVIDED TO THE SPONSOR."
        " INVESTIGATORS SHOULD NOT SEND THIS FORM DIRECTLY TO THE FOOD AND DRUG ADMINISTRATION."
    ),
)
_SMALL = blocks.PLAIN.clone("form-small", fontSize=8, leading=10)
_TITLE = blocks.TITLE.clone("form-title", fontSize=10.5, leading=13, spaceAfter=1)
_CITATION = blocks.CENTRED.clone("form-citation", fontName="Helvetica-BoldOblique", fontSize=9)
_BOXED = [
    ("BOX", (0, 0), (-1, -1), 1, "black"),
    ("LINEBELOW", (0, 0), (-1, -1), 0.6, "black"),
    ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ("LEFTPADDING", (0, 0), (-1, -1), 4),
    ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
]


def draw_form_1572(facts: DocumentFacts) -> bytes:
    """Return Form FDA 1572 of the site as a PDF."""
    sheet = get_page_format(
        facts.site,
        "Statement of Investigator",
        footer="FORM FDA 1572 (3/19)          PREVIOUS EDITION IS OBSOLETE.",
        margin=42,
    )
    return typeset(sheet, lambda: _story(facts, sheet.text_width - 12))


def _story(facts: DocumentFacts, width: float) -> Story:
    commitments: Story = [
        blocks.make_paragraph("9. COMMITMENTS", _SMALL),
        blocks.make_vertical_space(4),
    ]
    for line in _COMMITMENTS:
        commitments += [blocks.make_paragraph(line, _SMALL), blocks.make_vertical_space(9)]
    instructions = [
        blocks.make_paragraph("INSTRUCTIONS FOR COMPLETING FORM FDA 1572", _TITLE),
        blocks.make_paragraph("STATEMENT OF INVESTIGATOR", _TITLE),
        *(blocks.make_paragraph(line, blocks.PLAIN) for line in _INSTRUCTIONS),
        blocks.make_vertical_space(4),
    ]
    return [
        _heading(width),
        _boxes(_boxes_1_to_7(facts), width),
        PageBreak(),
        _boxes([_protocol_outline(facts), commitments, instructions], width),
        _date_and_signature(facts, width),
    ]


def _boxes(contents: Sequence[Story], width: float) -> Any:
    table = Table([[content] for content in contents], colWidths=[width])
    table.setStyle(_BOXED)
    return table


def _heading(width: float) -> Any:
    left = [
        blocks.make_paragraph("DEPARTMENT OF HEALTH AND HUMAN SERVICES", _TITLE),
        blocks.make_paragraph("FOOD AND DRUG ADMINISTRATION", blocks.CENTRED),
        blocks.make_paragraph("STATEMENT OF INVESTIGATOR", _TITLE),
        blocks.make_paragraph("(TITLE 21, CODE OF FEDERAL REGULATIONS (CFR) PART 312)", _CITATION),
        blocks.make_paragraph("(See instructions on reverse side.)", blocks.CENTRED),
    ]
    right = [
        blocks.make_paragraph("Form Approved: OMB No. 0910-0014", _SMALL),
        blocks.make_paragraph("Expiration Date: March 31, 2022", _SMALL),
        blocks.make_vertical_space(6),
        blocks.make_paragraph(
            "NOTE: No investigator may participate in an investigation until he/she provides the"
            " sponsor with a completed, signed Statement of Investigator, Form FDA 1572 (21 CFR"
            " 312.53(c)).",
            _SMALL,
        ),
    ]
    table = Table([[left, right]], colWidths=[width * 0.66, width * 0.34])
    table.setStyle([*_BOXED, ("LINEAFTER", (0, 0), (0, 0), 0.6, "black")])
    return table


def _boxes_1_to_7(facts: DocumentFacts) -> list[Story]:
    site, study = facts.site, facts.site.study
    place = f"{site.hospital}, {site.department}\n{site.address}"
    subinvestigators = "\n".join(person.printed for person in site.subinvestigators)
    protocol = f"{study.protocol_number}, {study.ind}. Site number: {site.site_id}\n{study.title}"
    person = (("investigator_name", site.investigator.printed), ("investigator_address", place))
    laboratory = f"{site.laboratory.name}, CLIA {site.laboratory.clia}\n{site.address}"
    board = f"{site.board.name} ({site.board.registration})\n{site.address}"
    return [
        _box(facts, 1, *person),
        [
            blocks.make_paragraph(_CAPTIONS[2], _SMALL),
            marks.TickBox("CURRICULUM VITAE", ticked=facts.boxes.get(2) != ""),
            marks.TickBox("OTHER STATEMENT OF QUALIFICATIONS", ticked=False),
        ],
        _box(facts, 3, ("facility", place)),
        _box(facts, 4, ("laboratory", laboratory)),
        _box(facts, 5, ("irb", board)),
        _box(facts, 6, ("subinvestigators", subinvestigators)),
        _box(facts, 7, ("protocol", protocol)),
    ]


def _box(facts: DocumentFacts, number: int, *answers: tuple[str, str]) -> Story:
    caption, content = _CAPTIONS[number], facts.boxes.get(number)
    if content == BY_HAND:
        size = (230, 22)
        handwriting = [
            marks.HandwrittenSignature(value, f"{facts.seed} {name}", size)
            for name, value in answers
        ]
        return [
            blocks.make_paragraph(caption, _SMALL),
            blocks.make_vertical_space(4),
            *handwriting,
            blocks.make_vertical_space(10),
        ]
    if content is not None:  # replaces the answer; further fields stay empty
        answers = ((answers[0][0], content), *((name, "") for name, _ in answers[1:]))
    filled = [
        marks.make_form_answer(
            name,
            value,
            height=40 if "\n" in value else 16,
            fillable=facts.fillable,
        )
        for name, value in answers
    ]
    return [
        blocks.make_paragraph(caption, _SMALL),
        blocks.make_vertical_space(2),
        *filled,
        blocks.make_vertical_space(18),
    ]


def _protocol_outline(facts: DocumentFacts) -> Story:
    is_phase_1, ticked = facts.site.study.phase == 1, facts.boxes.get(8) != ""
    return [
        blocks.make_paragraph("8. PROVIDE THE FOLLOWING CLINICAL PROTOCOL INFORMATION", _SMALL),
        blocks.make_vertical_space(2),
        marks.TickBox(
            "FOR PHASE 1 INVESTIGATIONS, A GENERAL OUTLINE OF THE PLAN",
            ticked=ticked and is_phase_1,
        ),
        marks.TickBox(
            "FOR PHASE 2 OR 3 INVESTIGATIONS, AN OUTLINE OF THE STUDY PROTOCOL",
            ticked=ticked and not is_phase_1,
        ),
    ]


def _date_and_signature(facts: DocumentFacts, width: float) -> Any:
    dated = marks.make_form_answer(
        "date", format_numeric_date(facts.dates.signature), height=16, fillable=facts.fillable
    )
    name = facts.site.investigator.name
    signature = (
        marks.HandwrittenSignature(name, facts.seed, (170, 42))
        if facts.signed
        else blocks.make_vertical_space(42)
    )
    warning = (
        "(WARNING: A willfully false statement is a criminal offense. U.S.C. Title 18, Sec. 1001.)"
    )
    rows = [
        [
            [
                blocks.make_paragraph("10. DATE (mm/dd/yyyy)", _SMALL),
                blocks.make_vertical_space(14),
                dated,
            ],
            [
                blocks.make_paragraph("11. SIGNATURE OF INVESTIGATOR", _SMALL),
                blocks.make_vertical_space(2),
                signature,
            ],
        ],
        [blocks.make_paragraph(warning, blocks.PLAIN), ""],
    ]
    table = Table(rows, colWidths=[width * 0.3, width * 0.7])
    table.setStyle([*_BOXED, ("LINEAFTER", (0, 0), (0, 0), 0.6, "black"), ("SPAN", (0, 1), (1, 1))])
    return table
