"""Draws the investigator's medical licence and certificate of Good Clinical Practice."""

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

_MODULES = (
    "The New Drug Development Process and ICH E6",
    "Investigator Responsibilities and Delegation of Tasks",
    "Informed Consent and Protection of Participants",
    "Safety Reporting and Monitoring of Clinical Trials",
    "Essential Records, Audits and Inspections",
)


def draw_medical_licence(facts: DocumentFacts) -> bytes:
    """Return the medical licence of the investigator as a PDF."""
    noun = "License" if facts.site.is_american else "Licence"
    sheet = get_page_format(facts.site, f"Medical {noun}", label=True, framed=True)
    return typeset(sheet, lambda: _licence_story(facts, noun))


def _licence_story(facts: DocumentFacts, noun: str) -> Story:
    site, licence, person = facts.site, facts.site.licence, facts.site.investigator
    particulars = [
        (f"{noun} Number:", licence.number),
        (f"{noun} Type:", "Physician and Surgeon, full registration"),
        ("Specialty:", "Gastroenterology"),
        ("Status:", "Active, no restrictions on record"),
        ("Issue Date:", facts.day(facts.dates.licence_issued)),
        ("Expiration Date:", facts.day(facts.dates.licence_ends)),
        ("Practice address:", f"{site.hospital}, {site.address}"),
    ]
    return [
        blocks.make_vertical_space(16),
        marks.Seal("".join(word[0] for word in licence.authority.split() if word.istitle())),
        blocks.make_vertical_space(8),
        blocks.make_paragraph(licence.authority, blocks.TITLE),
        blocks.make_paragraph(f"MEDICAL {noun.upper()}", blocks.TITLE),
        blocks.make_vertical_space(12),
        blocks.make_paragraph("This is to certify that", blocks.CENTRED),
        blocks.make_paragraph(person.printed, blocks.TITLE),
        blocks.make_paragraph(
            "having given satisfactory evidence of qualification, is licensed as a physician and"
            " entitled to practise medicine and surgery within this jurisdiction, subject to the"
            " laws and rules that govern the profession.",
            blocks.CENTRED,
        ),
        blocks.make_vertical_space(18),
        blocks.make_captioned_lines(particulars),
        blocks.FillRemainingHeight(130),
        marks.SignatureLine(
            "Signature of Registrar",
            licence.registrar,
            format_short_date(facts.dates.licence_issued),
            seed=facts.signature_seed,
        ),
    ]


def draw_gcp_certificate(facts: DocumentFacts) -> bytes:
    """Return the investigator's certificate of Good Clinical Practice as a PDF."""
    sheet = get_page_format(
        facts.site, "Good Clinical Practice Certificate", label=True, framed=True
    )
    return typeset(sheet, lambda: _gcp_story(facts))


def _gcp_story(facts: DocumentFacts) -> Story:
    person = facts.site.investigator
    results = [("Module", "Result"), *((module, "Passed") for module in _MODULES)]
    cells = [[blocks.make_paragraph(cell, blocks.PLAIN) for cell in row] for row in results]
    record = [
        ("Completion Date:", facts.day(facts.dates.gcp_completed)),
        ("Expiration Date:", facts.day(facts.dates.gcp_ends)),
        ("Record ID:", f"MRTC-{facts.rng.randint(10_000_000, 99_999_999)}"),
        ("Course version:", "5.1, basic course, English"),
    ]
    return [
        blocks.make_vertical_space(10),
        marks.Seal("MRTC"),
        blocks.make_paragraph("Meridian Research Training Collaborative", blocks.CENTRED),
        blocks.make_paragraph("CERTIFICATE OF COMPLETION", blocks.TITLE),
        blocks.make_paragraph("This certifies that", blocks.CENTRED),
        blocks.make_paragraph(person.printed, blocks.TITLE),
        blocks.make_paragraph(f"{facts.site.hospital}, {facts.site.country}", blocks.CENTRED),
        blocks.make_paragraph("has completed the course", blocks.CENTRED),
        blocks.make_paragraph("Good Clinical Practice (GCP)", blocks.TITLE),
        blocks.make_paragraph(
            "for Clinical Trials with Investigational Drugs and Medical Devices (ICH Focus), based"
            " on ICH E6 Good Clinical Practice. The course meets the minimum criteria for training"
            " of investigator site personnel of the TransCelerate mutual recognition programme.",
            blocks.CENTRED,
        ),
        blocks.make_ruled_table(cells, widths=(360, 80)),
        blocks.make_vertical_space(12),
        blocks.make_captioned_lines(record),
        blocks.FillRemainingHeight(110),
        marks.SignatureLine(
            "Signature of Course Director",
            "Nadine Ferrer, PhD",
            format_short_date(facts.dates.gcp_completed),
            seed=facts.signature_seed,
        ),
    ]
