"""Draws a sponsor's own form for an investigator's financial interests (21 CFR Part 54)."""

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

_QUESTIONS = (
    (
        "Compensation whose value could be affected by the outcome of the study, such as an equity"
        " interest or a royalty tied to sales of the product."
    ),
    (
        "A proprietary interest in the tested product, such as a patent, trademark, copyright or"
        " licensing agreement."
    ),
    (
        "An equity interest in the sponsor whose value cannot be readily determined, or, in a"
        " publicly traded company, that exceeds $50,000 during the study and for one year after"
        " it."
    ),
    (
        "Significant payments of other sorts from the sponsor with a total value of more than"
        " $25,000, beyond the costs of conducting the study, such as grants, equipment, retainers"
        " or honoraria."
    ),
)


def draw_financial_disclosure(facts: DocumentFacts) -> bytes:
    """Return the financial disclosure form of the investigator as a PDF."""
    footer = f"{facts.site.study.sponsor} - Financial Disclosure Form, edition 7"
    sheet = get_page_format(facts.site, "Financial Disclosure Form", footer=footer)
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    questions: Story = []
    for number, question in enumerate(_QUESTIONS, start=1):
        questions += [
            blocks.make_paragraph(f"{number}. {question}", blocks.SMALL),
            marks.TickBox(
                "Yes, I hold such an interest (describe on a separate sheet)", ticked=False
            ),
            marks.TickBox("No", ticked=True),
            blocks.make_vertical_space(3),
        ]
    return [
        blocks.make_paragraph("FINANCIAL DISCLOSURE FORM", blocks.TITLE),
        blocks.make_paragraph("Clinical Investigator - 21 CFR Part 54", blocks.CENTRED),
        _identification(facts),
        blocks.make_vertical_space(8),
        blocks.make_paragraph(
            "To be completed by every investigator and sub-investigator listed on the Form FDA"
            " 1572. The answers cover you, your spouse and dependent children. Please answer each"
            " question for the period of the study and one year after its completion.",
            blocks.SMALL,
        ),
        *questions,
        blocks.make_vertical_space(6),
        blocks.make_paragraph(
            "I declare that this information is complete and correct to the best of my knowledge."
            " I will inform the sponsor promptly of any change during the study and for one year"
            " after its completion.",
            blocks.SMALL,
        ),
        blocks.FillRemainingHeight(100),
        marks.SignatureLine(
            "Signature of Investigator",
            facts.site.investigator.printed,
            format_short_date(facts.dates.signature),
            seed=facts.signature_seed,
        ),
    ]


def _identification(facts: DocumentFacts) -> object:
    site, study = facts.site, facts.site.study
    rows = [
        ("investigator_name", "Name of investigator", site.investigator.printed),
        ("role", "Role in the study", site.investigator.role),
        ("protocol_number", "Protocol number", study.protocol_number),
        ("site_number", "Site number", site.site_id),
        ("institution", "Institution", f"{site.hospital}, {site.city}"),
        ("sponsor", "Sponsor", study.sponsor),
    ]
    cells = [
        [
            blocks.make_paragraph(f"{caption}:", blocks.PLAIN),
            marks.make_form_answer(name, value, height=15, fillable=facts.fillable),
        ]
        for name, caption, value in rows
    ]
    return blocks.make_ruled_table(cells, widths=(140, 350), heads=0)
