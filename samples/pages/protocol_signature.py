"""Draws the protocol signature page, on which the investigator agrees to follow this version."""

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

_STATEMENTS = (
    (
        "I have read this protocol, including its appendices and the current Investigator's"
        " Brochure, and I agree that it contains all details necessary for me and my staff to"
        " conduct this study as described."
    ),
    (
        "I agree to conduct the study in accordance with this protocol, with ICH E6 Good Clinical"
        " Practice, and with the regulations that apply at my site. I will not deviate from the"
        " protocol without prior agreement of the sponsor and review by the IRB/IEC, except to"
        " eliminate an immediate hazard to a participant."
    ),
    (
        "I will provide copies of the protocol to all persons who assist me, discuss it with them,"
        " and ensure that they are informed of their obligations. I will keep its contents"
        " confidential."
    ),
)


def draw_protocol_signature(facts: DocumentFacts) -> bytes:
    """Return the protocol signature page of the investigator as a PDF."""
    study = facts.site.study
    footer = f"{study.protocol_number} Protocol Signature Page, Version {study.version}"
    sheet = get_page_format(facts.site, "Protocol Signature Page", footer=footer)
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    site, study = facts.site, facts.site.study
    identification = [
        ("Protocol title:", study.title),
        ("Protocol number:", study.protocol_number),
        (
            "Protocol version:",
            f"Version {study.version}, dated {format_short_date(facts.dates.protocol)}",
        ),
        ("Investigational product:", study.product),
        ("Sponsor:", f"{study.sponsor}, {study.sponsor_address}"),
        ("Site number:", site.site_id),
        ("Site name and address:", f"{site.hospital}, {site.department}, {site.address}"),
        ("Principal Investigator:", site.investigator.printed),
    ]
    return [
        blocks.make_paragraph(study.sponsor, blocks.CENTRED),
        blocks.make_paragraph("PROTOCOL SIGNATURE PAGE", blocks.TITLE),
        blocks.make_paragraph("Investigator Agreement", blocks.CENTRED),
        blocks.make_vertical_space(10),
        blocks.make_captioned_lines(identification),
        blocks.make_vertical_space(14),
        *(blocks.make_paragraph(statement) for statement in _STATEMENTS),
        blocks.FillRemainingHeight(200),
        marks.SignatureLine(
            "Signature of Principal Investigator",
            site.investigator.printed,
            format_short_date(facts.dates.signature),
            seed=facts.signature_seed,
        ),
        blocks.make_vertical_space(14),
        blocks.make_paragraph(
            "Return the signed page to the sponsor; keep a copy on site.", blocks.SMALL
        ),
    ]
