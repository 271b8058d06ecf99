"""What shows that the investigator may practise, and knows Good Clinical Practice."""

from samples import blocks, marks
from samples.document_facts import Dossier, short
from samples.paper import Story, sheet_for, typeset

_MODULES = (
    "The New Drug Development Process and ICH E6",
    "Investigator Responsibilities and Delegation of Tasks",
    "Informed Consent and Protection of Participants",
    "Safety Reporting and Monitoring of Clinical Trials",
    "Essential Records, Audits and Inspections",
)


def medical_licence(dossier: Dossier) -> bytes:
    sheet = sheet_for(dossier.site, f"Medical {_spelling(dossier)}", label=True, framed=True)
    return typeset(sheet, lambda: _licence_story(dossier))


def _spelling(dossier: Dossier) -> str:
    return "License" if dossier.site.is_american else "Licence"


def _licence_story(dossier: Dossier) -> Story:
    licence, person = dossier.site.licence, dossier.site.investigator
    return [
        blocks.gap(16),
        marks.Seal("".join(word[0] for word in licence.authority.split() if word.istitle())),
        blocks.gap(8),
        blocks.text(licence.authority, blocks.TITLE),
        blocks.text(f"MEDICAL {_spelling(dossier).upper()}", blocks.TITLE),
        blocks.gap(12),
        blocks.text("This is to certify that", blocks.CENTRED),
        blocks.text(person.printed, blocks.TITLE),
        blocks.text(
            "having given satisfactory evidence of qualification, is licensed as a physician and"
            " entitled to practise medicine and surgery within this jurisdiction, subject to the"
            " laws and rules that govern the profession.",
            blocks.CENTRED,
        ),
        blocks.gap(18),
        _licence_particulars(dossier),
        blocks.PushDown(130),
        marks.SignatureLine(
            "Signature of Registrar",
            licence.registrar,
            short(dossier.dates.licence_issued),
            seed=dossier.seed if dossier.signed else None,
        ),
    ]


def _licence_particulars(dossier: Dossier) -> object:
    site, dates, word = dossier.site, dossier.dates, _spelling(dossier)
    rows = [
        (f"{word} Number:", site.licence.number),
        (f"{word} Type:", "Physician and Surgeon, full registration"),
        ("Specialty:", "Gastroenterology"),
        ("Status:", "Active, no restrictions on record"),
        ("Issue Date:", dossier.day(dates.licence_issued)),
        ("Expiration Date:", dossier.day(dates.licence_ends)),
        ("Practice address:", f"{site.hospital}, {site.address}"),
    ]
    return blocks.particulars(rows)


def gcp_certificate(dossier: Dossier) -> bytes:
    sheet = sheet_for(dossier.site, "Good Clinical Practice Certificate", label=True, framed=True)
    return typeset(sheet, lambda: _gcp_story(dossier))


def _gcp_story(dossier: Dossier) -> Story:
    person = dossier.site.investigator
    return [
        blocks.gap(10),
        marks.Seal("MRTC"),
        blocks.text("Meridian Research Training Collaborative", blocks.CENTRED),
        blocks.text("CERTIFICATE OF COMPLETION", blocks.TITLE),
        blocks.text("This certifies that", blocks.CENTRED),
        blocks.text(person.printed, blocks.TITLE),
        blocks.text(f"{dossier.site.hospital}, {dossier.site.country}", blocks.CENTRED),
        blocks.text("has completed the course", blocks.CENTRED),
        blocks.text("Good Clinical Practice (GCP)", blocks.TITLE),
        blocks.text(
            "for Clinical Trials with Investigational Drugs and Medical Devices (ICH Focus), based"
            " on ICH E6 Good Clinical Practice. The course meets the minimum criteria for training"
            " of investigator site personnel of the TransCelerate mutual recognition programme.",
            blocks.CENTRED,
        ),
        _modules(),
        blocks.gap(12),
        _gcp_record(dossier),
        blocks.PushDown(110),
        marks.SignatureLine(
            "Signature of Course Director",
            "Nadine Ferrer, PhD",
            short(dossier.dates.gcp_completed),
            seed=dossier.seed if dossier.signed else None,
        ),
    ]


def _gcp_record(dossier: Dossier) -> object:
    rows = [
        ("Completion Date:", dossier.day(dossier.dates.gcp_completed)),
        ("Expiration Date:", dossier.day(dossier.dates.gcp_ends)),
        ("Record ID:", f"MRTC-{dossier.rng.randint(10_000_000, 99_999_999)}"),
        ("Course version:", "5.1, basic course, English"),
    ]
    return blocks.particulars(rows)


def _modules() -> object:
    rows = [("Module", "Result"), *((module, "Passed") for module in _MODULES)]
    cells = [[blocks.text(cell, blocks.PLAIN) for cell in row] for row in rows]
    return blocks.grid(cells, widths=(360, 80))
