"""Draws a curriculum vitae of two pages that is signed and dated at the end."""

import random

from reportlab.platypus import PageBreak

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset

_SCHOOLS = ("Ashbourne University", "Kingsmere Medical School", "University of Tarrow Bay")
_HOSPITALS = ("Holloway General Hospital", "St Aldric Hospital", "Riverbend Medical Center")
_TRIALS = (
    "Phase 3 study of an oral JAK inhibitor in ulcerative colitis",
    "Phase 2 dose-ranging study of an anti-IL-23 antibody in Crohn's disease",
    "Phase 3 long-term extension study of a gut-selective integrin antagonist",
    "Observational registry of biologic therapy in inflammatory bowel disease",
    "Phase 3 study of budesonide foam in distal colitis",
)
_PAPERS = (
    "Early endoscopic response as a predictor of steroid-free remission",
    "Faecal calprotectin and clinical relapse: a prospective cohort",
    "Therapeutic drug monitoring in routine care of colitis",
    "Anaemia in inflammatory bowel disease: results of a multicentre audit",
    "Patient-reported outcomes in trials of ulcerative colitis",
    "Safety of biologic therapy in patients older than sixty-five years",
)
_JOURNALS = ("J Dig Med", "Ann Gastroenterol Res", "Int J Colitis", "Clin Trials Pract")


def draw_cv(facts: DocumentFacts) -> bytes:
    """Return the curriculum vitae of the investigator as a PDF."""
    person = facts.site.investigator
    sheet = get_page_format(
        facts.site, "Curriculum Vitae", footer=f"Curriculum Vitae - {person.name}"
    )
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    site, person = facts.site, facts.site.investigator
    # All sections share one generator, so their order determines their content.
    rng, graduation = facts.rng, facts.dates.signature.year - 24
    personal = [
        ("Name:", person.printed),
        ("Position:", f"{person.role}, {site.department}"),
        ("Institution:", f"{site.hospital}, {site.address}"),
        ("Study site:", f"Site number: {site.site_id} (protocol {site.study.protocol_number})"),
        ("E-mail:", f"{person.family_name.lower()}@hospital.example.org"),
    ]
    training = [
        (
            format_short_date(facts.dates.gcp_completed),
            "ICH E6 refresher for investigators, online course",
        ),
        ("Languages", "English; working knowledge of one further language"),
    ]
    return [
        blocks.make_paragraph("CURRICULUM VITAE", blocks.TITLE),
        blocks.make_captioned_lines(personal),
        *_career(facts, rng, graduation),
        PageBreak(),
        *_section("Publications (selected)", _publications(facts, rng, graduation)),
        *_section("Training in Good Clinical Practice", training),
        blocks.FillRemainingHeight(150),
        blocks.make_paragraph(
            "I certify that this curriculum vitae is accurate and current as of the date below.",
            blocks.BODY,
        ),
        marks.SignatureLine(
            "Signature",
            person.printed,
            format_short_date(facts.dates.signature),
            seed=facts.signature_seed,
            beside=True,
        ),
    ]


def _career(facts: DocumentFacts, rng: random.Random, graduation: int) -> Story:
    site, licence = facts.site, facts.site.licence
    school, college = rng.sample(_SCHOOLS, 2)
    education = [
        (f"{graduation - 8} - {graduation - 4}", f"Bachelor of Science, Biology, {college}"),
        (f"{graduation - 4} - {graduation}", f"Doctor of Medicine, {school}"),
    ]
    residency, fellowship = rng.sample(_HOSPITALS, 2)
    training = [
        (f"{graduation} - {graduation + 3}", f"Residency, Internal Medicine, {residency}"),
        (f"{graduation + 3} - {graduation + 6}", f"Fellowship, Gastroenterology, {fellowship}"),
    ]
    earlier = rng.choice(_HOSPITALS)
    appointments = [
        (f"{graduation + 15} - present", f"Consultant and Head of Trials, {site.hospital}"),
        (f"{graduation + 10} - {graduation + 15}", f"Attending Physician, {site.department}"),
        (f"{graduation + 6} - {graduation + 10}", f"Staff Gastroenterologist, {earlier}"),
    ]
    licensure = [
        ("Licence", f"{licence.authority}, No. {licence.number}, active"),
        ("Certification", "Board certified in Internal Medicine and in Gastroenterology"),
        ("Membership", "International Society for the Study of Colitis"),
    ]
    research = [
        (
            f"{graduation + 9 + 3 * place} - {graduation + 12 + 3 * place}",
            f"{rng.choice(('Principal Investigator', 'Sub-Investigator'))}: {trial}",
        )
        for place, trial in enumerate(rng.sample(_TRIALS, 4))
    ]
    return [
        *_section("Education", education),
        *_section("Postgraduate Training", training),
        *_section("Professional Appointments", appointments),
        *_section("Licensure and Certification", licensure),
        *_section("Clinical Research Experience", research),
    ]


def _publications(
    facts: DocumentFacts, rng: random.Random, graduation: int
) -> list[tuple[str, str]]:
    author = f"{facts.site.investigator.family_name} {facts.site.investigator.name[0]}"
    return [
        (
            str(graduation + 11 + 2 * place),
            (
                f"{author}, et al. {paper}. {rng.choice(_JOURNALS)}"
                f" {rng.randint(8, 60)}({rng.randint(1, 12)}): {rng.randint(20, 900)}."
            ),
        )
        for place, paper in enumerate(rng.sample(_PAPERS, 5))
    ]


def _section(heading: str, rows: list[tuple[str, str]]) -> Story:
    return [
        blocks.make_paragraph(heading.upper(), blocks.HEADING),
        blocks.make_dated_lines(rows, widths=(90, 400)),
    ]
