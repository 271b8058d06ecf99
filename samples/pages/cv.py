"""A curriculum vitae of two pages, signed and dated at its end."""

import random

from reportlab.platypus import PageBreak

from samples import blocks, marks
from samples.document_facts import DocumentFacts, short_date
from samples.paper import Story, page_format, typeset

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


def page(facts: DocumentFacts) -> bytes:
    person = facts.site.investigator
    sheet = page_format(facts.site, "Curriculum Vitae", footer=f"Curriculum Vitae - {person.name}")
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    rng, start = facts.rng, facts.dates.signature.year - 24
    return [
        blocks.paragraph("CURRICULUM VITAE", blocks.TITLE),
        _personal(facts),
        *_section("Education", _education(rng, start)),
        *_section("Postgraduate Training", _training(rng, start)),
        *_section("Professional Appointments", _appointments(facts, rng, start)),
        *_section("Licensure and Certification", _licensure(facts)),
        *_section("Clinical Research Experience", _research(rng, start)),
        PageBreak(),
        *_section("Publications (selected)", _publications(facts, rng, start)),
        *_section("Training in Good Clinical Practice", _gcp(facts)),
        blocks.FillRemainingHeight(150),
        blocks.paragraph(
            "I certify that this curriculum vitae is accurate and current as of the date below.",
            blocks.BODY,
        ),
        _signature(facts),
    ]


def _personal(facts: DocumentFacts) -> object:
    site, person = facts.site, facts.site.investigator
    rows = [
        ("Name:", person.printed),
        ("Position:", f"{person.role}, {site.department}"),
        ("Institution:", f"{site.hospital}, {site.address}"),
        ("Study site:", f"Site number: {site.site_id} (protocol {site.study.protocol_number})"),
        ("E-mail:", f"{person.family_name.lower()}@hospital.example.org"),
    ]
    return blocks.captioned_lines(rows)


def _section(heading: str, rows: list[tuple[str, str]]) -> Story:
    return [
        blocks.paragraph(heading.upper(), blocks.HEADING),
        blocks.dated_lines(rows, widths=(90, 400)),
    ]


def _education(rng: random.Random, start: int) -> list[tuple[str, str]]:
    school, college = rng.sample(_SCHOOLS, 2)
    return [
        (f"{start - 8} - {start - 4}", f"Bachelor of Science, Biology, {college}"),
        (f"{start - 4} - {start}", f"Doctor of Medicine, {school}"),
    ]


def _training(rng: random.Random, start: int) -> list[tuple[str, str]]:
    first, second = rng.sample(_HOSPITALS, 2)
    return [
        (f"{start} - {start + 3}", f"Residency, Internal Medicine, {first}"),
        (f"{start + 3} - {start + 6}", f"Fellowship, Gastroenterology, {second}"),
    ]


def _appointments(facts: DocumentFacts, rng: random.Random, start: int) -> list[tuple[str, str]]:
    site, earlier = facts.site, rng.choice(_HOSPITALS)
    return [
        (f"{start + 15} - present", f"Consultant and Head of Trials, {site.hospital}"),
        (f"{start + 10} - {start + 15}", f"Attending Physician, {site.department}"),
        (f"{start + 6} - {start + 10}", f"Staff Gastroenterologist, {earlier}"),
    ]


def _licensure(facts: DocumentFacts) -> list[tuple[str, str]]:
    licence = facts.site.licence
    return [
        ("Licence", f"{licence.authority}, No. {licence.number}, active"),
        ("Certification", "Board certified in Internal Medicine and in Gastroenterology"),
        ("Membership", "International Society for the Study of Colitis"),
    ]


def _research(rng: random.Random, start: int) -> list[tuple[str, str]]:
    return [
        (
            f"{start + 9 + 3 * place} - {start + 12 + 3 * place}",
            f"{rng.choice(('Principal Investigator', 'Sub-Investigator'))}: {trial}",
        )
        for place, trial in enumerate(rng.sample(_TRIALS, 4))
    ]


def _publications(facts: DocumentFacts, rng: random.Random, start: int) -> list[tuple[str, str]]:
    author = f"{facts.site.investigator.family_name} {facts.site.investigator.name[0]}"
    return [
        (
            str(start + 11 + 2 * place),
            (
                f"{author}, et al. {paper}. {rng.choice(_JOURNALS)}"
                f" {rng.randint(8, 60)}({rng.randint(1, 12)}): {rng.randint(20, 900)}."
            ),
        )
        for place, paper in enumerate(rng.sample(_PAPERS, 5))
    ]


def _gcp(facts: DocumentFacts) -> list[tuple[str, str]]:
    return [
        (
            short_date(facts.dates.gcp_completed),
            "ICH E6 refresher for investigators, online course",
        ),
        ("Languages", "English; working knowledge of one further language"),
    ]


def _signature(facts: DocumentFacts) -> object:
    return marks.SignatureLine(
        "Signature",
        facts.site.investigator.printed,
        short_date(facts.dates.signature),
        seed=facts.seed if facts.signed else None,
        beside=True,
    )
