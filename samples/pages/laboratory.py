"""Draws the CLIA certificate and the normal ranges of the local laboratory."""

import random

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

# Analyte, unit, lower and upper limit for adults, decimals. The intervals are from textbooks.
_ANALYTES = (
    ("Haemoglobin (male)", "g/dL", 13.5, 17.5, 1),
    ("Haemoglobin (female)", "g/dL", 12.0, 15.5, 1),
    ("Haematocrit", "%", 36.0, 50.0, 0),
    ("Leukocytes", "10^9/L", 4.0, 11.0, 1),
    ("Neutrophils", "10^9/L", 1.8, 7.5, 1),
    ("Lymphocytes", "10^9/L", 1.0, 4.0, 1),
    ("Platelets", "10^9/L", 150.0, 400.0, 0),
    ("Sodium", "mmol/L", 135.0, 145.0, 0),
    ("Potassium", "mmol/L", 3.5, 5.1, 1),
    ("Chloride", "mmol/L", 98.0, 107.0, 0),
    ("Creatinine", "mg/dL", 0.6, 1.2, 2),
    ("Urea nitrogen", "mg/dL", 7.0, 20.0, 0),
    ("Glucose, fasting", "mg/dL", 70.0, 99.0, 0),
    ("ALT", "U/L", 7.0, 45.0, 0),
    ("AST", "U/L", 8.0, 40.0, 0),
    ("Alkaline phosphatase", "U/L", 40.0, 125.0, 0),
    ("Total bilirubin", "mg/dL", 0.2, 1.2, 1),
    ("Albumin", "g/dL", 3.5, 5.0, 1),
    ("C-reactive protein", "mg/L", 0.0, 5.0, 1),
)


def draw_laboratory_certification(facts: DocumentFacts) -> bytes:
    """Return the CLIA certificate of the site's laboratory as a PDF."""
    sheet = get_page_format(facts.site, "CLIA Certificate of Accreditation", label=True)
    return typeset(sheet, lambda: _certificate_story(facts))


def _certificate_story(facts: DocumentFacts) -> Story:
    site, dates = facts.site, facts.dates
    particulars = [
        ("LABORATORY NAME:", f"{site.laboratory.name}, {site.hospital}"),
        ("ADDRESS:", site.address),
        ("CLIA ID NUMBER:", site.laboratory.clia),
        ("EFFECTIVE DATE:", facts.day(dates.clia_effective)),
        ("EXPIRATION DATE:", facts.day(dates.clia_ends)),
        ("LABORATORY DIRECTOR:", site.laboratory.director.printed),
    ]
    return [
        blocks.make_vertical_space(18),
        blocks.make_paragraph("CENTERS FOR MEDICARE & MEDICAID SERVICES", blocks.CENTRED),
        blocks.make_paragraph("CLINICAL LABORATORY IMPROVEMENT AMENDMENTS", blocks.TITLE),
        blocks.make_paragraph("CERTIFICATE OF ACCREDITATION", blocks.TITLE),
        blocks.make_vertical_space(12),
        blocks.make_captioned_lines(particulars),
        blocks.make_vertical_space(16),
        blocks.make_paragraph(
            "Pursuant to Section 353 of the Public Health Service Act (42 U.S.C. 263a) and 42 CFR"
            " Part 493, the laboratory named above, at the address shown, may accept human"
            " specimens for the purpose of performing laboratory examinations or procedures."
        ),
        blocks.make_paragraph(
            "This certificate is valid until the expiration date above. It may be revoked,"
            " suspended, limited or otherwise sanctioned for violation of the Act or its"
            " regulations."
        ),
        blocks.make_paragraph("Certified specialties:", blocks.HEADING),
        blocks.make_paragraph("Chemistry, routine; Haematology; Urinalysis; Immunology, general."),
        blocks.FillRemainingHeight(120),
        marks.SignatureLine(
            "Signature of Director, Division of Laboratory Quality",
            "Theodore K. Lambert",
            format_short_date(dates.clia_effective),
            seed=facts.signature_seed,
        ),
    ]


def draw_normal_ranges(facts: DocumentFacts) -> bytes:
    """Return the normal ranges of the site's laboratory as a PDF."""
    footer = f"{facts.site.laboratory.name} - Normal Ranges, version 4"
    sheet = get_page_format(facts.site, "Laboratory Normal Ranges", footer=footer)
    return typeset(sheet, lambda: _ranges_story(facts))


def _ranges_story(facts: DocumentFacts) -> Story:
    site, dates = facts.site, facts.dates
    heading = [
        ("Laboratory:", f"{site.laboratory.name} (CLIA {site.laboratory.clia})"),
        ("Address:", f"{site.hospital}, {site.address}"),
        ("Protocol number:", site.study.protocol_number),
        ("Site number:", site.site_id),
        (
            "Version / Effective Date:",
            f"Version 4, effective {format_short_date(dates.ranges_effective)}",
        ),
    ]
    return [
        blocks.make_paragraph("LABORATORY NORMAL RANGES", blocks.TITLE),
        blocks.make_paragraph("Reference intervals, adults 18 years and older", blocks.CENTRED),
        blocks.make_captioned_lines(heading),
        blocks.make_vertical_space(6),
        _ranges_table(facts.rng),
        blocks.make_vertical_space(6),
        blocks.make_paragraph("Earlier versions are kept on file by the laboratory.", blocks.SMALL),
        blocks.FillRemainingHeight(80),
        marks.SignatureLine(
            "Signature of Laboratory Director",
            site.laboratory.director.printed,
            format_short_date(dates.signature),
            seed=facts.signature_seed,
        ),
    ]


def _ranges_table(rng: random.Random) -> object:
    """Return a table of limits that differ from the textbook by up to three per cent."""
    rows: list[tuple[str, ...]] = [("Analyte", "Lower limit", "Upper limit", "Unit", "Method")]
    for name, unit, low, high, decimals in _ANALYTES:
        shift = rng.uniform(0.97, 1.03)
        method = rng.choice(("Photometry", "ISE", "Impedance", "Immunoassay", "Enzymatic"))
        limits = (f"{low * shift:.{decimals}f}", f"{high * shift:.{decimals}f}")
        rows.append((name, *limits, unit, method))
    cells = [[blocks.make_paragraph(cell, blocks.PLAIN) for cell in row] for row in rows]
    return blocks.make_ruled_table(cells, widths=(150, 80, 80, 80, 100))
