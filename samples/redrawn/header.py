"""Draws the parts that several forms of the Food and Drug Administration have in common."""

from samples.redrawn.sheet import LEFT, RIGHT, BlankSheet, cell

DEPARTMENT = "DEPARTMENT OF HEALTH AND HUMAN SERVICES"
AGENCY = "Food and Drug Administration"


def draw_disclosure_title(sheet: BlankSheet, title: str, expires: str) -> None:
    """Draw the head of a form about financial interests."""
    sheet.centre(36, DEPARTMENT, width=400)
    sheet.centre(47, AGENCY, width=400)
    sheet.text(440, 36, "Form Approved: OMB No. 0910-0396")
    sheet.text(440, 46, f"Expiration Date: {expires}")
    sheet.centre(64, f"{title}: FINANCIAL INTERESTS AND", size=12, font="Helvetica-Bold")
    sheet.centre(80, "ARRANGEMENTS OF CLINICAL INVESTIGATORS", size=12, font="Helvetica-Bold")
    sheet.centre(100, "TO BE COMPLETED BY APPLICANT", size=9)
    sheet.line(LEFT, 114, RIGHT)


def draw_signer(sheet: BlankSheet) -> None:
    """Draw the cells for the name, title, firm, signature and date of the signer."""
    sheet.row(
        30,
        cell("NAME", noun="name of the signer"),
        cell("TITLE", noun="title of the signer"),
    )
    sheet.row(30, cell("FIRM/ORGANIZATION", noun="firm or organization"))
    sheet.row(
        34,
        cell("SIGNATURE", kind="signature", share=2.2, noun="signature"),
        cell("DATE (mm/dd/yyyy)", kind="date", field="signature_date"),
    )


def draw_burden(sheet: BlankSheet, form: str, time: str) -> None:
    """Draw the statement under the Paperwork Reduction Act."""
    y = sheet.centre(sheet.y + 5, "Paperwork Reduction Act Statement", font="Helvetica-Bold")
    sheet.text(
        LEFT + 4, y + 1,
        "An agency may not conduct or sponsor, and a person is not required to respond to, a "
        "collection of information unless it displays a currently valid OMB control number. Public "
        f"reporting burden for this collection of information is estimated to average {time} per "
        "response, including time for reviewing instructions, searching existing data sources, "
        "gathering and maintaining the necessary data, and completing and reviewing the collection "
        "of information.",
        size=6.5, width=532,
    )  # fmt: skip
